/* Windows: what is merged is what is surely executed together, in the life of one chunk. */
#include "fake.h"

#define NOINLINE __attribute__((noinline))

typedef struct node {
    int a, b;
    long c;
    struct node *next;
    char text[40];
} node_t;

NOINLINE static int fields(node_t *n)
{
    n->a = 1;
    n->c += 2;
    n->text[39] = 'x';
    return n->b;
}

NOINLINE static int freed_between(node_t *n)
{
    n->a = 1;
    n->b = 2;
    release(n);
    node_t *again = chunk(sizeof(node_t));
    again->c = 3;
    again->text[0] = 4;
    return again == n;
}

/* The same pointer value by the optimiser's knowledge, another chunk. */
NOINLINE static void freed_same(node_t *n)
{
    n->a = 1;
    release(n);
    node_t *again = chunk(sizeof(node_t));
    if (again == n) {
        n->text[3] = 4;
    }
}

NOINLINE static int aliasing(node_t *n, node_t *m)
{
    n->a = 5;
    m->a = 6;
    n->b = n->a;
    m->b = m->a;
    return n->b;
}

NOINLINE static int diamond(node_t *n, int which)
{
    int r = n->a;
    if (which) {
        r += n->b;
    } else {
        r ^= (int)n->c;
    }
    n->text[7] = (char)r;
    return r;
}

NOINLINE static int diamond_call(node_t *n, int which)
{
    int r = n->a;
    if (which) {
        nothing();
    }
    n->text[7] = (char)r;
    return r;
}

NOINLINE static int diamond_leaves(node_t *n, int which)
{
    int r = n->a;
    if (which) {
        return r;
    }
    n->text[7] = (char)r;
    return r;
}

NOINLINE static int cases(node_t *n, int which)
{
    n->a++;
    switch (which) {
    case 0:
        n->b++;
        /* fall through */
    case 1:
        n->c++;
        break;
    case 2:
        return n->text[1];
    case 7:
        nothing();
        n->text[2]++;
        break;
    default:
        n->text[3]++;
    }
    n->text[4]++;
    return n->a;
}

NOINLINE static int jumps(node_t *n, int times)
{
    int i = 0;
again:
    n->a += i;
    if (i++ < times) {
        if (i & 1) {
            goto again;
        }
        n->b++;
        goto again;
    }
    n->c++;
    return i;
}

NOINLINE static int recursion(node_t *n, int depth)
{
    n->a++;
    int r = depth ? recursion(n->next, depth - 1) : 0;
    n->b = r + 1;
    return n->b;
}

NOINLINE static void index_unknown(int (*p)[4], long i, long j)
{
    p[i][0] = 1;
    p[i][3] = 2;
    p[j][1] = p[i][2];
    p[i + 1][0] = 3;
}

NOINLINE static void far(char *p)
{
    p[0] = 1;
    p[(1 << 20) + 5] = 2;
    p[3] = 4;
}

NOINLINE static void volatiles(volatile node_t *n)
{
    n->a;
    n->a;
    n->b = 1;
    n->b = 2;
    n->c++;
}

NOINLINE static void assembly(node_t *n)
{
    n->a = 1;
    __asm__ volatile("" ::: "memory");
    n->a = 2;
    __asm__ volatile("" ::: "memory");
    n->a = 3;
}

int main(void)
{
    node_t *n = chunk(sizeof *n), *m = chunk(sizeof *m);
    result((uint64_t)fields(n));
    expect(n, 2, 3, 0, (long)offsetof(node_t, text) + 39);
    node_t *f = chunk(sizeof *f);
    result((uint64_t)freed_between(f));
    touched(f, 8, (long)offsetof(node_t, text));
    freed_same(m);
    touched(m, (long)offsetof(node_t, text) + 3, (long)offsetof(node_t, text) + 3);
    m = chunk(sizeof *m);
    node_t *o = chunk(sizeof *o);
    result((uint64_t)aliasing(m, same(m)));
    result((uint64_t)aliasing(m, o));
    touched(m, 0, 7);
    touched(o, 0, 7);
    for (int which = 0; which < 2; which++) {
        node_t *d = chunk(sizeof *d), *e = chunk(sizeof *e), *g = chunk(sizeof *g);
        result((uint64_t)diamond(d, number(which)));
        expect(d, 2, 1, 0, (long)offsetof(node_t, text) + 7);
        result((uint64_t)diamond_call(e, number(which)));
        expect(e, 1, 1, 0, (long)offsetof(node_t, text) + 7);
        result((uint64_t)diamond_leaves(g, number(which)));
        expect(g, 1, !which, 0, which ? 3 : (long)offsetof(node_t, text) + 7);
    }
    for (int which = 0; which < 9; which++) {
        node_t *c = chunk(sizeof *c);
        result((uint64_t)cases(c, number(which)));
        touched(c, 0, (long)offsetof(node_t, text) + (which == 2 ? 1 : 4));
    }
    node_t *j = chunk(sizeof *j);
    result((uint64_t)jumps(j, number(9)));
    touched(j, 0, 15);
    node_t *first = chunk(sizeof *first), *second = chunk(sizeof *second), *third = chunk(sizeof *third);
    first->next = second, second->next = third, third->next = first;
    nothing();
    result((uint64_t)recursion(first, number(10)));
    touched(third, 0, 23);
    int(*p)[4] = chunk(64);
    index_unknown(p, number(1), number(1));
    touched(p, 16, 35);
    index_unknown(p, number(2), number(0));
    touched(p, 4, 51);
    char *wide = chunk((1 << 20) + 6);
    far(wide);
    expect(wide, 0, 3, 0, (1 << 20) + 5);
    node_t *v = chunk(sizeof *v);
    volatiles(v);
    expect(v, 3, 3, 0, 15);
    node_t *a = chunk(sizeof *a);
    assembly(a);
    expect(a, 0, 3, 0, 3);
    return 0;
}
