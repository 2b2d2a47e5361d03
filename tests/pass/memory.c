/* Memory functions: counted once, by the wrapped call or by the pass, whatever the code generator makes of them. */
#include "fake.h"

#include <string.h>

#define NOINLINE __attribute__((noinline))

typedef struct small {
    int a[5];
} small_t;
typedef struct middle {
    char a[100];
} middle_t;
typedef struct big {
    char a[1000];
} big_t;

static int sign(int difference)
{
    return (difference > 0) - (difference < 0);
}

/* With external linkage, so that they stay what they are. */
#define COPIES(type)                                                                                                   \
    NOINLINE void copy_##type(type *to, const type *from)                                                              \
    {                                                                                                                  \
        *to = *from;                                                                                                   \
    }                                                                                                                  \
    NOINLINE int pass_##type(type by_value)                                                                            \
    {                                                                                                                  \
        return *(char *)&by_value + 1;                                                                                 \
    }
COPIES(small_t)
COPIES(middle_t)
COPIES(big_t)

#define CONSTANT(n)                                                                                                    \
    NOINLINE void copy_##n(void *to, const void *from)                                                                 \
    {                                                                                                                  \
        memcpy(to, from, n);                                                                                           \
    }                                                                                                                  \
    NOINLINE void move_##n(void *to, const void *from)                                                                 \
    {                                                                                                                  \
        memmove(to, from, n);                                                                                          \
    }                                                                                                                  \
    NOINLINE void set_##n(void *to, int value)                                                                         \
    {                                                                                                                  \
        memset(to, value, n);                                                                                          \
    }                                                                                                                  \
    NOINLINE int compare_##n(const void *a, const void *b)                                                             \
    {                                                                                                                  \
        return sign(memcmp(a, b, n));                                                                                  \
    }                                                                                                                  \
    NOINLINE int equal_##n(const void *a, const void *b)                                                               \
    {                                                                                                                  \
        return memcmp(a, b, n) == 0;                                                                                   \
    }                                                                                                                  \
    static void all_##n(void)                                                                                          \
    {                                                                                                                  \
        unsigned char *to = chunk(n + 10), *from = chunk(n + 10);                                                      \
        for (int i = 0; i < n + 10; i++) {                                                                             \
            ((volatile unsigned char *)from)[i] = (unsigned char)(i * 7 + n);                                          \
        }                                                                                                              \
        copy_##n(to + 1, from + 2);                                                                                    \
        expect(to, 0, 1, 1, n);                                                                                        \
        move_##n(to + 1, from + 2);                                                                                    \
        expect(to, 0, 2, 1, n);                                                                                        \
        result((uint64_t)compare_##n(to + 1, from + 2));                                                               \
        result((uint64_t)equal_##n(to + 1, from + 2));                                                                 \
        expect(to, 2, 2, 1, n);                                                                                        \
        move_##n(from + 1, from + 4);                                                                                  \
        move_##n(from + 7, from + 3);                                                                                  \
        expect(from, 6, n + 12, 0, n + 9);                                                                             \
        result((uint64_t)compare_##n(to + 1, from + 2));                                                               \
        unsigned char *filled = chunk(n + 10);                                                                         \
        set_##n(filled + 3, number(77));                                                                               \
        set_##n(filled + 3, 0);                                                                                        \
        set_##n(filled + 4, number(99));                                                                               \
        expect(filled, 0, 3, 3, n + 3);                                                                                \
        for (int i = 0; i < n + 10; i++) {                                                                             \
            result(((volatile unsigned char *)filled)[i]);                                                             \
            result(((volatile unsigned char *)from)[i]);                                                               \
            result(((volatile unsigned char *)to)[i]);                                                                 \
        }                                                                                                              \
    }
CONSTANT(1)
CONSTANT(2)
CONSTANT(3)
CONSTANT(7)
CONSTANT(8)
CONSTANT(12)
CONSTANT(16)
CONSTANT(31)
CONSTANT(48)
CONSTANT(127)
CONSTANT(128)
CONSTANT(129)
CONSTANT(300)

NOINLINE void variable(char *to, char *from, size_t n)
{
    memcpy(to, from, n);
    memmove(to + 1, to, n);
    memset(from, 3, n);
}

/* Becomes a memset, or not. */
NOINLINE void clear(int *p, long n)
{
    for (long i = 0; i < n; i++) {
        p[i] = 0;
    }
}

NOINLINE void copy_loop(int *restrict to, const int *restrict from, long n)
{
    for (long i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

NOINLINE void local(small_t *to)
{
    small_t here;
    memset(&here, number(1), sizeof here);
    *to = here;
    same(&here);
}

/* A structure cleared, then written: merged with what follows. */
NOINLINE void begin(middle_t *m)
{
    memset(m, 0, 48);
    m->a[60] = 1;
    m->a[3] = 2;
}

int main(void)
{
    small_t *s = chunk(sizeof *s), *t = chunk(sizeof *t);
    middle_t *m = chunk(sizeof *m), *n = chunk(sizeof *n);
    big_t *b = chunk(sizeof *b), *c = chunk(sizeof *c);
    copy_small_t(s, t), copy_middle_t(m, n), copy_big_t(b, c);
    expect(s, 0, 1, 0, sizeof *s - 1), expect(t, 1, 0, 0, sizeof *s - 1);
    expect(m, 0, 1, 0, 99), expect(n, 1, 0, 0, 99);
    expect(b, 0, 1, 0, 999), expect(c, 1, 0, 0, 999);
    result((uint64_t)(pass_small_t(*t) + pass_middle_t(*n) + pass_big_t(*c)));
    touched(c, 0, 999);
    all_1(), all_2(), all_3(), all_7(), all_8(), all_12(), all_16(), all_31(), all_48(), all_127(), all_128();
    all_129(), all_300();
    for (int size = 0; size < 200; size += 67) {
        char *to = chunk(201), *from = chunk(200);
        variable(to, from, (size_t)number(size));
        expect(to, size > 0, 2 * (size > 0), size ? 0 : -1, size ? size : -1);
        expect(from, size > 0, size > 0, size ? 0 : -1, size - 1);
    }
    int *z = chunk(400), *y = chunk(400);
    clear(z, number(0));
    copy_loop(z, y, number(0));
    expect(z, 0, 0, -1, -1);
    clear(z + 2, number(50));
    touched(z, 8, 207);
    copy_loop(z, y + 1, number(90));
    touched(z, 0, 359);
    touched(y, 4, 363);
    local(t);
    expect(t, 2, 1, 0, sizeof *t - 1);
    middle_t *begun = chunk(sizeof *begun);
    begin(begun);
    expect(begun, 0, 3, 0, 60);
    char *text = chunk(32);
    memcpy(text, "a text of some length", 22);
    nothing();
    result(strlen(same(text)));
    expect(text, 1, 1, 0, 21);
    return 0;
}
