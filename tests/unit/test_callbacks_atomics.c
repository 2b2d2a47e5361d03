/* The atomic operations of instrumented code: that they do what they replace, in every order and width, that each is noted
 * for what it is, and that orders hold between threads. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

#include <pthread.h>
#include <sched.h>

__extension__ typedef unsigned __int128 wide_t;

#define DECLARE(bits, type)                                                                                            \
    type __tsan_atomic##bits##_load(const volatile type *address, int order);                                          \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order);                                   \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order);                                \
    type __tsan_atomic##bits##_fetch_add(volatile type *address, type value, int order);                               \
    type __tsan_atomic##bits##_fetch_sub(volatile type *address, type value, int order);                               \
    type __tsan_atomic##bits##_fetch_and(volatile type *address, type value, int order);                               \
    type __tsan_atomic##bits##_fetch_or(volatile type *address, type value, int order);                                \
    type __tsan_atomic##bits##_fetch_xor(volatile type *address, type value, int order);                               \
    type __tsan_atomic##bits##_fetch_nand(volatile type *address, type value, int order);                              \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *address, type *expected, type value, int order,   \
                                                      int failure);                                                    \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *address, type *expected, type value, int order,     \
                                                    int failure);                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected, type value, int order,      \
                                                    int failure);
DECLARE(8, uint8_t)
DECLARE(16, uint16_t)
DECLARE(32, uint32_t)
DECLARE(64, uint64_t)
DECLARE(128, wide_t)
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

/* With hardware lock elision, as GCC may ask for on x86-64: a hint, to be ignored. */
enum { ELIDED = __ATOMIC_ACQUIRE | 1 << 16 };
static const int orders[] = {
    __ATOMIC_RELAXED, __ATOMIC_CONSUME, __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL, __ATOMIC_SEQ_CST, ELIDED};
enum { ORDERS = sizeof orders / sizeof orders[0] };

enum { AT = 64, EXPECTED_AT = 256 };

/* The two bytes of each width, all of them distinct, so that a lost half is seen. */
#define OLD(type) ((type)((((wide_t)0x8796a5b4c3d2e1f0ull) << 64) | 0xf1e2d3c4b5a69788ull))
#define OTHER(type) ((type)((((wide_t)0x1122334455667788ull) << 64) | 0x99aabbccddeeff5dull))

#define CHECK_FETCH(bits, type, name, result)                                                                          \
    *place = OLD(type);                                                                                                \
    watch();                                                                                                           \
    old = __tsan_atomic##bits##_##name(place, OTHER(type), orders[o]);                                                 \
    expect(RW(AT, sizeof(type)));                                                                                      \
    assert_true(old == OLD(type));                                                                                     \
    assert_true(*place == (type)(result));

#define CHECK_CAS(bits, type, name)                                                                                    \
    *place = OLD(type);                                                                                                \
    *expected = OLD(type);                                                                                             \
    watch();                                                                                                           \
    done = __tsan_atomic##bits##_##name(place, expected, OTHER(type), orders[o], orders[f]);                           \
    expect(RW(AT, sizeof(type)), R(EXPECTED_AT, sizeof(type)));                                                        \
    assert_int_equal(done, 1);                                                                                         \
    assert_true(*place == OTHER(type) && *expected == OLD(type));                                                      \
    watch();                                                                                                           \
    done = __tsan_atomic##bits##_##name(place, expected, 5, orders[o], orders[f]);                                     \
    expect(R(AT, sizeof(type)), RW(EXPECTED_AT, sizeof(type)));                                                        \
    assert_int_equal(done, 0);                                                                                         \
    assert_true(*place == OTHER(type) && *expected == OTHER(type));

