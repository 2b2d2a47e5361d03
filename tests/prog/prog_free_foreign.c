/* Pointers that never came from us: of the stack, of globals, of constants, of mappings, and wild ones. In every mode
 * they are told apart, said once per place, counted, left alone.
 *
 * run: says="free\(0x[0-9a-f]+\) called at prog_free_foreign\+0x[0-9a-f]+: a pointer .*; ignored"
 *      says="realloc.*: a pointer .*; ignored" says="malloc_usable_size.*: a pointer .*; ignored" */
#include "trap.h"

#include <sys/mman.h>

static int global[4096];
static const char constant[] = "a constant, and not a chunk";

static __attribute__((noinline)) void misuse(const void *pointer)
{
    uint64_t before = counters().bad_frees;
    errno = 9;
    free(opaque((void *)(uintptr_t)pointer));
    CHECK(errno == 9 && counters().bad_frees == before + 1, "free of %p", pointer);
    CHECK(realloc(opaque((void *)(uintptr_t)pointer), 100) == NULL, "realloc of %p", pointer);
    CHECK(malloc_usable_size(opaque((void *)(uintptr_t)pointer)) == 0, "usable size of %p", pointer);
    CHECK(counters().bad_frees == before + 3, "realloc or usable size of %p", pointer);
}

static void misuse_mapping(size_t size)
{
    char *mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapping != MAP_FAILED);
    mapping[0] = 1;
    for (size_t at = 0; at < size; at += size / 4) {
        misuse(mapping + at);
        misuse(mapping + at + 4096 - 64);
        misuse(mapping + at + 3);
    }
    CHECK(mapping[0] == 1 && munmap(mapping, size) == 0);
    misuse(mapping);
}

int main(void)
{
    int on_stack[64];
    void *chunk = malloc(100);
    void *large = malloc(1 << 20);
    fill(chunk, 100, 1);
    fill(large, 1 << 20, 2);
    misuse(on_stack);
    misuse((char *)on_stack + 3);
    for (size_t i = 0; i < 4096; i += 333) {
        misuse(global + i);
    }
    misuse(constant);
    misuse((const void *)(uintptr_t)&misuse);
    misuse((const void *)(uintptr_t)&printf);
    for (size_t size = 16384; size <= (size_t)256 << 20; size *= 4) {
        misuse_mapping(size);
    }
    static const uintptr_t wild[] = {1,
                                     8,
                                     16,
                                     4096,
                                     0x10000,
                                     0x4000000,
                                     (uintptr_t)1 << 32,
                                     (uintptr_t)1 << 46,
                                     ((uintptr_t)1 << 47) - 4096,
                                     (uintptr_t)1 << 48,
                                     (uintptr_t)1 << 63,
                                     UINTPTR_MAX,
                                     UINTPTR_MAX - 15,
                                     UINTPTR_MAX - 4095};
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        misuse((const void *)wild[i]);
    }
    misuse((char *)chunk + 1); /* also without a record: no chunk starts at an odd address */
    misuse((char *)chunk + 20);
    misuse((char *)large + 1);
    CHECK(verify(chunk, 100, 1) && verify(large, 1 << 20, 2));
    free(chunk);
    free(large);
    return 0;
}
