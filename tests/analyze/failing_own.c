/* Stands in front of what the library calls for memory: linked with --wrap for each of these. See tests/analyze/failing.c. */
#include "tests/analyze/failing.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
FILE *__real_open_memstream(char **text, size_t *size);
FILE *__real_fopen(const char *path, const char *mode);
void *__real_ZSTD_createDCtx(void);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__wrap_fopen(const char *path, const char *mode);
void *__wrap_ZSTD_createDCtx(void);

static void *counted(void *block)
{
    failing_count(block != NULL);
    return block;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t size)
{
    return failing_now() ? none() : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return failing_now() ? none() : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    return failing_now() ? none() : block == NULL ? counted(__real_realloc(block, size)) : __real_realloc(block, size);
}

/* Of blocks that others made, which are freed here, there are as many each time. */
void __wrap_free(void *block)
{
    failing_count(-(block != NULL));
    __real_free(block);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    FILE *stream = failing_now() ? none() : __real_open_memstream(text, size);
    failing_count(stream != NULL); /* its text is freed by who opened it */
    return stream;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return failing_now() ? none() : __real_fopen(path, mode);
}

void *__wrap_ZSTD_createDCtx(void)
{
    return failing_now() ? none() : __real_ZSTD_createDCtx();
}
