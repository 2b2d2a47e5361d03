/* An instrumented program that is hard on the callbacks: each argument names a kind of trouble. What is known of the accesses
 * is printed as in known.c; where nothing can be known, surviving is the test. See tests/access/trouble.py. */
#define _GNU_SOURCE
#include "known.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: " #condition "\n", __LINE__);                                                    \
            _exit(99);                                                                                                 \
        }                                                                                                              \
    } while (0)

/* Before main, and before the library may have been started. */
static char *early;

__attribute__((constructor)) static void construct(void)
{
    early = hide(malloc(5001));
    PUT(early[17], 1);
}

static void constructor(void)
{
    USE(early[18]);
    free(early);
    expect("constructor", 5001, 1, 1, 17, 18, 0);
}

/* --- chunks that another thread frees at the same time ------------------------------------------------------------ */

enum { CELLS = 64, ROUNDS = 20000 };
static _Atomic(char *) cells[CELLS];
static atomic_bool done;

static void *touch_anything(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (!atomic_load(&done)) {
        seed = seed * 1103515245 + 12345;
        char *chunk = atomic_load(&cells[seed >> 8 & (CELLS - 1)]);
        if (chunk != NULL) {
            /* It may be freed by now: only the callbacks look at it, as they would before the access. */
            extern void __tsan_read4(void *);
            extern void __tsan_write8(void *);
            __tsan_read4(chunk + (seed & 15) * 4);
            __tsan_write8(chunk + 64);
        }
    }
    return NULL;
}

static void freed(void)
{
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++) {
        MUST(pthread_create(&threads[i], NULL, touch_anything, (void *)(i + 1)) == 0);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = i % 50 == 0 ? 200000 + i : 80 + i % 3000;
        char *fresh = malloc(size);
        MUST(fresh != NULL);
        memset(fresh, 1, 80);
        free(atomic_exchange(&cells[i % CELLS], fresh));
    }
    atomic_store(&done, true);
    for (int i = 0; i < 2; i++) {
        MUST(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 0; i < CELLS; i++) {
        free(cells[i]);
    }
}

/* --- pictures while two threads touch the same chunk, one reading and one writing ----------------------------------- */

enum { PICTURES = 40, AT_LEAST = 5000 };
static char *touched_all_the_time;
static _Atomic long reads_done, writes_done;

/* What they have begun is counted before, so that no picture may tell of more. */
static void *read_on(void *unused)
{
    for (size_t i = 0; !atomic_load(&done); i++) {
        atomic_fetch_add(&reads_done, 1);
        USE(touched_all_the_time[100 + i % 100]);
    }
    return unused;
}

static void *write_on(void *unused)
{
    for (size_t i = 0; !atomic_load(&done); i++) {
        atomic_fetch_add(&writes_done, 1);
        PUT(touched_all_the_time[200 + i % 100], 1);
    }
    return unused;
}

static void wait_for_more(const _Atomic long *count)
{
    for (long from = atomic_load(count); atomic_load(count) < from + AT_LEAST;) {
        sched_yield();
    }
}

static void pictures(void)
{
    extern int profalloc_snapshot(const char *name);
    pthread_t threads[2];
    touched_all_the_time = hide(malloc(8001));
    MUST(pthread_create(&threads[0], NULL, read_on, NULL) == 0 &&
         pthread_create(&threads[1], NULL, write_on, NULL) == 0);
    for (int i = 0; i < PICTURES; i++) {
        wait_for_more(&reads_done);
        wait_for_more(&writes_done);
        MUST(profalloc_snapshot("busy") == 0);
        printf("%ld %ld\n", atomic_load(&reads_done), atomic_load(&writes_done));
    }
    atomic_store(&done, true);
    MUST(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    MUST(profalloc_snapshot("quiet") == 0);
    printf("%ld %ld\n", atomic_load(&reads_done), atomic_load(&writes_done));
    free(touched_all_the_time);
}

/* --- addresses of all kinds --------------------------------------------------------------------------------------- */

static void wild(void)
{
    extern void __tsan_read8(void *);
    extern void __tsan_write_range(void *, long);
    uint64_t seed = 88172645463325252u;
    char *chunk = malloc(100);
    for (int i = 0; i < 300000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uintptr_t address = seed;
        switch (i % 6) {
        case 0:
            address = (uintptr_t)chunk ^ (seed & 0xfffffffffu);
            break;
        case 1:
            address = (uintptr_t)3 << 44 | (seed >> 20);
            break;
        case 2:
            address = (uintptr_t)-1 - (seed & 0xffff);
            break;
        case 3:
            address = seed & 0xfff;
            break;
        default:
            break;
        }
        __tsan_read8((void *)address);
        __tsan_write_range((void *)address, (long)(seed & 0xffffff));
    }
    free(chunk);
}

/* --- signals, threads that end, forks ----------------------------------------------------------------------------- */

static char *for_handler;
static volatile sig_atomic_t handled;

static void handle(int signal)
{
    (void)signal;
    for_handler[handled % 100] = 1;
    handled = handled + 1;
}

static void signals(void)
{
    for_handler = hide(malloc(7001));
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 200}, {0, 200}};
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (handled < 1000) {
        char *chunk = hide(malloc(100));
        for (int i = 0; i < 1000; i++) {
            PUT(chunk[i % 100], 1);
        }
        free(chunk);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    signal(SIGALRM, SIG_IGN);
    long count = handled;
    free(for_handler);
    expect("signals", 7001, 0, count, 0, 99, 0);
}

