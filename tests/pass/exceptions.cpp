// flags: -std=c++17
// Exceptions and objects: what was not executed since something was thrown is not counted.
#include "fake.h"

#include <new>

#define NOINLINE __attribute__((noinline))

struct Thrown {
    int value;
};

NOINLINE static void may_throw(int n)
{
    if (n == 3) {
        throw Thrown{n};
    }
}

NOINLINE static void plain_call(long *p, int n)
{
    p[0] = 1;
    may_throw(n);
    p[1] = 2;
    p[3] = 3;
}

NOINLINE static long caught(long *p, int n)
{
    p[0]++;
    try {
        p[1]++;
        may_throw(n);
        p[2]++;
    } catch (const Thrown &thrown) {
        p[5] = thrown.value;
    }
    p[3]++;
    return p[3];
}

struct Guard {
    long *p;
    ~Guard()
    {
        p[7]++;
    }
};

NOINLINE static void guarded(long *p, int n)
{
    Guard guard{p};
    p[1] = 1;
    may_throw(n);
    p[2] = 2;
}

NOINLINE static void in_loop(long *p, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = i;
        may_throw(i);
    }
}

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
    int a = 1, b = 2;
};
struct Square : Shape {
    int area() const override
    {
        return a * a;
    }
};
struct Oblong : Shape {
    int area() const override
    {
        return a * b;
    }
};

NOINLINE static int areas(Shape **shapes, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += shapes[i]->area();
    }
    return total;
}

int main()
{
    for (int n = 2; n < 4; n++) {
        long *p = static_cast<long *>(chunk(64)), *q = static_cast<long *>(chunk(64));
        long *r = static_cast<long *>(chunk(64)), *s = static_cast<long *>(chunk(64));
        try {
            plain_call(p, number(n));
        } catch (const Thrown &) {
        }
        expect(p, 0, n == 3 ? 1 : 3, 0, n == 3 ? 7 : 31);
        result(uint64_t(caught(q, number(n))));
        touched(q, 0, n == 3 ? 47 : 31);
        try {
            guarded(r, number(n));
        } catch (const Thrown &) {
        }
        expect(r, 1, n == 3 ? 2 : 3, 8, 63);
        try {
            in_loop(s, number(n * 2));
        } catch (const Thrown &) {
        }
        touched(s, 0, 31);
    }
    Shape *shapes[4];
    for (int i = 0; i < 4; i++) {
        void *room = chunk(sizeof(Square));
        shapes[i] = i & 1 ? static_cast<Shape *>(new (room) Square) : new (room) Oblong;
    }
    result(uint64_t(areas(shapes, number(4))));
    for (int i = 0; i < 4; i++) {
        touched(shapes[i], 0, 15);
    }
    return 0;
}
