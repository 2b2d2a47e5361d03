/* Owns the order of findings, and what verdicts are called. */
#include "analyze/leaks/leaks.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char pfa_leaks_orders[] = "leak, bytes, count, rate, sure or age";

static double by_leak(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    (void)leaks;
    return finding->leaked;
}

static double by_bytes(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    return leaks->families[finding->group].survivors->bytes;
}

static double by_count(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    return leaks->families[finding->group].survivors->chunks;
}

static double by_rate(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    return leaks->families[finding->group].survivors->rate;
}

static double by_sure(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    (void)leaks;
    return finding->sure;
}

static double by_age(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    return leaks->families[finding->group].survivors->oldest;
}

typedef double value_of_t(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding);

typedef struct ordering {
    const pfa_leaks_t *leaks;
    value_of_t *value_of;
} ordering_t;

static uint64_t hash_of(const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    return leaks->query->stacks.frames[pfa_query_group_stack(leaks->query, finding->group)].hash;
}

/* Equal ones by verdict, bytes and stack, so that two runs print the same. */
static int compare(const void *a, const void *b, void *to)
{
    const ordering_t *ordering = to;
    const pfa_leak_finding_t *left = a;
    const pfa_leak_finding_t *right = b;
    double difference = ordering->value_of(ordering->leaks, right) - ordering->value_of(ordering->leaks, left);
    if (difference == 0 && left->verdict != right->verdict) {
        return left->verdict < right->verdict ? -1 : 1;
    }
    if (difference == 0) {
        difference = by_bytes(ordering->leaks, right) - by_bytes(ordering->leaks, left);
    }
    if (difference != 0) {
        return difference > 0 ? 1 : -1;
    }
    uint64_t one = hash_of(ordering->leaks, left);
    uint64_t other = hash_of(ordering->leaks, right);
    if (one != other) {
        return one < other ? -1 : 1;
    }
    return left->group < right->group ? -1 : 1;
}

static value_of_t *find_order(const char *name)
{
    static const struct {
        const char *name;
        value_of_t *value_of;
    } orders[] = {
#define PFA_LEAK_ORDER(name, meaning) {#name, by_##name},
#include "analyze/leaks/orders.def"
#undef PFA_LEAK_ORDER
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strcmp(orders[i].name, name) == 0) {
            return orders[i].value_of;
        }
    }
    return NULL;
}

bool pfa_leaks_is_order(const char *name)
{
    return find_order(name) != NULL;
}

void pfa_leaks_conclude(pfa_leaks_t *leaks, const char *order)
{
    ordering_t ordering = {.leaks = leaks, .value_of = find_order(order)};
    leaks->findings = pfa_memory_get(leaks->family_count, sizeof *leaks->findings);
    for (uint32_t i = 0; i < leaks->family_count; i++) {
        if (leaks->families[i].survivors != NULL) {
            leaks->findings[leaks->finding_count++] = pfa_leaks_judge(leaks, i);
        }
    }
    qsort_r(leaks->findings, leaks->finding_count, sizeof *leaks->findings, compare, &ordering);
}

typedef struct words {
    const char *key;
    const char *text;
} words_t;

static const words_t verdicts[] = {
#define PFA_LEAK_VERDICT(name, key, title) {key, title},
#include "analyze/leaks/verdicts.def"
};

static const words_t reasons[] = {
#define PFA_LEAK_REASON(name, verdict, key, sentence) {key, sentence},
#include "analyze/leaks/verdicts.def"
};

const char *pfa_leak_verdict_key(pfa_leak_verdict_t verdict)
{
    return verdicts[verdict].key;
}

const char *pfa_leak_verdict_title(pfa_leak_verdict_t verdict)
{
    return verdicts[verdict].text;
}

const char *pfa_leak_reason_key(pfa_leak_reason_t reason)
{
    return reasons[reason].key;
}

const char *pfa_leak_reason_sentence(pfa_leak_reason_t reason)
{
    return reasons[reason].text;
}

const char *pfa_sure_word(double sure)
{
    double shown = round(100 * sure); /* the word is of the number that is printed beside it */
    return shown >= 80 ? "high" : shown >= 50 ? "medium" : "low";
}

double pfa_leaks_per_hour(const pfa_leaks_t *leaks, const pfa_survivors_t *survivors)
{
    static const double run_least = 1e10; /* nanoseconds: shorter ones tell of their start */
    return leaks->longest_run >= run_least ? survivors->rate * 3.6e12 : (double)NAN;
}