static pthread_key_t key;

static void at_end(void *chunk)
{
    PUT(((char *)chunk)[9], 1);
    free(chunk);
}

static void *only_touches(void *chunk)
{
    PUT(((char *)chunk)[3], 1);
    return NULL;
}

static void *leaves_work(void *unused)
{
    char *chunk = hide(malloc(6001));
    PUT(chunk[8], 1);
    MUST(pthread_setspecific(key, chunk) == 0);
    return unused;
}

static void thread_ends(void)
{
    pthread_t thread;
    MUST(pthread_key_create(&key, at_end) == 0);
    MUST(pthread_create(&thread, NULL, leaves_work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    expect("destructor", 6001, 0, 2, 8, 9, 0);
    char *chunk = hide(malloc(6002));
    for (int i = 0; i < 3; i++) { /* each a thread that never allocates */
        MUST(pthread_create(&thread, NULL, only_touches, chunk) == 0 && pthread_join(thread, NULL) == 0);
    }
    free(chunk);
    expect("threads that only touch", 6002, 0, 3, 3, 3, 1);
}

static void forks(void)
{
    char *chunk = hide(malloc(4001)), *large = hide(malloc(200001));
    PUT(chunk[7], 1);
    PUT(large[70000], 1);
    fflush(stdout);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 1000; i++) {
            PUT(chunk[i], 1); /* the parent's to tell, and not done by the parent */
            PUT(large[i], 1);
        }
        free(chunk);
        free(large);
        chunk = hide(malloc(4002));
        PUT(chunk[4000], 1);
        free(chunk);
        exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    USE(chunk[70]);
    USE(large[200000]);
    free(chunk);
    free(large);
    expect("parent", 4001, 1, 1, 7, 70, 0);
    expect("parent", 200001, 1, 1, 70000, 200000, 0);
}

/* --- modules, memory that is not where it usually is -------------------------------------------------------------- */

static void plugins(const char *path)
{
    for (int i = 0; i < 50; i++) {
        void *module = dlopen(path, RTLD_NOW);
        MUST(module != NULL);
        union {
            void *symbol;
            void (*function)(char *);
        } touch = {dlsym(module, "touch_in_plugin")};
        MUST(touch.symbol != NULL);
        char *chunk = hide(malloc(9001));
        PUT(chunk[1], 1);
        touch.function(chunk);
        MUST(dlclose(module) == 0);
        free(chunk);
    }
}

/* A program that began without recording, and loads a module before it wants some. */
static void late_plugin(const char *path)
{
    extern int profalloc_start(size_t sample);
    union {
        void *symbol;
        void (*function)(char *);
    } touch;
    void *module = dlopen(path, RTLD_NOW);
    MUST(module != NULL && (touch.symbol = dlsym(module, "touch_in_plugin")) != NULL);
    char *before = hide(malloc(9003));
    touch.function(before);
    MUST(profalloc_start(1) == 0);
    char *chunk = hide(malloc(9002));
    touch.function(chunk);
    touch.function(before);
    PUT(chunk[1], 1);
    MUST(dlclose(module) == 0);
    free(chunk);
    free(before);
    expect("a plugin from before recording", 9002, 1, 2, 1, 200, 0);
}

static long counter_of_globals;

/* More large chunks than fit into large_range: those beyond it are seen too. */
static void elsewhere(void)
{
    enum { COUNT = 40 };
    char *chunks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        chunks[i] = hide(malloc(4000000 + i));
        PUT(chunks[i][i], 1);
        USE(chunks[i][3999000]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        free(chunks[i]);
        expect("elsewhere", 4000000 + i, 1, 1, (long)i, 3999000, 0);
    }
    for (int i = 0; i < 1000; i++) {
        PUT(counter_of_globals, counter_of_globals + 1);
    }
    void *aligned;
    MUST(posix_memalign(&aligned, 64 << 20, 5000000) == 0);
    char *chunk = hide(aligned);
    PUT(chunk[4999999], 1);
    free(chunk);
    expect("aligned", 5000000, 0, 1, 4999999, 4999999, 0);
}

/* Places in it are told in units of four bytes. */
static void huge(void)
{
    size_t size = (size_t)5 << 30;
    char *chunk = hide(malloc(size));
    MUST(chunk != NULL);
    PUT(chunk[((size_t)1 << 30) + 4], 1);
    USE(chunk[((size_t)4 << 30) + 9]);
    free(chunk);
    expect("huge", size, 1, 1, ((long)1 << 30) + 4, ((long)4 << 30) + 11, 0);
}

/* Around what the table of slices has room for (PFA_SLICE_CHUNK_MAX), from end to end. */
static void limits(void)
{
    static const size_t below = ((size_t)1 << 31) - 65536;
    const size_t sizes[] = {131073, (size_t)1 << 24, ((size_t)1 << 24) + 70000, below - 65536, below - 1,
                            below,  below + 65535};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *chunk = hide(malloc(sizes[i]));
        MUST(chunk != NULL);
        PUT(chunk[sizes[i] - 1], 1);
        USE(chunk[sizes[i] / 2]);
        PUT(chunk[0], 1);
        USE(chunk[sizes[i] / 2 + 1]);
        free(chunk);
        expect("limits", sizes[i], 2, 2, 0, (long)sizes[i] - 1, 0);
    }
    void *aligned;
    MUST(posix_memalign(&aligned, (size_t)1 << 20, 300001) == 0);
    char *chunk = hide(aligned);
    PUT(chunk[300000], 1);
    USE(chunk[3]);
    free(chunk);
    expect("aligned", 300001, 1, 1, 3, 300000, 0);
}

