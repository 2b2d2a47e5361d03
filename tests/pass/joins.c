/* Ways that meet: what was told before, on one of them or on each, and what is told behind is told once. */
#include "fake.h"

#include <setjmp.h>
#include <signal.h>

#define NOINLINE __attribute__((noinline))

typedef struct {
    int flags, kind;
    long time, stamp;
    char text[16];
} item_t;

enum {
    KIND = offsetof(item_t, kind),
    TIME = offsetof(item_t, time),
    STAMP = offsetof(item_t, stamp),
    TEXT = offsetof(item_t, text),
    FAR = 40000, /* beyond what one check of a pointer stands for */
};

typedef struct node {
    struct node *next;
    int visits, seen;
} node_t;

static item_t *item(void)
{
    return chunk(sizeof(item_t));
}

/* One way is past the block between. */
NOINLINE static long past(item_t *it, int which)
{
    long sum = which;
    if (which & 1) {
        it->kind = 3;
        sum += it->flags;
    }
    return sum + it->time;
}

/* On each of the two ways another field, and then one more if asked for. */
NOINLINE static long each(item_t *it, int which)
{
    long sum;
    if (which & 1) {
        it->text[3] = 'x';
        sum = 1;
    } else {
        it->flags = 5;
        sum = it->kind;
    }
    if (which & 2) {
        sum += it->stamp;
    }
    return sum;
}

/* As a hash function takes the last bytes of a text. */
NOINLINE static uint32_t tail(const uint8_t *text, int length)
{
    uint32_t hash = 7;
    switch (length & 3) {
    case 3:
        hash ^= (uint32_t)text[2] << 16; /* fall through */
    case 2:
        hash ^= (uint32_t)text[1] << 8; /* fall through */
    case 1:
        hash = (hash ^ text[0]) * 31;
    }
    return hash;
}

/* As a cache looks whether an item is still good: ways meet, part and meet again. */
NOINLINE static int still_good(item_t *it, int verbose, long oldest, long now)
{
    it->flags++;
    if (verbose) {
        nothing();
    }
    long stamp = it->kind & 1 ? it->stamp : 0;
    if (oldest != 0 && oldest <= now) {
        if (it->time < oldest || (stamp != 0 && stamp < oldest)) {
            nothing();
            return 0;
        }
    }
    return it->text[0] == 'a' ? 2 : 1;
}

/* On one way the chunk is another by then, at the same place. */
NOINLINE static int another(item_t *it, int which)
{
    int flags = it->flags;
    if (which) {
        release(it);
        item_t *again = item();
        again->kind = 1;
        if (again != it) {
            return -1;
        }
    } else {
        it->stamp = 1;
    }
    return flags + (int)it->time;
}

/* What is released in between has had its own, before the ways meet or behind. */
NOINLINE static long released_before(item_t *it, int which)
{
    if (which) {
        it->kind = 3;
        release(it);
        result((uint64_t)(item() == it));
    }
    return it->time;
}

NOINLINE static long released_behind(item_t *it, int which)
{
    if (which) {
        it->kind = 3;
    }
    release(it);
    result((uint64_t)(item() == it));
    return it->time;
}

/* Told on the way into a loop, and not again with each turn. */
NOINLINE static long into_loop(item_t *it, int which, int turns)
{
    long sum = 0;
    if (which) {
        it->kind = 2;
    }
    do {
        sum += it->flags;
        nothing();
    } while (--turns > 0);
    return sum;
}

/* Ways out of a loop meet behind it. */
NOINLINE static long out_of_loop(item_t *it, int turns)
{
    for (int i = 0; i < turns; i++) {
        nothing();
        if (it->flags == i) {
            it->kind = i;
            break;
        }
        if (it->text[i] != 0) {
            break;
        }
    }
    return it->time;
}

