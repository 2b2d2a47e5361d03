/* Every access of this program to the heap is known; see known.h. Compiled as C and as C++, by every compiler, at every level
 * of optimisation, with and without the pass. */
#ifdef KNOWN_FORTIFIED
#define _FORTIFY_SOURCE 2
#endif
#include "known.h"

#include <pthread.h>
#include <signal.h>

#define CHUNK(type, size) ((type *)hide(malloc(size)))

/* The end of a chunk; or not, in a process that will be killed with all its chunks alive. */
static int kept;

static void drop(void *chunk)
{
    if (!kept) {
        free(chunk);
    }
}

static void untouched(void)
{
    drop(CHUNK(char, 101));
    expect("untouched", 101, 0, 0, -1, -1, 0);
}

static void array(void)
{
    int *a = CHUNK(int, 404);
    for (size_t i = 10; i < 90; i++) {
        PUT(a[i], (int)i);
    }
    for (size_t i = 20; i < 30; i++) {
        USE(a[i]);
    }
    drop(a);
    expect("array", 404, 10, 80, 40, 359, 0);
}

static void backwards(void)
{
    short *a = CHUNK(short, 606);
    for (size_t i = 300; i > 100; i--) {
        PUT(a[i], (short)i);
    }
    drop(a);
    expect("backwards", 606, 0, 200, 202, 601, 0);
}

/* A read and a write of one place: Clang's own instrumentation leaves the read out. */
static void increments(void)
{
    long *a = CHUNK(long, 88);
    PUT(a[3], 0);
    for (int i = 0; i < 5; i++) {
        a[3]++;
        STEP();
    }
    drop(a);
    expect("increments", 88, 5, 6, 24, 31, 0);
}

typedef struct point {
    char tag;
    double x;
    int32_t n;
    uint8_t rest[20];
} point_t;

static void fields(void)
{
    point_t *p = CHUNK(point_t, sizeof(point_t) + 3);
    PUT(p->tag, 'a');
    PUT(p->x, 1.5);
    PUT(p->n, 7);
    USE(p->n);
    USE(p->tag);
    drop(p);
    expect("fields", sizeof(point_t) + 3, 2, 3, 0, 19, 0);
}

/* A whole struct: one read there, one write here. */
static void struct_copy(void)
{
    point_t *from = CHUNK(point_t, sizeof(point_t) + 11);
    point_t *to = CHUNK(point_t, sizeof(point_t) + 19);
    memset(from, 1, sizeof *from);
    STEP();
    PUT(*to, *from);
    drop(from);
    drop(to);
    expect("struct_copy from", sizeof(point_t) + 11, 1, 1, 0, (long)sizeof(point_t) - 1, 0);
    expect("struct_copy to", sizeof(point_t) + 19, 0, 1, 0, (long)sizeof(point_t) - 1, 0);
}

/* So big that gcc calls memcpy and memset for what its instrumentation has told as ranges. */
static void big_struct(void)
{
    typedef struct big {
        char bytes[1200];
    } big_t;
    big_t *from = CHUNK(big_t, 1301);
    big_t *to = CHUNK(big_t, 1302);
    big_t none = {{0}};
    memset(from, 1, sizeof *from);
    STEP();
    PUT(*to, *from);
    PUT(*to, none);
    memcpy(to, from, hide_size(sizeof *to));
    STEP();
    drop(from);
    drop(to);
    expect("big_struct from", 1301, 2, 1, 0, 1199, 0);
    expect("big_struct to", 1302, 0, 3, 0, 1199, 0);
}

static void unaligned(void)
{
    char *a = CHUNK(char, 111);
    typedef struct __attribute__((packed)) odd {
        char one;
        uint64_t eight;
        uint16_t two;
        uint32_t four;
    } odd_t;
    odd_t *odd = (odd_t *)hide(a + 50);
    PUT(odd->eight, 1);
    PUT(odd->four, 1);
    USE(odd->two);
    drop(a);
    expect("unaligned", 111, 1, 2, 51, 64, 0);
}

