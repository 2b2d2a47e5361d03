/* The library's side, as the programs of tests/pass see it (fake.c): chunks that know exactly what was done to them. */
#ifndef PFA_TESTS_PASS_FAKE_H
#define PFA_TESTS_PASS_FAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk of zeros. One of the same size that was released last is at the same place, but is another. */
void *chunk(size_t bytes);
void release(void *chunk);

/* Was exactly this done to it so far? A byte not touched is -1. */
void expect_at(int line, void *chunk, long reads, long writes, long low, long high);
void touched_at(int line, void *chunk, long low, long high);
#define expect(...) expect_at(__LINE__, __VA_ARGS__)
#define touched(...) touched_at(__LINE__, __VA_ARGS__)

/* Calls of which a compiler knows nothing. */
void nothing(void);
int number(int n);
void *same(void *pointer);
/* Into what is printed at the end. */
void result(uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