/* Which chunk it is depends on the way. */
NOINLINE static long whose(item_t *it, item_t *other, int which)
{
    item_t *chosen;
    if (which) {
        it->kind = 1;
        chosen = it;
    } else {
        other->flags = 1;
        chosen = other;
    }
    nothing();
    return chosen->time;
}

/* Before the pointer, and far behind it. */
NOINLINE static int around(int *middle, int which)
{
    if (which & 1) {
        middle[-3] = 1;
    } else {
        middle[4] = 2;
    }
    if (which & 2) {
        return middle[FAR / sizeof *middle];
    }
    return middle[1];
}

/* As many ways as are told apart, one with a call and one with nothing. */
NOINLINE static int many(int *numbers, int which)
{
    int sum = 0;
    switch (which) {
    case 0:
        sum += numbers[1];
        break;
    case 1:
        numbers[2] = sum;
        break;
    case 2:
        sum ^= numbers[3];
        break;
    case 3:
        numbers[4] = sum + 1;
        break;
    case 4:
        sum += numbers[5] + numbers[9];
        break;
    case 5:
        nothing();
        break;
    case 6:
        numbers[7] += 7;
    }
    return sum + numbers[0];
}

/* Several edges of one switch lead to the same place. */
NOINLINE static long same_place(item_t *it, int which)
{
    switch (which) {
    case 0:
    case 5:
    case 9:
        break;
    case 1:
        it->kind = 2;
        break;
    default:
        nothing();
    }
    return it->time;
}

/* One block, which leads only to itself. */
NOINLINE static void walk(node_t *node, int which)
{
    if (which) {
        node->seen = which;
    }
    for (;;) {
        node->visits++;
        node = node->next;
    }
}

/* From 1 on: the pointer itself lies before the chunk. */
NOINLINE static int from_one(int *numbers)
{
    if (numbers[1] > 0) {
        return numbers[2];
    }
    nothing();
    return 0;
}

NOINLINE static int from_one_either(int *numbers, int which)
{
    if (which) {
        numbers[2] = which;
    }
    return numbers[1];
}

static sigjmp_buf nowhere;

static void no_node(int signal)
{
    (void)signal;
    siglongjmp(nowhere, 1);
}

/* Until there is no further node. */
static void walk_all(node_t *node, int which)
{
    signal(SIGSEGV, no_node);
    if (sigsetjmp(nowhere, 1) == 0) {
        walk(node, which);
    }
    signal(SIGSEGV, SIG_DFL);
}

/* Doubled with each part: the tree of ways has an end. */
NOINLINE static int doubled(int *n, int which)
{
    int sum = 0;
#define PART(i)                                                                                                        \
    if (which >> i & 1) {                                                                                              \
        sum += n[2 * i];                                                                                               \
    } else {                                                                                                           \
        n[2 * i + 1] = sum;                                                                                            \
    }                                                                                                                  \
    sum ^= n[40 + i];
    PART(0)
    PART(1)
    PART(2)
    PART(3)
    PART(4)
    PART(5)
    return sum;
}

static int bits(int which)
{
    return __builtin_popcount((unsigned)which & 63);
}

