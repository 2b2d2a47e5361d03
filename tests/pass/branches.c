/* Branches: what is told before one and on a way behind it is told once, on whichever way. */
#include "fake.h"

#define NOINLINE __attribute__((noinline))

typedef struct item {
    struct item *next;
    long time;
    int flags, length;
    _Atomic int owners;
    char text[40];
} item_t;

enum { TEXT = offsetof(item_t, text) };

/* A chain of questions, each asked only if the one before was answered with yes. */
NOINLINE static int questions(item_t *it, long now)
{
    if (it->flags == 0) {
        return 1;
    }
    if (it->time > now) {
        return 2;
    }
    if (it->length > 7) {
        return 3;
    }
    it->text[3] = 'x';
    return 4;
}

/* Two ways lead to the end, one of them past the block between. */
NOINLINE static long around(item_t *it, long now)
{
    if (it->flags & 1) {
        it->time = now;
    }
    nothing();
    return now;
}

/* As a hash table's chain is searched. */
NOINLINE static item_t *search(item_t *it, int length, char letter)
{
    while (it) {
        if (it->length == length && it->text[0] == letter) {
            break;
        }
        it = it->next;
    }
    return it;
}

/* What is told behind the loop was read in its last turn. */
NOINLINE static long leaves_loop(item_t *it)
{
    int turns = 0;
    while (it->flags == 0) {
        it = it->next;
        nothing();
        turns++;
    }
    return it->time + turns;
}

NOINLINE static int goes_back(item_t *it, int times)
{
    int sum = 0;
    do {
        sum += it->flags;
        if (sum & 1) {
            it->length++;
        }
    } while (it->text[sum & 15]++ + sum < times);
    return sum;
}

/* On one way it is another chunk at the same place by then. */
NOINLINE static int freed_on_a_way(item_t *it, int which)
{
    if (it->flags == 0 && which) {
        release(it);
        item_t *again = chunk(sizeof *again);
        again->length = 5;
        return again == it;
    }
    it->length = 6;
    return 2;
}

/* The way on ends at once. */
NOINLINE static int called_first(item_t *it, int which)
{
    int flags = it->flags;
    if (which) {
        nothing();
        it->time = flags;
    } else {
        it->length = flags;
    }
    return flags;
}

/* What comes to stand in front of a compare-and-swap is not one. */
NOINLINE static int swapped(item_t *it, int which)
{
    int none = 0;
    if (it->flags == which) {
        __atomic_compare_exchange_n((int *)&it->owners, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return none;
    }
    it->length = 1;
    return 7;
}

/* Another base each: nothing is shared. */
NOINLINE static int others(item_t *it, item_t *other, int which)
{
    if (it->flags == which) {
        return other->length;
    }
    other->time = 3;
    return 0;
}

NOINLINE static int many_ways(item_t *it)
{
    switch (it->flags) {
    case 0:
        return it->length;
    case 1:
        it->time = 4;
        return 5;
    case 2:
        nothing();
        return 6;
    default:
        return it->text[1];
    }
}

static item_t *item(int flags, long time, int length)
{
    volatile item_t *it = chunk(sizeof *it);
    it->flags = flags;
    it->time = time;
    it->length = length;
    return (item_t *)it;
}

/* What making it told: three writes. */
static void check_from(int line, item_t *it, long reads, long writes, long high)
{
    expect_at(line, it, reads, 3 + writes, offsetof(item_t, time), high > 23 ? high : 23);
}
#define check(...) check_from(__LINE__, __VA_ARGS__)

int main(void)
{
    for (int round = 0; round < 5; round++) {
        item_t *it = item(0, 5, 3);
        result((uint64_t)questions(it, number(9)));
        check(it, 1, 0, 0);
        it = item(1, 50, 3);
        result((uint64_t)questions(it, number(9)));
        check(it, 2, 0, 0);
        it = item(1, 5, 8);
        result((uint64_t)questions(it, number(9)));
        check(it, 3, 0, 0);
        it = item(1, 5, 7);
        result((uint64_t)questions(it, number(9)));
        check(it, 3, 1, TEXT + 3);
    }
    for (int which = 0; which < 2; which++) {
        item_t *it = item(which, 5, 3);
        result((uint64_t)around(it, number(9)));
        check(it, 1, which, 0);
        it = item(0, 5, 3);
        result((uint64_t)freed_on_a_way(it, number(which)));
        if (!which) {
            check(it, 1, 1, 0);
        } else {
            expect(it, 0, 1, offsetof(item_t, length), 23);
        }
        it = item(4, 5, 3);
        result((uint64_t)called_first(it, number(which)));
        check(it, 1, 1, 0);
        it = item(1, 5, 3);
        result((uint64_t)swapped(it, number(which)));
        check(it, 1 + which, 1, which ? offsetof(item_t, owners) + 3 : 0);
        it = item(1, 5, 3);
        item_t *other = item(1, 5, 3);
        result((uint64_t)others(it, other, number(which)));
        check(it, 1, 0, 0);
        check(other, which, !which, 0);
    }
    item_t *items[8], *last = NULL;
    for (int i = 0; i < 8; i++) {
        items[i] = item(i == 1, i, i & 3);
        items[i]->text[0] = (char)('a' + i);
        nothing();
        items[i]->next = last;
        nothing();
        last = items[i];
    }
    result(search(last, number(2), 'c') == items[2]);
    expect(items[7], 2, 5, 0, TEXT);
    expect(items[6], 3, 5, 0, TEXT);
    expect(items[2], 2, 5, 0, TEXT);
    expect(items[1], 0, 5, 0, TEXT);
    result((uint64_t)leaves_loop(last));
    expect(items[7], 4, 5, 0, TEXT);
    expect(items[1], 2, 5, 0, TEXT);
    item_t *it = item(1, 0, 0);
    result((uint64_t)goes_back(it, number(20)));
    touched(it, 8, TEXT + 15);
    for (int flags = 0; flags < 4; flags++) {
        it = item(flags, 0, 0);
        result((uint64_t)many_ways(it));
        check(it, 1 + (flags == 0 || flags == 3), flags == 1, flags == 3 ? TEXT + 1 : 0);
    }
    return 0;
}
