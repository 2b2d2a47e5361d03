/* Wide accesses, interleaved ones, and what vectorisation makes of loops. */
#include "fake.h"

#define NOINLINE __attribute__((noinline))

typedef int v4 __attribute__((vector_size(16)));
typedef long v8 __attribute__((vector_size(64)));
typedef char v32 __attribute__((vector_size(32)));

NOINLINE static void wide(v8 *to, const v8 *from)
{
    *to = *from + 1;
}

NOINLINE static void wide_bytes(v32 *to, v32 with)
{
    to[1] = to[0] ^ with;
}

NOINLINE static long dot(const int *a, const int *b, int n)
{
    long total = 0;
    for (int i = 0; i < n; i++) {
        total += (long)a[i] * b[i];
    }
    return total;
}

NOINLINE static void split(float *re, float *im, const float *both, int n)
{
    for (int i = 0; i < n; i++) {
        re[i] = both[2 * i];
        im[i] = both[2 * i + 1];
    }
}

NOINLINE static void mix(unsigned char *to, const unsigned char *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[4 * i] = from[3 * i];
        to[4 * i + 1] = from[3 * i + 1];
        to[4 * i + 2] = from[3 * i + 2];
        to[4 * i + 3] = 255;
    }
}

NOINLINE static int clamp(int *p, const int *limit, int n)
{
    int changed = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] > limit[i]) {
            p[i] = limit[i];
            changed++;
        }
    }
    return changed;
}

NOINLINE static void reverse(int *to, const int *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[n - 1 - i] = from[i];
    }
}

NOINLINE static void matrix(double *c, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double total = 0;
            for (int k = 0; k < n; k++) {
                total += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = total;
        }
    }
}

NOINLINE static void gather(int *to, const int *from, const int *index, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = from[index[i]];
    }
}

/* Masked, where the machine can. */
NOINLINE static void some(int *p, const int *which, int n)
{
    for (int i = 0; i < n; i++) {
        if (which[i] == 3) {
            p[i] = i;
        }
    }
}

int main(void)
{
    v8 *w = chunk(128);
    wide(w + 1, w);
    expect(w, 1, 1, 0, 127);
    v32 *bytes = chunk(96);
    wide_bytes(bytes, (v32){(char)number(1)});
    expect(bytes, 1, 1, 0, 63);
    for (int n = 0; n < 80; n += 13) {
        int *a = chunk(400), *b = chunk(400), *c = chunk(400), *index = chunk(400);
        result((uint64_t)dot(a, b, number(n)));
        touched(a, n ? 0 : -1, n * 4 - 1);
        float *re = chunk(400), *im = chunk(400), *both = chunk(800);
        split(re, im, both, number(n));
        touched(im, n ? 0 : -1, n * 4 - 1);
        touched(both, n ? 0 : -1, n * 8 - 1);
        unsigned char *to = chunk(400), *from = chunk(400);
        mix(to, from, number(n));
        touched(to, n ? 0 : -1, n * 4 - 1);
        touched(from, n ? 0 : -1, n * 3 - 1);
        for (int i = 0; i < n; i++) {
            a[i] = i * 7 % 13, b[i] = i * 5 % 11, index[i] = i * 3 % (n + 1);
        }
        result((uint64_t)clamp(a, b, number(n)));
        reverse(c, a, number(n));
        touched(c, n ? 0 : -1, n * 4 - 1);
        gather(c, b, index, number(n));
        result((uint64_t)(a[n] + b[n] + c[n / 2]));
    }
    int *which = chunk(400), *picked = chunk(400), *never = chunk(400);
    some(never, which, number(99));
    expect(never, 0, 0, -1, -1);
    which[21] = which[60] = which[62] = 3;
    nothing();
    some(picked, which, number(99));
    touched(picked, 84, 251);
    double *x = chunk(2048), *y = chunk(2048), *z = chunk(2048);
    matrix(z, x, y, number(15));
    touched(x, 0, 225 * 8 - 1);
    touched(y, 0, 225 * 8 - 1);
    touched(z, 0, 225 * 8 - 1);
    return 0;
}
