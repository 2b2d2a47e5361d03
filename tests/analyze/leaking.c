/* Ways to keep chunks, for tests/analyze/leaking.py: each is one word of the command line, and takes some tenths of a second, so that
 * there is a time in which chunks are born. With a second word the program is killed in the end. On a busy machine chunks are born at
 * other times than it means them to be. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 100000, QUEUE = 50 };

static void *volatile kept[KEPT];
static unsigned kept_count;

static long microseconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void rest(long microseconds)
{
    struct timespec time = {.tv_nsec = microseconds * 1000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void *make_widget(size_t size)
{
    void *widget = malloc(size);
    __asm__ volatile("" : : "r"(widget) : "memory");
    return widget;
}

__attribute__((noinline)) static void consume_widget(void *widget)
{
    free(widget);
    __asm__ volatile("" ::: "memory");
}

static void keep(void *widget)
{
    kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED)] = widget;
}

static void keep_some(unsigned count, long pause)
{
    for (unsigned i = 0; i < count; i++) {
        keep(make_widget(100));
        rest(pause);
    }
}

static void rest_until(long end)
{
    for (long now = microseconds_now(); now < end; now = microseconds_now()) {
        rest(end - now < 1000 ? end - now : 1000);
    }
}

/* A third of the time is without births, however slow the machine is. */
static void keep_some_and_end(void)
{
    long start = microseconds_now();
    keep_some(100, 1000);
    rest_until(microseconds_now() + (microseconds_now() - start) * 55 / 100);
}

/* One of `every` is forgotten. */
static void forget(unsigned count, unsigned every)
{
    for (unsigned i = 0; i < count; i++) {
        void *widget = make_widget(64);
        rest(200);
        if (i % every == 0) {
            keep(widget);
        } else {
            consume_widget(widget);
        }
    }
}

static void fill_cache(void)
{
    for (unsigned i = 0; i < 200; i++) {
        keep(make_widget(100));
    }
    rest(300000);
}

/* The queue is full when the program ends. */
static void run_queue(void)
{
    void *queue[QUEUE] = {NULL};
    for (unsigned i = 0; i < 10 * QUEUE; i++) {
        consume_widget(queue[i % QUEUE]);
        queue[i % QUEUE] = make_widget(64);
        rest(500);
    }
    for (unsigned i = 0; i < QUEUE; i++) {
        keep(queue[i]);
    }
}

static void *run_thread(void *argument)
{
    const char *name = argument;
    pthread_setname_np(pthread_self(), name);
    for (unsigned i = 0; i < 300; i++) {
        void *widget = make_widget(64);
        rest(500);
        if (strcmp(name, "leaky") == 0 && i % 4 == 0) {
            keep(widget);
        } else {
            consume_widget(widget);
        }
    }
    return NULL;
}

static void run_threads(void)
{
    static char names[2][8] = {"tidy", "leaky"};
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, run_thread, names[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Fewer and fewer, as in a table that fills up. */
static void slow_down(void)
{
    long next = microseconds_now();
    for (unsigned i = 0; i < 60; i++) {
        keep(make_widget(100));
        next += 20 + 20L * i * i / 3;
        rest_until(next);
    }
}

static void keep_in_bursts(void)
{
    rest(20000);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 50; j++) {
            keep(make_widget(100));
        }
        rest(i < 2 ? 150000 : 0);
    }
}

/* The same function allocates for another caller, who frees. */
__attribute__((noinline)) static void run_tidy_caller(void)
{
    consume_widget(make_widget(64));
    __asm__ volatile("" ::: "memory");
}

static void run_cousins(void)
{
    for (unsigned i = 0; i < 200; i++) {
        run_tidy_caller();
        keep(make_widget(64));
        rest(1000);
    }
}

/* Chunks that are kept all along, and read again and again, or never. */
static void run_touched(int used)
{
    volatile char sum = 0;
    for (unsigned i = 0; i < 150; i++) {
        char *widget = make_widget(64);
        memset(widget, 1, 64);
        keep(widget);
        for (unsigned j = 0; used && j < kept_count; j++) {
            sum = (char)(sum + ((volatile char *)kept[j])[5]);
        }
        rest(1000);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"cache", fill_cache}, {"queue", run_queue},       {"threads", run_threads},
                {"levels", slow_down}, {"bursts", keep_in_bursts}, {"cousins", run_cousins}};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(way, ways[i].name) == 0) {
            ways[i].run();
        }
    }
    if (strcmp(way, "list") == 0) {
        keep_some(200, 1000);
    } else if (strcmp(way, "one-of-100") == 0) {
        forget(1000, 100);
    } else if (strcmp(way, "half") == 0) {
        forget(800, 2);
    } else if (strcmp(way, "ended") == 0) {
        keep_some_and_end();
    } else if (strcmp(way, "young") == 0) {
        rest(300000);
        keep_some(50, 0);
    } else if (strcmp(way, "burst") == 0) {
        rest(150000);
        keep_some(50, 0);
        rest(150000);
    } else if (strcmp(way, "single") == 0) {
        rest(100000);
        keep(make_widget(64));
        rest(100000);
    } else if (strcmp(way, "sizes") == 0) {
        keep(make_widget(0));
        keep(make_widget((size_t)1 << 30));
        rest(100000);
    } else if (strcmp(way, "used") == 0 || strcmp(way, "unused") == 0) {
        run_touched(way[1] == 's');
    }
    if (argc > 2) {
        raise(SIGKILL);
    }
    return 0;
}
