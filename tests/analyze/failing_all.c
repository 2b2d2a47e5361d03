/* Is malloc for the whole process, in front of glibc's. See tests/analyze/failing.c. Calls of libdw and libelf do not fail: these crash
 * without memory (dwfl_module_nextcu of elfutils 0.188, at least), which nobody who calls them can help. */
#include "tests/analyze/failing.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);

enum { SPARED = 2 };
static uintptr_t spared[SPARED][2];
static size_t spared_count;

static int find_spared(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    (void)to;
    bool is = strstr(info->dlpi_name, "/libdw") != NULL || strstr(info->dlpi_name, "/libelf") != NULL;
    for (unsigned i = 0; is && spared_count < SPARED && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            uintptr_t start = info->dlpi_addr + segment->p_vaddr;
            spared[spared_count][0] = start;
            spared[spared_count++][1] = start + segment->p_memsz;
        }
    }
    return 0;
}

__attribute__((constructor)) static void start(void)
{
    dl_iterate_phdr(find_spared, NULL);
}

static bool fails(const void *caller)
{
    for (size_t i = 0; i < spared_count; i++) {
        if ((uintptr_t)caller >= spared[i][0] && (uintptr_t)caller < spared[i][1]) {
            return false;
        }
    }
    return failing_now();
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? none() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? none() : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(__builtin_return_address(0)) ? none() : __libc_realloc(block, size);
}