#define DEFINE(bits, type)                                                                                             \
    static void operations_##bits(void **state)                                                                        \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        volatile type *place = (volatile type *)(void *)(range + AT);                                                  \
        type old;                                                                                                      \
        memset(range, 0x5a, 2 * AT);                                                                                   \
        for (size_t o = 0; o < ORDERS; o++) {                                                                          \
            watch();                                                                                                   \
            __tsan_atomic##bits##_store(place, OLD(type), orders[o]);                                                  \
            old = __tsan_atomic##bits##_load(place, orders[o]);                                                        \
            expect(W(AT, sizeof(type)), R(AT, sizeof(type)));                                                          \
            assert_true(old == OLD(type) && *place == OLD(type));                                                      \
            CHECK_FETCH(bits, type, exchange, OTHER(type))                                                             \
            CHECK_FETCH(bits, type, fetch_add, OLD(type) + OTHER(type))                                                \
            CHECK_FETCH(bits, type, fetch_sub, OLD(type) - OTHER(type))                                                \
            CHECK_FETCH(bits, type, fetch_and, OLD(type) & OTHER(type))                                                \
            CHECK_FETCH(bits, type, fetch_or, OLD(type) | OTHER(type))                                                 \
            CHECK_FETCH(bits, type, fetch_xor, OLD(type) ^ OTHER(type))                                                \
            CHECK_FETCH(bits, type, fetch_nand, ~(OLD(type) & OTHER(type)))                                            \
        }                                                                                                              \
        for (size_t i = 0; i < 2 * AT; i++) { /* and nothing beside it */                                              \
            assert_true((i >= AT && i < AT + sizeof(type)) || range[i] == 0x5a);                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void comparisons_##bits(void **state)                                                                       \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        volatile type *place = (volatile type *)(void *)(range + AT);                                                  \
        type *expected = (type *)(void *)(range + EXPECTED_AT);                                                        \
        int done;                                                                                                      \
        for (size_t o = 0; o < ORDERS; o++) {                                                                          \
            for (size_t f = 0; f < ORDERS; f++) {                                                                      \
                CHECK_CAS(bits, type, compare_exchange_strong)                                                         \
                CHECK_CAS(bits, type, compare_exchange_weak)                                                           \
                *place = OLD(type);                                                                                    \
                watch();                                                                                               \
                type old =                                                                                             \
                    __tsan_atomic##bits##_compare_exchange_val(place, OLD(type), OTHER(type), orders[o], orders[f]);   \
                expect(RW(AT, sizeof(type)));                                                                          \
                assert_true(old == OLD(type) && *place == OTHER(type));                                                \
                watch();                                                                                               \
                old = __tsan_atomic##bits##_compare_exchange_val(place, OLD(type), 5, orders[o], orders[f]);           \
                expect(R(AT, sizeof(type)));                                                                           \
                assert_true(old == OTHER(type) && *place == OTHER(type));                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE(8, uint8_t)
DEFINE(16, uint16_t)
DEFINE(32, uint32_t)
DEFINE(64, uint64_t)
DEFINE(128, wide_t)

/* Half of 16 bytes that differs is a difference. */
static void halves_are_compared(void **state)
{
    (void)state;
    volatile wide_t *place = (volatile wide_t *)(void *)(range + AT);
    for (unsigned shift = 0; shift < 128; shift++) {
        wide_t expected = OLD(wide_t) ^ (wide_t)1 << shift;
        *place = OLD(wide_t);
        assert_int_equal(
            __tsan_atomic128_compare_exchange_strong(place, &expected, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST), 0);
        assert_true(*place == OLD(wide_t) && expected == OLD(wide_t));
    }
}

static void fences_touch_nothing(void **state)
{
    (void)state;
    watch();
    for (size_t o = 0; o < ORDERS; o++) {
        __tsan_atomic_thread_fence(orders[o]);
        __tsan_atomic_signal_fence(orders[o]);
    }
    expect_nothing();
}

/* Two threads. */
enum { ROUNDS = 100000 };
static struct {
    _Alignas(128) volatile uint32_t first;
    _Alignas(128) volatile uint32_t second;
    _Alignas(128) uint32_t seen[2];
    _Alignas(128) volatile uint32_t arrived;
} shared;

static void in_two_threads(void *(*one)(void *), void *(*other)(void *))
{
    pthread_t threads[2];
    memset(&shared, 0, sizeof shared);
    must(pthread_create(&threads[0], NULL, one, NULL) == 0);
    must(pthread_create(&threads[1], NULL, other, NULL) == 0);
    must(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
}

/* Who comes the n-th time waits for the other one to do so; which may not be running, on a busy machine. */
static void meet(uint32_t n)
{
    enum { PATIENCE = 2000 };
    __tsan_atomic32_fetch_add(&shared.arrived, 1, __ATOMIC_ACQ_REL);
    for (int turn = 0; __tsan_atomic32_load(&shared.arrived, __ATOMIC_ACQUIRE) < 2 * n; turn++) {
        if (turn > PATIENCE) {
            sched_yield();
        }
    }
}

/* Message passing: a plain store before a release is there for who acquires it. Many messages at a time, whose parts lie in
 * different cache lines, with nothing between them that would put them in order anyway. */
enum { MESSAGES = 2048, MAILS = 400 };
static struct {
    _Alignas(128) volatile uint32_t payload;
    _Alignas(64) volatile uint32_t flag;
} messages[MESSAGES];

static int publish_order;
static int consume_order;

/* The payload of a message is another one's neighbour. */
static size_t payload_of(size_t message)
{
    return message * 1021 % MESSAGES;
}

static void *send_messages(void *unused)
{
    for (uint32_t mail = 1; mail <= MAILS; mail++) {
        meet(mail);
        for (size_t i = 0; i < MESSAGES; i++) {
            messages[payload_of(i)].payload = mail;
            __tsan_atomic32_store(&messages[i].flag, mail, publish_order);
        }
    }
    return unused;
}

static void *receive_messages(void *unused)
{
    for (uint32_t mail = 1; mail <= MAILS; mail++) {
        meet(mail);
        for (size_t i = 0; i < MESSAGES; i++) {
            uint32_t flag = __tsan_atomic32_load(&messages[i].flag, consume_order);
            uint32_t payload = messages[payload_of(i)].payload;
            must(flag != mail || payload >= mail);
        }
    }
    return unused;
}

static void messages_arrive_with_their_payload(void **state)
{
    (void)state;
    publish_order = __ATOMIC_RELEASE;
    consume_order = __ATOMIC_ACQUIRE;
    in_two_threads(send_messages, receive_messages);
    memset(messages, 0, sizeof messages);
    publish_order = consume_order = __ATOMIC_SEQ_CST;
    in_two_threads(send_messages, receive_messages);
}

/* Store buffering: each says it is there and then looks for the other; with a full barrier, at least one sees the other.
 * GCC makes such calls of __sync_* builtins, which promise one, and looking is a plain load. */
static uint32_t (*raise_flag)(volatile uint32_t *flag);

static uint32_t by_exchange(volatile uint32_t *flag)
{
    return __tsan_atomic32_exchange(flag, 1, __ATOMIC_SEQ_CST);
}

static uint32_t by_adding(volatile uint32_t *flag)
{
    return __tsan_atomic32_fetch_add(flag, 1, __ATOMIC_SEQ_CST);
}

static uint32_t by_comparing(volatile uint32_t *flag)
{
    return __tsan_atomic32_compare_exchange_val(flag, 0, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void *look_at_second(void *unused)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        meet(3 * round - 2);
        raise_flag(&shared.first);
        shared.seen[0] = shared.second;
        meet(3 * round - 1);
        must(shared.seen[0] == 1 || shared.seen[1] == 1);
        meet(3 * round);
        shared.first = 0;
    }
    return unused;
}

static void *look_at_first(void *unused)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        meet(3 * round - 2);
        raise_flag(&shared.second);
        shared.seen[1] = shared.first;
        meet(3 * round - 1);
        meet(3 * round);
        shared.second = 0;
    }
    return unused;
}

static void one_of_two_sees_the_other(void **state)
{
    (void)state;
    uint32_t (*ways[])(volatile uint32_t *) = {by_exchange, by_adding, by_comparing};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        raise_flag = ways[i];
        in_two_threads(look_at_second, look_at_first);
    }
}

/* 16 bytes whose halves belong together, changed by several threads in all ways at once, and never seen in two parts. */
enum { WIDE_THREADS = 4, WIDE_ROUNDS = 50000 };
static _Alignas(16) volatile wide_t pair;
static _Alignas(16) volatile wide_t sum;

static wide_t pair_of(uint64_t value)
{
    return (wide_t)~value << 64 | value;
}

static bool is_pair(wide_t value)
{
    return value == pair_of((uint64_t)value);
}

static void *contend(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < WIDE_ROUNDS; i++) {
        wide_t seen = __tsan_atomic128_load(&pair, __ATOMIC_ACQUIRE);
        must(is_pair(seen));
        if (i % 3 == 0) {
            must(is_pair(__tsan_atomic128_exchange(&pair, pair_of(random_next(&random)), __ATOMIC_ACQ_REL)));
        } else if (i % 3 == 1) {
            __tsan_atomic128_store(&pair, pair_of(random_next(&random)), __ATOMIC_RELEASE);
        } else {
            __tsan_atomic128_compare_exchange_strong(&pair, &seen, pair_of(random_next(&random)), __ATOMIC_SEQ_CST,
                                                     __ATOMIC_RELAXED);
            must(is_pair(seen));
        }
        /* In odd steps of 2^62: carries into the upper half are frequent, and none may be lost. */
        __tsan_atomic128_fetch_add(&sum, ((wide_t)1 << 62) + 1, __ATOMIC_RELAXED);
        wide_t old = __tsan_atomic128_load(&sum, __ATOMIC_RELAXED);
        while (!__tsan_atomic128_compare_exchange_weak(&sum, &old, old + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
    return NULL;
}

static void sixteen_bytes_stay_together(void **state)
{
    (void)state;
    pthread_t threads[WIDE_THREADS];
    pair = pair_of(1);
    sum = 0;
    for (uintptr_t i = 0; i < WIDE_THREADS; i++) {
        must(pthread_create(&threads[i], NULL, contend, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < WIDE_THREADS; i++) {
        must(pthread_join(threads[i], NULL) == 0);
    }
    assert_true(sum == (((wide_t)1 << 62) + 2) * WIDE_THREADS * WIDE_ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_8),
        cmocka_unit_test(operations_16),
        cmocka_unit_test(operations_32),
        cmocka_unit_test(operations_64),
        cmocka_unit_test(operations_128),
        cmocka_unit_test(comparisons_8),
        cmocka_unit_test(comparisons_16),
        cmocka_unit_test(comparisons_32),
        cmocka_unit_test(comparisons_64),
        cmocka_unit_test(comparisons_128),
        cmocka_unit_test(halves_are_compared),
        cmocka_unit_test(fences_touch_nothing),
        cmocka_unit_test(messages_arrive_with_their_payload),
        cmocka_unit_test(one_of_two_sees_the_other),
        cmocka_unit_test(sixteen_bytes_stay_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
