/*
 * bignum: arithmetic with numbers of 128 to 640 bits, each result and each temporary in a chunk of its own.
 *
 * A table of residues; each round multiplies two, adds a third, and divides by a modulus. Quotient and remainder are
 * proved by multiplying back. Seven chunks a round, nearly all freed within it in another order than they were made in.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

enum {
    RESIDUES = 64,
    MODULI = 8,
    LIMBS_LEAST = 4,
    LIMBS_SPREAD = 17, /* 4 .. 20 limbs of 32 bits */
};

/* Least significant limb first; the topmost is not 0, and 0 has none. */
typedef struct {
    uint32_t count;
    uint32_t limb[];
} number_t;

typedef struct {
    number_t *residue[RESIDUES];
    number_t *modulus[MODULI];
} bignum_t;

static number_t *make(uint32_t count)
{
    number_t *number = pfa_bench_need(malloc(sizeof *number + count * sizeof number->limb[0]));
    number->count = count;
    return number;
}

static number_t *trim(number_t *number)
{
    while (number->count > 0 && number->limb[number->count - 1] == 0) {
        number->count--;
    }
    return number;
}

static number_t *make_random(uint64_t *rng)
{
    number_t *number = make(LIMBS_LEAST + pfa_bench_below(rng, LIMBS_SPREAD));
    for (uint32_t i = 0; i < number->count; i++) {
        number->limb[i] = (uint32_t)(pfa_bench_random(rng) >> 32);
    }
    number->limb[number->count - 1] |= 1;
    return number;
}

static number_t *multiply(const number_t *a, const number_t *b)
{
    number_t *product = make(a->count + b->count);
    memset(product->limb, 0, product->count * sizeof product->limb[0]);
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->count; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + product->limb[i + j];
            product->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->limb[i + b->count] = (uint32_t)carry;
    }
    return trim(product);
}

static number_t *add(const number_t *a, const number_t *b)
{
    uint32_t longer = a->count > b->count ? a->count : b->count;
    number_t *sum = make(longer + 1);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < longer; i++) {
        carry += (uint64_t)(i < a->count ? a->limb[i] : 0) + (i < b->count ? b->limb[i] : 0);
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum->limb[longer] = (uint32_t)carry;
    return trim(sum);
}

/* Shifted left by less than a limb, into `count` limbs. */
static number_t *shifted(const number_t *a, unsigned bits, uint32_t count)
{
    number_t *result = make(count);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < count; i++) {
        carry |= (uint64_t)(i < a->count ? a->limb[i] : 0) << bits;
        result->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return result;
}

/* Takes the divisor, times `digit`, off the limbs at `at`; false if that was once too often. */
static bool take_off(uint32_t *at, const number_t *divisor, uint32_t digit)
{
    uint64_t carry = 0;
    int64_t borrow = 0;
    for (uint32_t i = 0; i < divisor->count; i++) {
        carry += (uint64_t)digit * divisor->limb[i];
        borrow += (int64_t)at[i] - (int64_t)(uint32_t)carry;
        at[i] = (uint32_t)borrow;
        borrow >>= 32; /* 0 or -1 */
        carry >>= 32;
    }
    borrow += (int64_t)at[divisor->count] - (int64_t)carry;
    at[divisor->count] = (uint32_t)borrow;
    return borrow >= 0;
}

static void put_back(uint32_t *at, const number_t *divisor)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < divisor->count; i++) {
        carry += (uint64_t)at[i] + divisor->limb[i];
        at[i] = (uint32_t)carry;
        carry >>= 32;
    }
    at[divisor->count] += (uint32_t)carry;
}

/* Long division, a limb at a time: the two topmost limbs give a digit that is right or at most two too large, if the
 * divisor's topmost bit is set, which a shift of both sees to. The divisor has two limbs at least. */
static number_t *divide(const number_t *a, const number_t *by, number_t **remainder)
{
    unsigned bits = (unsigned)__builtin_clz(by->limb[by->count - 1]);
    uint32_t digits = a->count >= by->count ? a->count - by->count + 1 : 0;
    number_t *divisor = shifted(by, bits, by->count);
    number_t *rest = shifted(a, bits, (a->count > by->count ? a->count : by->count) + 1);
    number_t *quotient = make(digits);
    uint64_t top = divisor->limb[divisor->count - 1];
    for (uint32_t i = digits; i-- > 0;) {
        uint32_t *at = &rest->limb[i];
        uint64_t digit = ((uint64_t)at[divisor->count] << 32 | at[divisor->count - 1]) / top;
        digit = digit > UINT32_MAX ? UINT32_MAX : digit;
        bool right = take_off(at, divisor, (uint32_t)digit);
        while (!right) {
            uint32_t before = at[divisor->count];
            put_back(at, divisor);
            digit--;
            right = at[divisor->count] < before; /* it passed 0 again */
        }
        quotient->limb[i] = (uint32_t)digit;
    }
    rest->count = by->count;
    for (uint32_t i = 0; i < rest->count; i++) {
        uint64_t both = (uint64_t)(i + 1 < rest->count ? rest->limb[i + 1] : 0) << 32 | rest->limb[i];
        rest->limb[i] = (uint32_t)(both >> bits);
    }
    free(divisor);
    *remainder = trim(rest);
    return trim(quotient);
}

static bool are_equal(const number_t *a, const number_t *b)
{
    return a->count == b->count && memcmp(a->limb, b->limb, a->count * sizeof a->limb[0]) == 0;
}

static void replace_one(pfa_worker_t *w, bignum_t *bignum)
{
    number_t **to = &bignum->residue[pfa_bench_below(&w->rng, RESIDUES)];
    const number_t *a = bignum->residue[pfa_bench_below(&w->rng, RESIDUES)];
    const number_t *b = bignum->residue[pfa_bench_below(&w->rng, RESIDUES)];
    const number_t *modulus = bignum->modulus[pfa_bench_below(&w->rng, MODULI)];
    number_t *product = multiply(a, b);
    number_t *sum = add(product, *to);
    number_t *remainder;
    number_t *quotient = divide(sum, modulus, &remainder);
    number_t *back = multiply(quotient, modulus);
    number_t *whole = add(back, remainder);
    if (!are_equal(whole, sum)) {
        pfa_bench_die("a quotient is wrong");
    }
    w->checksum += (remainder->count > 0 ? remainder->limb[0] : 0) + quotient->count;
    free(product);
    free(quotient);
    free(whole);
    free(sum);
    free(back);
    free(*to);
    *to = remainder;
    w->ops += 7;
}

static void setup(pfa_worker_t *w)
{
    bignum_t *bignum = w->state;
    for (unsigned i = 0; i < RESIDUES; i++) {
        bignum->residue[i] = make_random(&w->rng);
    }
    for (unsigned i = 0; i < MODULI; i++) {
        bignum->modulus[i] = make_random(&w->rng);
    }
}

static void work(pfa_worker_t *w)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        replace_one(w, w->state);
    }
}

static void teardown(pfa_worker_t *w)
{
    bignum_t *bignum = w->state;
    for (unsigned i = 0; i < RESIDUES; i++) {
        free(bignum->residue[i]);
    }
    for (unsigned i = 0; i < MODULI; i++) {
        free(bignum->modulus[i]);
    }
}

const pfa_workload_t pfa_workload_bignum = {
    .name = "bignum",
    .what = "products and quotients of numbers of 128-640 bits, each in a chunk of its own",
    .group = "neutral",
    .workers = 1,
    .rounds = 1000000,
    .state_bytes = sizeof(bignum_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
