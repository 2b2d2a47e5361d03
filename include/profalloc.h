/* profalloc: a malloc that can tell what its chunks were for. The library works without this header: link or preload it.
 * The calls here steer recording from inside a program. All are safe from any thread. */
#ifndef PROFALLOC_H
#define PROFALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROFALLOC_VERSION "0.1.0"

/* Starts recording chunks allocated from now on; chunks that exist are not touched. `sample` is the mean number of bytes
 * between two recorded chunks: 1 records every chunk, 0 takes the option `sample` (512K unless set). While recording is
 * on, changes the sampling. Where the trace was ended (mprof_stop) or could not be opened, begins another. Returns 0; EINVAL if `sample` is above 2^40; ENOMEM if there is no address space for
 * records; or ENOSPC if 63 different values of `sample` were used before and the nearest of them is used again. */
int profalloc_start(size_t sample);

/* Stops recording. Chunks recorded so far keep their records until they are freed, and their deaths go to the trace. */
void profalloc_stop(void);

/* Writes to the trace what is not there yet, and a picture of all live chunks, which `profalloc dump` shows under `name`
 * (of at most 255 bytes). Returns 0; EBADF if there is no trace; or why it could not be written. Takes as long as that
 * takes. */
int profalloc_snapshot(const char *name);
/* The same under the name "dump". */
int profalloc_dump(void);

/* Chunks that the calling thread allocates between these two carry the tag, by its first 63 bytes; at most 1023 different
 * ones. They may be nested, 32 deep: the innermost counts. Returns 0, or ENOSPC when there is no room for it (then the tag
 * in force before stays, and profalloc_tag_pop is to be called all the same). */
int profalloc_tag_push(const char *tag);
void profalloc_tag_pop(void);

/* Says what a chunk holds: elements of a type. The first numbers a type by its name, of which 240 bytes are kept, and the size of
 * one element (0: not known); the same name and size give the same number again. It returns 0 where nothing was recorded yet, or
 * there are 65535 types. The second gives the chunk the type of that number (0: none), for this life of it and those that realloc
 * makes of it. It returns 0; EINVAL if there is no such type; or ENOENT if the chunk has no record (it was not sampled, say). */
unsigned profalloc_type(const char *name, size_t size);
int profalloc_set_type(void *chunk, unsigned type);

/* The calls of mprof, for programs that have them. A picture of the live chunks, named autosave, each time so many more
 * allocations were recorded (0: no more of them); that is looked at four times a second, so it is one picture however many
 * are due then. Recording ends and the trace with it; it begins anew, in a trace of that name (NULL: the usual one). */
void set_mprof_autosave(int count);
void mprof_stop(void);
void mprof_restart(const char *filename);

/* What was counted so far, of recorded chunks. With sampling these are estimates of the true numbers. */
typedef struct profalloc_counters {
    uint64_t allocations;
    uint64_t frees;
    uint64_t bytes_allocated;
    uint64_t bytes_freed;
    uint64_t live_chunks;
    uint64_t live_bytes;
    uint64_t peak_bytes; /* exact with one thread; with more, within 64 KiB for each */
    uint64_t unrecorded; /* chunks that should have got one, but there was no room */
    uint64_t bad_frees;  /* double frees and frees of what is no chunk */
} profalloc_counters_t;

void profalloc_counters(profalloc_counters_t *counters);

/* PROFALLOC_VERSION of the library in use. */
const char *profalloc_version(void);

/* A program may define this to set options (profalloc.conf(5) lists them); /etc/profalloc.conf and the environment variable
 * PROFALLOC_CONF come after it and win. */
extern const char *profalloc_conf;

#ifdef __cplusplus
}
#endif

#endif
