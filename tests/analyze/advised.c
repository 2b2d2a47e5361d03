/* A program that does one thing badly, or, with a second word, as advised: `advised reserve`, `advised reserve better`. For
 * tests/analyze/advising.py, which compares what advice promised with what it brought. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile long sink;

static void use(char *bytes, size_t size)
{
    long sum = 0;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)i;
    }
    for (size_t i = 0; i < size; i++) {
        sum += bytes[i];
    }
    sink += sum;
}

static void wait_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void do_reserve(int better)
{
    for (int i = 0; i < 200; i++) {
        char *buffer = NULL;
        for (size_t size = better ? 8192 : 16; size <= 8192; size *= 2) {
            buffer = realloc(buffer, size);
            use(buffer, size);
        }
        free(buffer);
    }
}

__attribute__((noinline)) static void do_hoist(int better)
{
    char *kept = better ? malloc(256) : NULL;
    for (int i = 0; i < 100000; i++) {
        char *scratch = better ? kept : malloc(256);
        use(scratch, 32);
        if (!better) {
            free(scratch);
        }
    }
    free(kept);
}

enum { POOLED = 64, ROUNDS = 3000 };

__attribute__((noinline)) static void do_pool(int better)
{
    char *chunks[POOLED];
    char *pool = better ? malloc(POOLED * 48) : NULL;
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < POOLED; j++) {
            chunks[j] = better ? pool + 48 * j : malloc((size_t)(16 + j % 32));
            use(chunks[j], 16);
        }
        for (int j = 0; j < POOLED && !better; j++) {
            free(chunks[j]);
        }
    }
    free(pool);
}

__attribute__((noinline)) static void do_shrink(int better)
{
    enum { COUNT = 200 };
    char *chunks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        size_t size = better ? 100 : 10000;
        chunks[i] = malloc(size);
        use(chunks[i], 100);
    }
    for (int i = 0; i < COUNT; i++) {
        use(chunks[i], 100);
        free(chunks[i]);
    }
}

__attribute__((noinline)) static char *allocate(size_t size)
{
    return malloc(size);
}

/* Chunks that are needed for a moment, and kept while others are. */
__attribute__((noinline)) static void do_free_earlier(int better)
{
    enum { COUNT = 100 };
    char *chunks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        chunks[i] = allocate(10000);
        use(chunks[i], 10000);
        if (better) {
            free(chunks[i]);
        }
        wait_ms(1);
    }
    wait_ms(100);
    for (int i = 0; i < COUNT && !better; i++) {
        free(chunks[i]);
    }
}

__attribute__((noinline)) static void do_allocate_later(int better)
{
    enum { COUNT = 100 };
    char *chunks[COUNT];
    for (int i = 0; i < COUNT && !better; i++) {
        chunks[i] = allocate(10000);
    }
    wait_ms(better ? 0 : 200);
    for (int i = 0; i < COUNT; i++) {
        if (better) {
            chunks[i] = allocate(10000);
        }
        use(chunks[i], 10000);
        free(chunks[i]);
    }
}

__attribute__((noinline)) static void do_remove(int better)
{
    enum { COUNT = 500 };
    char *chunks[COUNT];
    for (int i = 0; i < COUNT && !better; i++) {
        chunks[i] = malloc(2000);
        memset(chunks[i], i, i % 2 == 0 ? 2000 : 0);
    }
    for (int i = 0; i < COUNT && !better; i++) {
        free(chunks[i]);
    }
}

enum { COUNTERS = 8, COUNTS = 20000 };

static void *count_up(void *to)
{
    volatile long *counter = to;
    for (long i = 0; i < COUNTS; i++) {
        ++*counter;
    }
    return NULL;
}

static void for_all(void *run(void *), void *const things[COUNTERS])
{
    pthread_t threads[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        pthread_create(&threads[i], NULL, run, things[i]);
    }
    for (int i = 0; i < COUNTERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Counters of several threads side by side, or each in a line of the cache for itself. */
__attribute__((noinline)) static void do_unshare(int better)
{
    void *counters[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        counters[i] = better ? aligned_alloc(64, 64) : malloc(sizeof(long));
        *(long *)counters[i] = 0;
    }
    for_all(count_up, counters);
    for (int i = 0; i < COUNTERS; i++) {
        sink += *(long *)counters[i];
        free(counters[i]);
    }
}

static void *consume(void *to)
{
    use(to, 32);
    use(to, 32);
    use(to, 32);
    use(to, 32);
    free(to);
    return NULL;
}

/* What one thread makes and another uses up is not shared. */
__attribute__((noinline)) static void do_hand_over(int better)
{
    (void)better;
    void *things[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        things[i] = malloc(32);
        use(things[i], 32);
    }
    for_all(consume, things);
}

static void *read_often(void *to)
{
    const volatile long *setting = to;
    for (long i = 0; i < COUNTS; i++) {
        (void)*setting;
    }
    return NULL;
}

/* Nor does it harm to read together what nobody changes. */
__attribute__((noinline)) static void do_read_together(int better)
{
    (void)better;
    void *setting = malloc(sizeof(long));
    void *same[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) {
        same[i] = setting;
    }
    *(long *)setting = 1;
    for_all(read_often, same);
    sink += *(long *)setting;
    free(setting);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int better);
    } table[] = {{"reserve", do_reserve},
                 {"hoist", do_hoist},
                 {"pool", do_pool},
                 {"shrink", do_shrink},
                 {"remove", do_remove},
                 {"free_earlier", do_free_earlier},
                 {"allocate_later", do_allocate_later},
                 {"unshare", do_unshare},
                 {"hand_over", do_hand_over},
                 {"read_together", do_read_together}};
    for (size_t i = 0; argc > 1 && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(argv[1], table[i].name) == 0) {
            table[i].run(argc > 2);
            return 0;
        }
    }
    return 2;
}
