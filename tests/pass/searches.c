/* Loops that are left before it is known how often they turn: what was looked at, up to the place where they were left. */
#include "fake.h"

#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

/* Left behind the read, or in front of it. */
NOINLINE static long find(const char *text, long n, char what)
{
    for (long i = 0; i < n; i++) {
        if (text[i] == what) {
            return i;
        }
    }
    return -1;
}

NOINLINE static long common(const char *a, const char *b, long n)
{
    long i = 0;
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

NOINLINE static long until(const short *p, const short *stop)
{
    long i = 0;
    for (;; i++) {
        if (p + i == stop) {
            break;
        }
        if (p[i] < 0) {
            break;
        }
    }
    return i;
}

/* Through a list there are no equal steps. */
struct node {
    struct node *next;
    int key;
};

NOINLINE static const struct node *walk(const struct node *node, int key)
{
    while (node && node->key != key) {
        node = node->next;
    }
    return node;
}

/* What a turn writes after it is known that it is not the last. */
NOINLINE static int copy_until(char *to, const char *from, char stop, int n)
{
    int i = 0;
    for (; i < n; i++) {
        if (from[i] == stop) {
            break;
        }
        to[i] = from[i];
    }
    return i;
}

NOINLINE static int *last_below(int *p, int n, int limit)
{
    for (int i = n - 1; i >= 0; i--) {
        if (p[i * 2] < limit) {
            return &p[i * 2];
        }
    }
    return NULL;
}

/* The same place again and again, and more exits than one, to one block and to several. */
NOINLINE static int several(const int *p, int *state, int n)
{
    int i = 0;
    do {
        if (p[i] == 1) {
            return 100;
        }
        if (p[i] == 2) {
            goto out;
        }
        *state += p[i];
        if (*state > 50) {
            goto out;
        }
    } while (++i < n);
    return 200 + i;
out:
    return i;
}

NOINLINE static int tokens(char *text, int length, int *starts, int most)
{
    char *start = text;
    char *end = text;
    int n = 0;
    for (int i = 0; i < length; i++) {
        if (*end == ' ') {
            if (start != end) {
                starts[n++] = (int)(start - text);
                *end = 0;
                if (n == most) {
                    break;
                }
            }
            start = end + 1;
        }
        end++;
    }
    return n;
}

/* A loop in a loop: the inner one ends anew each time. */
NOINLINE static int lines(const char *text, int *lengths)
{
    int n = 0;
    while (*text) {
        const char *start = text;
        while (*text != '\n') {
            text++;
        }
        lengths[n++] = (int)(text - start);
        text++;
    }
    return n;
}

/* What comes behind is a compare-and-swap that fails: that is nothing of the loop's. */
NOINLINE static int then_swap(const char *text, int *state)
{
    int i = 0;
    while (text[i] != ' ') {
        i++;
    }
    int expected = 77;
    return i + __atomic_compare_exchange_n(state, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void put(char *to, const char *text)
{
    for (; *text; text++) {
        *(volatile char *)to++ = *text;
    }
}

int main(void)
{
    char *text = chunk(64);
    put(text, "some text with blanks");
    result((uint64_t)find(text, 21, ' '));
    expect(text, 5, 21, 0, 20);
    result((uint64_t)find(text, 21, '#'));
    expect(text, 26, 21, 0, 20);
    result((uint64_t)find(text, number(0), 's'));
    expect(text, 26, 21, 0, 20);
    result((uint64_t)find(text + 30, 20, 0));
    expect(text, 27, 21, 0, 30);

    char *other = chunk(64);
    put(other, "some texts");
    result((uint64_t)common(text, other, 21));
    touched(other, 0, 9);
    expect(other, 10, 10, 0, 9);
    expect(text, 37, 21, 0, 30);
    result((uint64_t)common(text, other, number(0)));
    result((uint64_t)common(text, other, 4));
    expect(other, 14, 10, 0, 9);

    short *shorts = chunk(40);
    ((volatile short *)shorts)[7] = -1;
    result((uint64_t)until(shorts, shorts + 5));
    expect(shorts, 5, 1, 0, 15);
    result((uint64_t)until(shorts, shorts));
    expect(shorts, 5, 1, 0, 15);
    result((uint64_t)until(shorts + 2, shorts + 20));
    expect(shorts, 11, 1, 0, 15);

    struct node *nodes = chunk(8 * sizeof *nodes);
    for (int i = 0; i < 8; i++) {
        ((volatile struct node *)nodes)[i].next = i < 7 ? &nodes[i + 1] : NULL;
        ((volatile struct node *)nodes)[i].key = i;
    }
    result((uint64_t)(walk(nodes, 5) - nodes));
    expect(nodes, 11, 16, 0, 7 * (long)sizeof *nodes + 11);
    result(walk(nodes, 99) == NULL);
    expect(nodes, 27, 16, 0, 7 * (long)sizeof *nodes + 11);

    char *to = chunk(64);
    result((uint64_t)copy_until(to, text, ' ', 21));
    expect(to, 0, 4, 0, 3);
    result((uint64_t)copy_until(to + 40, text, 's', 21));
    expect(to, 0, 4, 0, 3);
    result((uint64_t)copy_until(to + 10, text + 1, '#', 6));
    expect(to, 0, 10, 0, 15);

    int *ints = chunk(80);
    ((volatile int *)ints)[4] = -7;
    result((uint64_t)(last_below(ints, 10, -1) - ints));
    expect(ints, 8, 1, 16, 75);
    result(last_below(ints, 10, -100) == NULL);
    expect(ints, 18, 1, 0, 75);
    result(last_below(ints, number(0), 100) == NULL);
    expect(ints, 18, 1, 0, 75);

    int *state = chunk(16);
    int *values = chunk(80);
    for (int i = 0; i < 20; i++) {
        ((volatile int *)values)[i] = 3;
    }
    result((uint64_t)several(values, state, 10)); /* all of its turns */
    result((uint64_t)several(values, state, 20)); /* to more than 50 */
    ((volatile int *)values)[3] = 2;
    *(volatile int *)state = 0;
    result((uint64_t)several(values, state, 20));
    ((volatile int *)values)[2] = 1;
    result((uint64_t)several(values, state, 20));

    char *blank = chunk(16);
    put(blank, "seven77 ");
    int *word = chunk(4);
    result((uint64_t)then_swap(blank, word));
    expect(blank, 8, 8, 0, 7);
    expect(word, 1, 0, 0, 3);

    char *line = chunk(64);
    int *starts = chunk(64);
    put(line, "get  key:1 key:2 key:3  ");
    result((uint64_t)tokens(line, 24, starts, 8));
    expect(line, 24, 28, 0, 23);
    put(line, "get  key:1 key:2 key:3  ");
    result((uint64_t)tokens(line, 24, starts, 2));
    expect(line, 24 + 11, 28 + 26, 0, 23);

    char *page = chunk(64);
    put(page, "a\nbb\n\nccc\n");
    result((uint64_t)lines(page, starts));
    return 0;
}
