/* What the race tests share. Each takes one concurrent structure on its own, lets threads loose on it, and checks what it
 * promises while they run; the same programs are all there is in the ThreadSanitizer build, which watches the memory
 * orders besides.
 *
 * ThreadSanitizer does not understand the fences of alloc/rcu.c: it does not know that a grace period orders what readers did
 * before what comes after it. The two annotations below tell it, one reader at a time: a reader that is still inside its section
 * has told nothing, so memory that is reused too early is still reported. */
#ifndef PFA_TESTS_RACE_H
#define PFA_TESTS_RACE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/checked.h"

#if PFA_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define race_reader_leaves(sync) __tsan_release(sync)
#define race_grace_period_over(sync) __tsan_acquire(sync)
#define RACE_SLOWDOWN 8
#else
#define race_reader_leaves(sync) ((void)(sync))
#define race_grace_period_over(sync) ((void)(sync))
#define RACE_SLOWDOWN 1
#endif

/* Starts `count` threads of a function, numbered from 0. */
static inline void race_start(pthread_t *threads, unsigned count, void *(*function)(void *))
{
    for (uintptr_t i = 0; i < count; i++) {
        must(pthread_create(&threads[i], NULL, function, (void *)i) == 0);
    }
}

static inline void race_join(pthread_t *threads, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        must(pthread_join(threads[i], NULL) == 0);
    }
}

#endif
