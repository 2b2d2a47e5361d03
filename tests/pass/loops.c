/* Loops: none of their turns, the last of them, and what leaves them early, is counted otherwise by a range. */
#include "fake.h"

#include <setjmp.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static long sum(const int *p, long n)
{
    long total = 0;
    for (long i = 0; i < n; i++) {
        total += p[i];
    }
    return total;
}

NOINLINE static void fill_strided(int *p, long n, long step)
{
    for (long i = 0; i < n; i++) {
        p[i * step] = (int)i;
    }
}

NOINLINE static void fill_backwards(short *p, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        p[i * 3] = (short)i;
    }
}

NOINLINE static long find(const int *p, long n, int what)
{
    for (long i = 0; i < n; i++) {
        if (p[i] == what) {
            return i;
        }
    }
    return -1;
}

NOINLINE static void saxpy(double *y, const double *x, double a, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

NOINLINE static int nested(int *p, int rows, int columns)
{
    int total = 0;
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            total += p[r * 16 + c];
            p[r * 16 + c] = r - c;
        }
    }
    return total;
}

NOINLINE static int conditional(int *p, const char *when, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        if (when[i]) {
            total += p[i];
        }
    }
    return total;
}

NOINLINE static void with_calls(int *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = i;
        nothing();
        p[i + 1] = i;
    }
}

NOINLINE static void invariant(int *count, const int *p, int n)
{
    for (int i = 0; i < n; i++) {
        *count += p[i] & 1; /* may alias */
    }
}

NOINLINE static void unrolled(int *p)
{
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) {
        p[i * 2] = i + p[i * 2 + 1];
    }
}

NOINLINE static unsigned bytes_wrapping(unsigned char *p, unsigned char from, unsigned n)
{
    unsigned total = 0;
    for (unsigned i = 0; i < n; i++) {
        total += p[from++]; /* the index wraps at 256 */
    }
    return total;
}

NOINLINE static void while_loop(long *p, long n)
{
    long i = 0;
    while (1) {
        p[0]++;
        if (i >= n) {
            break;
        }
        p[1 + i] = i;
        i++;
    }
}

static jmp_buf back;

NOINLINE static void leave(int *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = i;
        if (i == 5) {
            longjmp(back, 1);
        }
    }
}

NOINLINE static int list(int **p)
{
    int n = 0;
    for (; *p; p = (int **)*p) {
        n++;
    }
    return n;
}

NOINLINE static void to_end(int *p, int *end)
{
    while (p != end) {
        *p++ = 7;
    }
}

NOINLINE static void volatile_loop(volatile int *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = p[i] + 1;
    }
}

NOINLINE static void two_exits(int *p, int n, int m)
{
    for (int i = 0; i < n && p[i] != m; i++) {
        p[i] = m + 1;
    }
}

NOINLINE static void many(char *p, long n)
{
    for (long i = 0; i < n; i++) {
        p[i & 1] ^= (char)i;
    }
}

/* Cycles that are no loops to LLVM: they have two entries. */
NOINLINE static void entered_twice(long *p, int *q, long n)
{
    long s = p[0];
    if (n & 1) {
        goto middle;
    }
top:
    q[n] = (int)s;
middle:
    p[1] += n;
    if (--n > 0) {
        goto top;
    }
}

NOINLINE static void entered_twice_in_a_loop(long *p, int *q, long turns)
{
    for (long i = 0; i < turns; i++) {
        long k = 9;
        if (q[i] & 1) {
            goto middle;
        }
    top:
        q[k + 20] ^= (int)k;
    middle:
        p[i] += q[k];
        if (--k > 0) {
            goto top;
        }
    }
}

int main(void)
{
    long *twice = chunk(16), *in_loop = chunk(8 * 20);
    int *other = chunk(4 * 64);
    entered_twice(twice, other, number(9));
    expect(twice, 10, 9, 0, 15);
    entered_twice_in_a_loop(in_loop, other, number(20));
    expect(in_loop, 180, 180, 0, 159);

    int *none = chunk(400), *all = chunk(400), *strided = chunk(4000), *early = chunk(400), *grid = chunk(16 * 64);
    result((uint64_t)sum(none, number(0)));
    result((uint64_t)sum(none, number(-3)));
    expect(none, 0, 0, -1, -1);
    result((uint64_t)sum(all, number(100)));
    touched(all, 0, 399);
    int *one = chunk(400);
    result((uint64_t)sum(one + 5, number(1)));
    expect(one, 1, 0, 20, 23);
    int *seven = chunk(400);
    result((uint64_t)sum(seven, number(7)));
    touched(seven, 0, 27);

    fill_strided(strided + 10, number(20), number(7));
    expect(strided, 0, 20, 40, 40 + 19 * 28 + 3);
    fill_strided(strided + 900, number(20), number(-7));
    touched(strided, 40, 3603);
    short *down = chunk(600);
    fill_backwards(down, number(0));
    expect(down, 0, 0, -1, -1);
    fill_backwards(down + 1, number(50));
    expect(down, 0, 50, 2, 2 + 49 * 6 + 1);

    early[30] = 9;
    int *searched = chunk(400);
    searched[30] = 9;
    nothing();
    result((uint64_t)find(searched, number(100), 9));
    expect(searched, 31, 1, 0, 123);
    double *x = chunk(800), *y = chunk(800);
    saxpy(y, x, 2.5, number(99));
    touched(x, 0, 791);
    touched(y, 0, 791);
    result((uint64_t)nested(grid, number(10), number(9)));
    touched(grid, 0, (9 * 16 + 8) * 4 + 3);
    char *when = chunk(64);
    when[3] = when[50] = 1;
    int *only = chunk(400);
    result((uint64_t)conditional(only, when, number(64)));
    expect(only, 2, 0, 12, 203);
    int *calls = chunk(400);
    with_calls(calls, number(10));
    expect(calls, 0, 20, 0, 43);
    int *counter = chunk(4), *counted = chunk(400);
    invariant(counter, counted, number(33));
    touched(counted, 0, 131);
    invariant(counted + 3, counted, number(50)); /* aliases */
    touched(counted, 0, 199);
    int *flat = chunk(64);
    unrolled(flat);
    touched(flat, 0, 63);
    unsigned char *ring = chunk(256);
    result(bytes_wrapping(ring, (unsigned char)number(250), (unsigned)number(12)));
    touched(ring, 0, 255);
    unsigned char *part = chunk(256);
    result(bytes_wrapping(part, (unsigned char)number(20), (unsigned)number(12)));
    touched(part, 20, 31);
    long *looped = chunk(400);
    while_loop(looped, number(0));
    expect(looped, 1, 1, 0, 7);
    while_loop(looped, number(4));
    touched(looped, 0, 39);
    int *jumped = chunk(400);
    if (!setjmp(back)) {
        leave(jumped, number(50));
    }
    expect(jumped, 0, 6, 0, 23);
    void **links = chunk(80);
    links[0] = links + 5, links[5] = links + 2, links[2] = links + 9;
    nothing();
    result((uint64_t)list((int **)links));
    touched(links, 0, 79);
    int *ended = chunk(400);
    to_end(ended + 7, ended + number(7));
    expect(ended, 0, 0, -1, -1);
    to_end(ended + 7, ended + number(70));
    touched(ended, 28, 279);
    int *vol = chunk(400);
    volatile_loop(vol, number(25));
    expect(vol, 25, 25, 0, 99);
    int *exits = chunk(400);
    two_exits(exits, number(40), 3);
    touched(exits, 0, 159);
    char *small = chunk(2);
    many(small, number(50));
    touched(small, 0, 1);
    return 0;
}