/* Of constant size, which compilers expand, and of a size they do not know. */
static void memory_functions(void)
{
    char *from = CHUNK(char, 1001);
    char *to = CHUNK(char, 1002);
    memset(from + 100, 7, 32);
    STEP();
    memset(from + 200, 7, hide_size(100));
    STEP();
    memcpy(to + 8, from + 100, 16);
    STEP();
    memcpy(to + 500, from + 200, hide_size(77));
    STEP();
    memmove(to + 300, to + 8, 16);
    STEP();
    USE(memcmp(to + 8, from + 100, 16));
    USE(memcmp(to + 8, from + 100, hide_size(16)));
    drop(from);
    drop(to);
    expect("memory from", 1001, 4, 2, 100, 299, 0);
    expect("memory to", 1002, 3, 3, 8, 576, 0);
}

/* By the names that headers use, and with what is known to fit. */
static void builtin_functions(void)
{
    typedef struct parts {
        char first[64];
        char second[64];
    } parts_t;
    parts_t *from = CHUNK(parts_t, 1511);
    parts_t *to = CHUNK(parts_t, 1512);
    __builtin_memset(from->first, 7, 48);
    STEP();
    __builtin_memcpy(to->first, from->first, 40);
    STEP();
    __builtin_memmove(to->second, to->first, 24);
    STEP();
    USE(__builtin_memcmp(to->first, from->first, 24));
    USE(__builtin_memcmp(to->second, from->first, 3) == 0);
    __builtin_strcpy(to->first, "twelve bytes");
    STEP();
    memcpy(to->second, from->first, 48);
    STEP();
    drop(from);
    drop(to);
    expect("builtin from", 1511, 4, 1, 0, 47, 0);
    expect("builtin to", 1512, 3, 4, 0, 111, 0);
}

static void strings(void)
{
    char *a = CHUNK(char, 1011);
    char *b = CHUNK(char, 1012);
    strcpy(a + 10, (const char *)hide((void *)"hello world"));
    STEP();
    USE(strlen(a + 10));
    strcpy(b, a + 10);
    STEP();
    USE(strcmp(a + 10, b));
    USE(strchr(a + 10, 'w'));
    drop(a);
    drop(b);
    expect("strings a", 1011, 4, 1, 10, 21, 0);
    expect("strings b", 1012, 1, 1, 0, 11, 0);
}

/* The lower half is read, the upper written. */
static void halves(void)
{
    char *a = CHUNK(char, 2048);
    char buffer[1024];
    memset(a + 1024, 1, hide_size(1024));
    STEP();
    drop(a);
    expect("upper half", 2048, 0, 1, 1024, 2047, 0);
    a = CHUNK(char, 2056);
    memcpy(hide(buffer), a, hide_size(1024));
    STEP();
    drop(a);
    expect("lower half", 2056, 1, 0, 0, 1023, 0);
}

static void large(void)
{
    char *a = CHUNK(char, 300001);
    PUT(a[150000], 1);
    USE(a[299999]);
    PUT(a[100], 1);
    drop(a);
    expect("large", 300001, 1, 2, 100, 299999, 0);
    a = CHUNK(char, (3ul << 20) + 5);
    memset(a + 65536, 1, hide_size(1 << 20));
    STEP();
    drop(a);
    expect("larger", (3ul << 20) + 5, 0, 1, 65536, 65536 + (1 << 20) - 1, 0);
}

static void aligned(void)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 256, 776) != 0) {
        abort();
    }
    char *a = (char *)hide(memory);
    PUT(a[5], 1);
    PUT(a[700], 1);
    drop(a);
    expect("aligned", 776, 0, 2, 5, 700, 0);
}

/* A life ends with realloc; what is copied then is not the program's doing. */
static void moves(void)
{
    char *a = CHUNK(char, 131);
    PUT(a[1], 1);
    a = (char *)hide(realloc(a, 40001));
    PUT(a[40000], 1);
    USE(a[1]);
    a = (char *)hide(realloc(a, 300777));
    USE(a[300000]);
    drop(a);
    expect("moves first", 131, 0, 1, 1, 1, 0);
    expect("moves second", 40001, 1, 1, 1, 40000, 0);
    expect("moves third", 300777, 1, 0, 300000, 300000, 0);
}

static void stays(void)
{
    char *a = CHUNK(char, 1999);
    PUT(a[1990], 1);
    a = (char *)hide(realloc(a, 1998));
    USE(a[3]);
    USE(a[4]);
    drop(a);
    expect("stays first", 1999, 0, 1, 1990, 1990, 0);
    expect("stays second", 1998, 2, 0, 3, 4, 0);
}

static void *touch(void *arg)
{
    char *a = (char *)arg;
    PUT(a[60], 1);
    USE(a[61]);
    return NULL;
}

