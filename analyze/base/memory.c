/* Owns arenas, blocks and the way out of work. See analyze/base/memory.h. Process-wide is nothing here; each thread has its innermost
 * work. */
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In front of what the caller gets. */
typedef struct block {
    struct block *newer;
    struct block *older;
    pfa_memory_t *arena;
    void (*close)(void *object);
} block_t;

_Static_assert(sizeof(block_t) % _Alignof(max_align_t) == 0, "what is behind the head is aligned as malloc aligns");

struct pfa_memory {
    pthread_mutex_t lock; /* of the list; a leaf: nothing is called under it */
    block_t *newest;
};

typedef struct work {
    pfa_memory_t *arena;
    struct work *outer;
    volatile int error; /* set between setjmp and longjmp */
    jmp_buf way_out;
} work_t;

static _Thread_local work_t *innermost;

pfa_memory_t *pfa_memory_new(void)
{
    pfa_memory_t *arena = calloc(1, sizeof *arena);
    if (arena != NULL) {
        pthread_mutex_init(&arena->lock, NULL);
    }
    return arena;
}

static void release(block_t *block)
{
    if (block->close != NULL) {
        block->close(block + 1);
    }
    free(block);
}

void pfa_memory_delete(pfa_memory_t *arena)
{
    if (arena == NULL) {
        return;
    }
    for (block_t *block = arena->newest; block != NULL;) {
        block_t *older = block->older;
        release(block);
        block = older;
    }
    pthread_mutex_destroy(&arena->lock);
    free(arena);
}

int pfa_memory_work(pfa_memory_t *arena, void (*work)(void *to), void *to)
{
    work_t here = {.arena = arena, .outer = innermost};
    innermost = &here;
    if (setjmp(here.way_out) == 0) {
        work(to);
    }
    innermost = here.outer;
    return here.error;
}

void pfa_memory_leave(int error)
{
    work_t *work = innermost;
    if (work == NULL) {
        fputs("profalloc: no memory, and nobody to tell\n", stderr);
        abort();
    }
    work->error = error;
    longjmp(work->way_out, 1);
}

pfa_memory_t *pfa_memory_arena(void)
{
    return innermost != NULL ? innermost->arena : NULL;
}

/* Into the list of its arena, as the newest. */
static void link_block(block_t *block)
{
    pfa_memory_t *arena = block->arena;
    if (arena == NULL) {
        return;
    }
    pthread_mutex_lock(&arena->lock);
    block->newer = NULL;
    block->older = arena->newest;
    if (block->older != NULL) {
        block->older->newer = block;
    }
    arena->newest = block;
    pthread_mutex_unlock(&arena->lock);
}

static void unlink_block(block_t *block)
{
    pfa_memory_t *arena = block->arena;
    if (arena == NULL) {
        return;
    }
    pthread_mutex_lock(&arena->lock);
    if (block->newer != NULL) {
        block->newer->older = block->older;
    } else {
        arena->newest = block->older;
    }
    if (block->older != NULL) {
        block->older->newer = block->newer;
    }
    pthread_mutex_unlock(&arena->lock);
}

