/* What the trap programs share: a check that says where it failed, memory filled with a pattern and verified, and the
 * library's own calls. Programs that are not linked with the library look those up at run time; a program that is
 * linked with libprofalloc.a defines TRAP_LINKED first.
 *
 * tests/run_progs.py runs them and explains the "run:" lines of their head comments. */
#ifndef TRAP_H
#define TRAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../../include/profalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* Ends the process at once, without allocating: the heap may be what is broken. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            trap_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__);                                                \
        }                                                                                                              \
    } while (0)

static UNUSED __attribute__((noreturn, cold, format(printf, 4, 5))) void
trap_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    char text[512];
    int err = errno;
    const char *slash = strrchr(file, '/');
    int used = snprintf(text, sizeof text, "%s:%d: not so: %s (errno %d)", slash != NULL ? slash + 1 : file, line,
                        condition, err);
    va_list args;
    va_start(args, format);
    used += vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    used = used < (int)sizeof text - 1 ? used : (int)sizeof text - 1;
    text[used++] = '\n';
    if (write(STDOUT_FILENO, text, (size_t)used) < 0) {
        _exit(99);
    }
    _exit(1);
}

/* Keeps the compiler from knowing what a pointer or number is. */
static UNUSED inline void *opaque(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

static UNUSED inline size_t opaque_size(size_t number)
{
    __asm__ volatile("" : "+r"(number));
    return number;
}

static UNUSED inline unsigned char pattern(size_t at, unsigned seed)
{
    return (unsigned char)(seed * 131u + at * 7u + (at >> 8) + 1);
}

static UNUSED void fill(void *memory, size_t size, unsigned seed)
{
    unsigned char *bytes = (unsigned char *)memory;
    for (size_t at = 0; at < size; at++) {
        bytes[at] = pattern(at, seed);
    }
}

/* Of the first bytes each, then some, and the last. */
static UNUSED bool verify(const void *memory, size_t size, unsigned seed)
{
    enum { DENSE = 16384, STEP = 61 };
    const unsigned char *bytes = (const unsigned char *)memory;
    for (size_t at = 0; at < size; at += at < DENSE ? 1 : STEP) {
        if (bytes[at] != pattern(at, seed)) {
            return false;
        }
    }
    return size == 0 || bytes[size - 1] == pattern(size - 1, seed);
}

static UNUSED bool is_zero(const void *memory, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* A generator of its own, so that a failure repeats and threads do not wait for each other. */
static UNUSED inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* A size below `limit`, small ones more often than big ones. */
static UNUSED inline size_t random_size(uint64_t *state, size_t limit)
{
    uint64_t x = next_random(state);
    return (size_t)((x >> 8) % (limit >> (x % 12) | 1)) + 1;
}

/* The mode that the runner chose: off, sampled, often or full. */
static UNUSED bool mode_is(const char *name)
{
    const char *mode = getenv("TRAP_MODE");
    return mode != NULL && strcmp(mode, name) == 0;
}

#ifdef TRAP_LINKED
#define LIBRARY_CALL(name) (&name)
#else
static UNUSED void *library_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    CHECK(symbol != NULL, "%s is not there: was the library preloaded?", name);
    return symbol;
}
#define LIBRARY_CALL(name) ((__typeof__(&name))library_symbol(#name))
#endif

static UNUSED profalloc_counters_t counters(void)
{
    profalloc_counters_t now;
    LIBRARY_CALL(profalloc_counters)(&now);
    return now;
}

/* A figure such as VmRSS or Threads from /proc/self/status; sizes are in KiB there. */
static UNUSED size_t status_figure(const char *name)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    size_t figure = 0;
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            figure = strtoul(line + strlen(name) + 1, NULL, 10);
        }
    }
    fclose(status);
    return figure;
}

#endif