static void in_thread(char *chunk)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, chunk) != 0 || pthread_join(thread, NULL) != 0) {
        abort();
    }
}

static void threads(void)
{
    char *a = CHUNK(char, 171);
    PUT(a[59], 1);
    in_thread(a);
    drop(a);
    expect("two threads", 171, 1, 2, 59, 61, 1);
    a = CHUNK(char, 172);
    in_thread(a);
    drop(a);
    expect("another thread", 172, 1, 1, 60, 61, 0);
    a = CHUNK(char, 173);
    in_thread(a);
    in_thread(a);
    drop(a);
    expect("two others", 173, 2, 2, 60, 61, 1);
}

/* The first turn makes it a shared one; the others only say who was the last. */
static void take_turns(const char *name, size_t size)
{
    char *a = CHUNK(char, size);
    for (int turn = 0; turn < 5; turn++) {
        PUT(a[59], 1);
        in_thread(a);
        USE(a[62]);
    }
    drop(a);
    expect(name, size, 10, 10, 59, 62, 1);
}

static void atomics(void)
{
    long *a = CHUNK(long, 248);
    __atomic_store_n(&a[2], 1, __ATOMIC_RELEASE);
    USE(__atomic_load_n(&a[2], __ATOMIC_ACQUIRE));
    USE(__atomic_fetch_add(&a[2], 1, __ATOMIC_RELAXED));
    long expected = 2;
    USE(__atomic_compare_exchange_n(&a[2], &expected, 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    USE(__atomic_exchange_n(&a[3], 9, __ATOMIC_ACQ_REL));
    if (a[2] != 3) {
        abort();
    }
    STEP();
    drop(a);
    expect("atomics", 248, 5, 4, 16, 31, 0);
}

/* Loops that compilers make vectors of: neighbours, and two and three lanes of them, which arm64 has loads and stores for. */
__attribute__((noinline)) static void scale(int *to, const int *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i] * 3;
    }
}

__attribute__((noinline)) static int products(const int *from, size_t count)
{
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += from[2 * i] * from[2 * i + 1];
    }
    return sum;
}

__attribute__((noinline)) static void turn(uint8_t *to, const uint8_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[3 * i] = from[3 * i + 2];
        to[3 * i + 1] = from[3 * i + 1];
        to[3 * i + 2] = from[3 * i];
    }
}

static void vectors(void)
{
    int *from = CHUNK(int, 8008);
    int *to = CHUNK(int, 8016);
    memset(from, 1, 8000);
    STEP();
    scale(to, from, hide_size(2000));
    STEP();
    drop(from);
    drop(to);
    expect_loop("vectors from", 8008, "reads", 2000, 8000, 16, 1);
    expect_loop("vectors to", 8016, "writes", 2000, 8000, 16, 0);
}

static void lanes(void)
{
    int *pairs = CHUNK(int, 8024);
    uint8_t *from = CHUNK(uint8_t, 9008);
    uint8_t *to = CHUNK(uint8_t, 9016);
    memset(pairs, 1, 8000);
    memset(from, 1, 9000);
    STEP();
    USE(products(pairs, hide_size(1000)));
    turn(to, from, hide_size(3000));
    STEP();
    drop(pairs);
    drop(from);
    drop(to);
    expect_loop("pairs", 8024, "reads", 2000, 8000, 32, 1);
    expect_loop("three lanes from", 9008, "reads", 9000, 9000, 48, 1);
    expect_loop("three lanes to", 9016, "writes", 9000, 9000, 48, 0);
}

static void volatiles(void)
{
    volatile int *a = CHUNK(volatile int, 260);
    a[7] = 1;
    a[7] = 2;
    (void)a[9];
    (void)a[9];
    (void)a[9];
    drop((void *)a);
    expect("volatiles", 260, 3, 2, 28, 39, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    kept = argc > 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    untouched();
    array();
    backwards();
    increments();
    fields();
    struct_copy();
    big_struct();
    unaligned();
    memory_functions();
    builtin_functions();
    strings();
    halves();
    large();
    aligned();
    moves();
    stays();
    threads();
    take_turns("turns", 174);
    take_turns("turns at a large chunk", 3145731);
    atomics();
    volatiles();
    vectors();
    lanes();
    if (kept) {
        raise(SIGKILL);
    }
    return 0;
}