int main(void)
{
    int *first = chunk(12); /* nothing that the library has lies before it */
    result((uint64_t)from_one(first - 1));
    expect(first, 1, 0, 0, 3);
    ((volatile int *)first)[0] = 1;
    result((uint64_t)from_one(first - 1));
    expect(first, 3, 1, 0, 7);
    result((uint64_t)from_one_either(first - 1, number(3)));
    expect(first, 4, 2, 0, 7);
    for (int which = 0; which < 4; which++) {
        item_t *it = item();
        result((uint64_t)past(it, number(which)));
        expect(it, 1 + (which & 1), which & 1, which & 1 ? 0 : TIME, TIME + 7);
        it = item();
        result((uint64_t)each(it, number(which)));
        expect(it, !(which & 1) + (which >> 1), 1,
               which == 3   ? STAMP
               : which == 1 ? TEXT + 3
                            : 0,
               which == 1 || which == 3 ? TEXT + 3
               : which == 2             ? STAMP + 7
                                        : KIND + 3);
        uint8_t *text = chunk(3);
        result(tail(text, number(which)));
        expect(text, which, 0, which ? 0 : -1, which ? which - 1 : -1);
        it = item();
        result((uint64_t)into_loop(it, number(which & 1), number(3)));
        expect(it, 3, which & 1, 0, which & 1 ? KIND + 3 : 3);
        int *numbers = chunk(FAR + 100);
        result((uint64_t)around(numbers + 10, number(which)));
        expect(numbers, 1, 1, which & 1 ? 28 : which == 2 ? 56 : 44, which & 2 ? FAR + 43 : which & 1 ? 47 : 59);
    }
    for (int i = 0; i < 16; i++) {
        item_t *it = item();
        int cas = i >> 1 & 1, oldest = i >> 2 & 1, verbose = i & 1, young = i >> 3;
        ((volatile item_t *)it)->kind = cas;
        ((volatile item_t *)it)->time = young ? 9 : 1;
        result((uint64_t)still_good(it, number(verbose), number(oldest * 5), number(8)));
        int bad = oldest && !young;
        expect(it, 2 + cas + oldest + !bad, 3, 0, !bad ? TEXT : cas ? STAMP + 7 : TIME + 7);
    }
    for (int which = 0; which < 2; which++) {
        item_t *it = item();
        result((uint64_t)another(it, number(which)));
        expect(it, 2 - which, 1, which ? KIND : 0, which ? TIME + 7 : STAMP + 7);
        it = item();
        result((uint64_t)released_before(it, number(which)));
        expect(it, 1, 0, TIME, TIME + 7);
        it = item();
        result((uint64_t)released_behind(it, number(which)));
        expect(it, 1, 0, TIME, TIME + 7);
        it = item();
        item_t *other = item();
        result((uint64_t)whose(it, other, number(which)));
        expect(it, which, which, which ? KIND : -1, which ? TIME + 7 : -1);
        expect(other, !which, !which, which ? -1 : 0, which ? -1 : TIME + 7);
    }
    for (int which = 0; which < 10; which++) {
        item_t *it = item();
        result((uint64_t)same_place(it, number(which)));
        expect(it, 1, which == 1, which == 1 ? KIND : TIME, TIME + 7);
    }
    for (int which = 0; which < 2; which++) {
        node_t *nodes[3], *next = NULL;
        for (int i = 0; i < 3; i++) {
            nodes[i] = chunk(sizeof(node_t));
            ((volatile node_t *)nodes[i])->next = next;
            next = nodes[i];
        }
        walk_all(next, number(which));
        expect(nodes[0], 2, 2, 0, 11);
        expect(nodes[1], 2, 2, 0, 11);
        expect(nodes[2], 2, 2 + which, 0, which ? 15 : 11);
    }
    for (int flags = 0; flags < 5; flags++) {
        item_t *it = item();
        ((volatile item_t *)it)->flags = flags;
        result((uint64_t)out_of_loop(it, number(4)));
        int last = flags < 4 ? flags : 4;
        expect(it, 1 + 2 * last + (flags < 4), 1 + (flags < 4), 0, last ? TEXT + last - 1 : TIME + 7);
    }
    for (int which = 0; which < 64; which++) {
        int *numbers = chunk(200);
        result((uint64_t)many(numbers, number(which)));
        int write = which == 1 || which == 3 || which == 6;
        int read = (which == 0) + (which == 2) + (which == 6) + (which == 4) * 2;
        expect(numbers, 1 + read, write, 0, which == 4 ? 39 : which < 4 ? which * 4 + 7 : which == 6 ? 31 : 3);
        numbers = chunk(200);
        result((uint64_t)doubled(numbers, number(which)));
        expect(numbers, 6 + bits(which), 6 - bits(which), which & 1 ? 0 : 4, 183);
    }
    return 0;
}
