/* For programs whose every access is known: each case allocates a chunk of a size that no other has, does things to it that
 * the compiler may neither drop nor join nor move, and prints what it did as one line of JSON, for tests/access/exact.py.
 * The same text is C and C++. */
#ifndef PFA_TESTS_ACCESS_KNOWN_H
#define PFA_TESTS_ACCESS_KNOWN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between two of these every store is done and every load that is used is made. */
#define STEP() __asm__ volatile("" ::: "memory")
#define USE(value)                                                                                                     \
    do {                                                                                                               \
        __typeof__(value) used_ = (value);                                                                             \
        __asm__ volatile("" ::"r"(used_) : "memory");                                                                  \
    } while (0)
#define PUT(place, value)                                                                                              \
    do {                                                                                                               \
        (place) = (value);                                                                                             \
        STEP();                                                                                                        \
    } while (0)

/* A pointer that the compiler knows nothing about. */
static inline void *hide(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer));
    return pointer;
}

static inline size_t hide_size(size_t size)
{
    __asm__ volatile("" : "+r"(size));
    return size;
}

/* low and high are the first and last byte touched; -1: none was. */
static inline void expect(const char *name, size_t size, long reads, long writes, long low, long high, int shared)
{
    printf(
        "{\"name\": \"%s\", \"size\": %zu, \"reads\": %ld, \"writes\": %ld, \"low\": %ld, \"high\": %ld, \"shared\": "
        "%s}\n",
        name, size, reads, writes, low, high, shared ? "true" : "false");
}

/* Loops that the compiler may make vectors of: as many accesses as written, of so many bytes in all, or fewer and wider ones,
 * of at most `widest` bytes. Reads, or writes. */
/* `widest` is of vectors of 16 bytes; -march=native may have wider ones. */
#if defined(__AVX512F__)
enum { WIDER = 4 };
#elif defined(__AVX2__)
enum { WIDER = 2 };
#else
enum { WIDER = 1 };
#endif

static inline void expect_loop(const char *name, size_t size, const char *kind, long count, long bytes, long widest,
                               long others)
{
    int reads = strcmp(kind, "reads") == 0;
    printf(
        "{\"name\": \"%s\", \"size\": %zu, \"%s\": [%ld, %ld, %ld], \"%s\": %ld, \"low\": 0, \"high\": %ld, \"shared\": "
        "false}\n",
        name, size, kind, count, bytes, WIDER * widest, reads ? "writes" : "reads", others, bytes - 1);
}

#endif
