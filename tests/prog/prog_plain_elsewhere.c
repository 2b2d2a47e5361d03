/* Where the addresses of the plain zone (alloc/range.h) cannot be had, unrecorded chunks lie elsewhere. free, realloc and
 * malloc_usable_size know them there too, and foreign addresses and those inside of chunks are told as ever.
 *
 * run: says="free\(0x[0-9a-f]+\) called at .*: a pointer that is no chunk of this allocator; ignored"
 *      says="free\(0x[0-9a-f]+\) called at .*: .*" */
#include "trap.h"

#include "../../base/compiler.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ZONE (PFA_ADDRESS_USUAL_BIT + (8ull << 40))
#define ZONE_END (ZONE + (2ull << 40))

/* From here on, and in programs that this one becomes, nothing is mapped there. */
static void refuse_zone(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + 4), /* the high half */
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(ZONE >> 32), 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(ZONE_END >> 32), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

static void *make(size_t size, unsigned seed)
{
    void *chunk = malloc(size);
    CHECK(chunk != NULL && !((uintptr_t)chunk >= ZONE && (uintptr_t)chunk < ZONE_END), "%zu bytes at %p", size, chunk);
    CHECK(malloc_usable_size(chunk) >= size);
    fill(chunk, size, seed);
    return chunk;
}

enum { CHUNKS = 3000 };
static void *chunks[CHUNKS];
static size_t sizes[CHUNKS];

/* Of the other thread's. */
static void *free_a_third(void *unused)
{
    for (unsigned i = 0; i < CHUNKS; i += 3) {
        CHECK(verify(chunks[i], sizes[i], i));
        free(chunks[i]);
        chunks[i] = make(sizes[i], i);
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        char again[] = "again";
        refuse_zone();
        execv("/proc/self/exe", (char *[]){argv[0], again, NULL});
        return 2;
    }
    uint64_t random = 7;
    for (unsigned i = 0; i < CHUNKS; i++) {
        sizes[i] = random_size(&random, 400000);
        chunks[i] = make(sizes[i], i);
    }
    for (unsigned round = 0; round < 5; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, free_a_third, NULL) == 0 && pthread_join(thread, NULL) == 0);
        for (unsigned i = 0; i < CHUNKS; i++) {
            size_t size = random_size(&random, 400000);
            chunks[i] = realloc(chunks[i], size);
            CHECK(chunks[i] != NULL && verify(chunks[i], size < sizes[i] ? size : sizes[i], i));
            sizes[i] = size;
            fill(chunks[i], size, i);
        }
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    void *foreign = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    free(opaque((char *)foreign + 64));
    void *chunk = malloc(100);
    free(opaque((char *)chunk + 1));
    free(chunk);
    CHECK(counters().bad_frees == 2);
    return 0;
}