static void *take(size_t count, size_t size, void (*close)(void *object))
{
    bool sane = size == 0 || count <= (SIZE_MAX - sizeof(block_t)) / size;
    block_t *block = sane ? calloc(1, sizeof *block + count * size) : NULL;
    if (block == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    block->arena = pfa_memory_arena();
    block->close = close;
    link_block(block);
    return block + 1;
}

void *pfa_memory_get(size_t count, size_t size)
{
    return take(count != 0 ? count : 1, size, NULL);
}

void *pfa_memory_object(size_t size, void (*close)(void *object))
{
    return take(1, size, close);
}

typedef struct held {
    void *what;
    void (*close)(void *what);
} held_t;

static void close_held(void *object)
{
    const held_t *held = object;
    if (held->what != NULL) {
        held->close(held->what);
    }
}

void **pfa_memory_hold(void (*close)(void *what))
{
    held_t *held = pfa_memory_object(sizeof *held, close_held);
    held->close = close;
    return &held->what;
}

void pfa_memory_free(void *memory)
{
    if (memory != NULL) {
        block_t *block = (block_t *)memory - 1;
        unlink_block(block);
        release(block);
    }
}

void *pfa_memory_grow_list(void *list, size_t *room, size_t needed, size_t size)
{
    size_t wanted = *room < 16 ? 16 : *room + *room / 2;
    wanted = wanted < needed ? needed : wanted;
    if (list == NULL) {
        list = take(wanted, size, NULL);
        *room = wanted;
        return list;
    }
    block_t *block = (block_t *)list - 1;
    unlink_block(block);
    bool sane = wanted <= (SIZE_MAX - sizeof *block) / size;
    block_t *grown = sane ? realloc(block, sizeof *block + wanted * size) : NULL;
    if (grown == NULL) {
        link_block(block);
        pfa_memory_leave(ENOMEM);
    }
    link_block(grown);
    memset((char *)(grown + 1) + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown + 1;
}

void *pfa_memory_copy(const void *bytes, size_t size)
{
    char *copy = pfa_memory_get(size + 1, 1);
    if (size != 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

char *pfa_memory_text(const char *text, size_t size)
{
    char *copy = pfa_memory_copy(text, size);
    pfa_text_clean(copy, size);
    return copy;
}

char *pfa_memory_vformat(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        pfa_memory_leave(ENOMEM);
    }
    char *text = pfa_memory_get((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *pfa_memory_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    return text;
}

struct pfa_memory_stream {
    FILE *file;
    char *text;
    size_t size;
};

static void close_stream(void *object)
{
    pfa_memory_stream_t *stream = object;
    if (stream->file != NULL) {
        fclose(stream->file);
    }
    free(stream->text);
}

pfa_memory_stream_t *pfa_memory_stream_open(FILE **to)
{
    pfa_memory_stream_t *stream = pfa_memory_object(sizeof *stream, close_stream);
    stream->file = open_memstream(&stream->text, &stream->size);
    if (stream->file == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    *to = stream->file;
    return stream;
}

char *pfa_memory_stream_close(pfa_memory_stream_t *stream)
{
    bool whole = !ferror(stream->file);
    whole = fclose(stream->file) == 0 && whole;
    stream->file = NULL;
    if (!whole || stream->text == NULL) {
        pfa_memory_leave(ENOMEM);
    }
    char *text = pfa_memory_copy(stream->text, stream->size);
    pfa_memory_free(stream);
    return text;
}

static void close_file(void *object)
{
    pfa_memory_file_t *file = object;
    if (file->file != NULL) {
        fclose(file->file);
    }
    free(file->line);
}

/* NULL: it is not there after all, and errno tells why. */
static pfa_memory_file_t *check_file(pfa_memory_file_t *file)
{
    if (file->file == NULL) {
        int error = errno;
        pfa_memory_free(file);
        if (error == ENOMEM) {
            pfa_memory_leave(ENOMEM);
        }
        errno = error;
        return NULL;
    }
    return file;
}

pfa_memory_file_t *pfa_memory_file_open(const char *path)
{
    pfa_memory_file_t *file = pfa_memory_object(sizeof *file, close_file);
    file->file = fopen(path, "re");
    return check_file(file);
}

pfa_memory_file_t *pfa_memory_file_of(int fd)
{
    pfa_memory_file_t *file = pfa_memory_object(sizeof *file, close_file);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    file->file = copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 ? fdopen(copy, "r") : NULL;
    if (file->file == NULL && copy >= 0) {
        int error = errno;
        close(copy);
        errno = error;
    }
    return check_file(file);
}

void pfa_memory_file_close(pfa_memory_file_t *file)
{
    pfa_memory_free(file);
}

bool pfa_memory_file_line(pfa_memory_file_t *file, size_t *length)
{
    errno = 0;
    ssize_t read = getline(&file->line, &file->room, file->file);
    if (read < 0 && errno == ENOMEM) {
        pfa_memory_leave(ENOMEM);
    }
    *length = read < 0 ? 0 : (size_t)read;
    return read >= 0;
}