/* Somebody else lives in the window, from before recording begins. */
static void window(void)
{
    char *chunk = hide(malloc(3001));
    PUT(chunk[1], 1);
    free(chunk);
    expect("window", 3001, 0, 1, 1, 1, 0);
}

__attribute__((constructor(101))) static void take_window(void)
{
    const char *at = getenv("TAKE_WINDOW");
    if (at != NULL) {
        void *place = (void *)(((uintptr_t)3 << 44) + strtoull(at, NULL, 0));
        char *taken =
            mmap(place, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        MUST(taken == place);
        PUT(taken[5], 1);
        extern int profalloc_start(size_t sample);
        MUST(profalloc_start(1) == 0);
    }
}

/* The same where there is no room elsewhere either: nothing can be recorded, and what is somebody else's stays so. */
static void exhausted(void)
{
    extern int profalloc_start(size_t sample);
    void *place = (void *)(((uintptr_t)3 << 44) + ((uintptr_t)1 << 40));
    char *taken =
        mmap(place, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    MUST(taken == place);
    for (size_t size = (size_t)1 << 40; size >= 4096; size /= 2) {
        while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
        }
    }
    MUST(profalloc_start(1) != 0);
    PUT(taken[5], 1);
}

static long now_ns(void)
{
    struct timespec now;
    MUST(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Without a call that waits. */
static void let_pass(long ns)
{
    long began = now_ns();
    while (now_ns() - began < ns) {
    }
}

/* Chunks that are used alike, a little, again and again, by a thread that does nothing else: none of them is the one that
 * asks for the time. */
static void lockstep(void)
{
    enum { CHUNKS = 2000, ROUNDS = 40, LAST_ROUNDS = 5, ROUND_NS = 5000000 };
    static char *chunks[CHUNKS];
    long last_rounds = 0;
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = hide(malloc(2077));
    }
    for (int round = 0; round < ROUNDS; round++) {
        last_rounds = round == ROUNDS - LAST_ROUNDS ? now_ns() : last_rounds;
        let_pass(ROUND_NS);
        for (int i = 0; i < CHUNKS; i++) {
            PUT(chunks[i][7], 1);
        }
    }
    for (int i = 0; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    printf("%ld\n", now_ns() - last_rounds);
}

/* Two threads that touch a chunk by turns and wait for each other by looking only: nothing tells them the time. */
enum { TURNS = 400, LAST_TURNS = 2 * 64 + 20, TURN_NS = 1000000 };

static struct {
    _Atomic int turn;
    int *counter;
} taken_in_turns;

static void *take_odd_turns(void *unused)
{
    for (int turn = 1; turn < TURNS; turn += 2) {
        while (taken_in_turns.turn != turn) {
            (void)sched_yield();
        }
        PUT(taken_in_turns.counter[2], turn);
        taken_in_turns.turn = turn + 1;
    }
    return unused;
}

/* How long the last LAST_TURNS took. */
static long in_turns(const char *name, long writes)
{
    long began = 0;
    pthread_t other;
    int *chunk = hide(malloc(2078));
    taken_in_turns.counter = chunk;
    MUST(pthread_create(&other, NULL, take_odd_turns, NULL) == 0);
    for (int turn = 0; turn < TURNS; turn += 2) {
        began = turn == TURNS - LAST_TURNS ? now_ns() : began;
        while (taken_in_turns.turn != turn) {
            (void)sched_yield();
        }
        let_pass(2 * TURN_NS);
        PUT(chunk[1], turn);
        taken_in_turns.turn = turn + 1;
    }
    while (taken_in_turns.turn != TURNS) {
        (void)sched_yield();
    }
    free(chunk);
    long took = now_ns() - began;
    MUST(pthread_join(other, NULL) == 0);
    expect(name, 2078, 0, writes, 4, 11, 1);
    return took;
}

static void turns_of_threads(void)
{
    printf("%ld\n", in_turns("turns of threads", TURNS));
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static void counted_turns(void)
{
    (void)in_turns("counted turns", 15);
}

static void counters(void)
{
    char *chunk = hide(malloc(2001));
    for (int i = 0; i < 1000; i++) {
        PUT(chunk[i], 1);
    }
    for (int i = 0; i < 3; i++) {
        USE(chunk[i]);
    }
    free(chunk);
    expect("counters", 2001, 3, 15, 0, 999, 0);
}

/* More turns than a counter holds, of a loop that the pass tells at once. Nothing was written: it is all one page of zeros. */
__attribute__((noinline)) static long total(const unsigned char *from, size_t count)
{
    long sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += from[i];
    }
    return sum;
}

static void turns(void)
{
    size_t count = ((size_t)1 << 31) + 10; /* even: places are told in units of two bytes */
    unsigned char *chunk = hide(malloc(count + 100));
    MUST(chunk != NULL);
    USE(total(chunk, hide_size(count)));
    free(chunk);
    expect("turns", count + 100, INT32_MAX, 0, 0, (long)count - 1, 0);
}

/* Each chunk alike: three reads, one write. */
static void alike(void)
{
    for (int i = 0; i < 20000; i++) {
        char *chunk = hide(malloc(1000));
        PUT(chunk[i % 1000], 1);
        for (int k = 0; k < 3; k++) {
            USE(chunk[i % 1000]);
        }
        free(chunk);
    }
}

typedef struct fields {
    long hot;
    long never;
    int half[2];
    long written;
} fields_t;

static void mapped(void)
{
    for (int i = 0; i < 100; i++) {
        fields_t *fields = hide(malloc(sizeof *fields));
        for (int k = 0; k < 10; k++) {
            USE(fields->hot);
        }
        USE(fields->half[1]);
        PUT(fields->half[0], 1);
        PUT(fields->written, 1);
        free(fields);
    }
}

static void mapped_and_killed(void)
{
    mapped();
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } troubles[] = {{"constructor", constructor},
                    {"freed", freed},
                    {"wild", wild},
                    {"signals", signals},
                    {"threads", thread_ends},
                    {"forks", forks},
                    {"elsewhere", elsewhere},
                    {"huge", huge},
                    {"limits", limits},
                    {"window", window},
                    {"counters", counters},
                    {"alike", alike},
                    {"mapped", mapped},
                    {"lockstep", lockstep},
                    {"pictures", pictures},
                    {"turns", turns},
                    {"turns_of_threads", turns_of_threads},
                    {"counted_turns", counted_turns},
                    {"exhausted", exhausted},
                    {"killed", mapped_and_killed}};
    MUST(argc >= 2);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        if (strcmp(argv[1], troubles[i].name) == 0) {
            troubles[i].function();
            return 0;
        }
    }
    MUST(argc == 3);
    if (strcmp(argv[1], "late_plugin") == 0) {
        late_plugin(argv[2]);
    } else {
        MUST(strcmp(argv[1], "plugins") == 0);
        plugins(argv[2]);
    }
    return 0;
}
