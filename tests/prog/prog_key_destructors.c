/* Destructors of thread-specific data run in up to four rounds, in an order nobody promises; all of them may allocate
 * and free, before our own has run and after. Many keys, because the C library allocates room for those above 32. */
#include "trap.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum { KEYS = 60, THREADS = 60, SIZE = 200, LARGE = 200000 };

typedef struct value {
    unsigned round;
    void *small;
    void *large;
} value_t;

static pthread_key_t keys[KEYS];
static atomic_uint last_rounds;

static value_t *make(unsigned round)
{
    value_t *value = malloc(sizeof *value);
    *value = (value_t){round, calloc(1, SIZE), round % 2 == 0 ? malloc(LARGE) : NULL};
    CHECK(is_zero(value->small, SIZE));
    fill(value->small, SIZE, round);
    if (value->large != NULL) {
        memset(value->large, 0x11, LARGE);
    }
    return value;
}

static void destroy(void *arg)
{
    value_t *value = arg;
    unsigned round = value->round;
    CHECK(verify(value->small, SIZE, round));
    free(realloc(value->small, 2 * SIZE));
    free(value->large);
    free(value);
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        for (int i = 0; i < KEYS; i++) { /* which of them was ours is not known here: the first empty one will do */
            if (pthread_getspecific(keys[i]) == NULL) {
                pthread_setspecific(keys[i], make(round + 1));
                return;
            }
        }
    } else {
        atomic_fetch_add(&last_rounds, 1);
    }
}

static void *run(void *arg)
{
    (void)arg;
    for (int i = KEYS - 1; i >= 0; i--) {
        pthread_setspecific(keys[i], make(0));
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < KEYS; i++) {
        CHECK(pthread_key_create(&keys[i], destroy) == 0);
    }
    profalloc_counters_t before = counters();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
        pthread_join(thread, NULL);
    }
    CHECK(last_rounds > 0, "the fourth round was not reached");
    /* Of frees after our own destructor each is counted; of allocations then, none. */
    CHECK(!mode_is("full") || counters().live_chunks <= before.live_chunks + 8);
    return 0;
}
