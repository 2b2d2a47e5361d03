/* Memory of the library, and how work is given up when there is none.
 *
 *   arena   what owns blocks: those of a session, of an answer, or of a command
 *   work    a function that runs with an arena; blocks that it takes are of that arena
 *
 * A block is there, or the work is left in the middle: pfa_memory_work returns ENOMEM to who began it, and who owns the arena
 * deletes it, with all blocks of it. So no function between the two has to look whether it got memory, and nothing is lost. What is
 * no memory, and has to be closed all the same, is an object: a block with a function that closes it.
 *
 * Several threads may work with one arena at the same time. Each thread has its own innermost work. */
#ifndef PFA_ANALYZE_BASE_MEMORY_H
#define PFA_ANALYZE_BASE_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct pfa_memory pfa_memory_t;

/* An arena; NULL: there is no memory. Any thread may delete it once nobody works with it: objects are closed, the last made first. */
pfa_memory_t *pfa_memory_new(void);
void pfa_memory_delete(pfa_memory_t *arena);

/* Runs `work` with this arena. 0, or the error number that it was left with. May be nested. */
int pfa_memory_work(pfa_memory_t *arena, void (*work)(void *to), void *to);
/* Leaves the innermost work of this thread with this error. Outside of any work that is a fault of the program: it aborts. */
_Noreturn void pfa_memory_leave(int error);
/* The arena of the innermost work; NULL: there is none, and blocks are nobody's. */
pfa_memory_t *pfa_memory_arena(void);

/* Zeroed memory for `count` things of `size`. */
void *pfa_memory_get(size_t count, size_t size);
/* Likewise; `close` is called with it before it is freed, also when its arena is deleted. It must not touch other blocks: they may be
 * gone by then. */
void *pfa_memory_object(size_t size, void (*close)(void *object));
/* A place for a pointer to what others made: it is closed with this function once the block is freed, unless it is NULL then. */
void **pfa_memory_hold(void (*close)(void *what));
/* Any of these blocks, of whatever arena; NULL is none. */
void pfa_memory_free(void *block);

/* A copy for people to read, cleaned; and as it is. Both with a zero behind. */
char *pfa_memory_text(const char *text, size_t size);
void *pfa_memory_copy(const void *bytes, size_t size);
/* A text as printf would print it. */
__attribute__((format(printf, 1, 2))) char *pfa_memory_format(const char *format, ...);
__attribute__((format(printf, 1, 0))) char *pfa_memory_vformat(const char *format, va_list arguments);

void *pfa_memory_grow_list(void *list, size_t *room, size_t needed, size_t size);

/* Makes room for at least `needed` things in a list with room for *room of them. New ones are zeroed. */
static inline void *pfa_memory_grow(void *list, size_t *room, size_t needed, size_t size)
{
    return needed <= *room ? list : pfa_memory_grow_list(list, room, needed, size);
}

/* A text that is written as to a file. Closing makes a block of it. */
typedef struct pfa_memory_stream pfa_memory_stream_t;

pfa_memory_stream_t *pfa_memory_stream_open(FILE **to);
char *pfa_memory_stream_close(pfa_memory_stream_t *stream);

/* A file that is closed whatever happens. NULL: it cannot be opened, and errno tells why. */
typedef struct pfa_memory_file {
    FILE *file;
    char *line; /* the last that was read, */
    size_t room;
} pfa_memory_file_t;

pfa_memory_file_t *pfa_memory_file_open(const char *path);
/* The same of a file that is open, from its start on; closing it leaves the descriptor open. */
pfa_memory_file_t *pfa_memory_file_of(int fd);
void pfa_memory_file_close(pfa_memory_file_t *file);
/* Reads a line into file->line, as getline does; false: there is none, or it cannot be read (ferror). */
bool pfa_memory_file_line(pfa_memory_file_t *file, size_t *length);

#endif
