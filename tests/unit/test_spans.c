/* Ranges that overlap, found by an address, against a list that is searched from end to end. */
/* sources: analyze/names/spans.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/names/spans.h"
#include "tests/unit/unit.h"

enum { MOST = 300, ROUNDS = 400, ASKED = 200 };

typedef struct range {
    uint64_t low;
    uint64_t size;
} range_t;

static uint64_t state = 88172645463325252;

static uint64_t chance(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

typedef struct visits {
    size_t count;
    size_t seen[MOST]; /* by number */
    const pfa_span_t *last;
} visits_t;

static void visit(void *to, const pfa_span_t *span)
{
    visits_t *visits = to;
    assert_true(visits->last == NULL || visits->last < span);
    visits->last = span;
    visits->count++;
    visits->seen[span->number]++;
}

static void ask(const pfa_spans_t *spans, const range_t *ranges, size_t count, uint64_t address)
{
    visits_t visits = {.count = 0};
    size_t expected = 0;
    const range_t *before = NULL;
    pfa_spans_find(spans, address, visit, &visits);
    for (size_t i = 0; i < count; i++) {
        bool has = ranges[i].low <= address && address - ranges[i].low < ranges[i].size;
        assert_int_equal(visits.seen[i], has);
        expected += has;
        if (ranges[i].low <= address && (before == NULL || ranges[i].low >= before->low)) {
            before = &ranges[i];
        }
    }
    assert_int_equal(visits.count, expected);
    const pfa_span_t *found = pfa_spans_before(spans, address);
    assert_int_equal(found != NULL, before != NULL);
    assert_true(found == NULL || found->low == before->low);
}

/* At both ends of addresses too, where sums would overflow. */
static void test_random(void **unused)
{
    (void)unused;
    for (size_t round = 0; round < ROUNDS; round++) {
        range_t ranges[MOST];
        pfa_spans_t spans = {.list = NULL};
        size_t count = chance(MOST);
        uint64_t base = round % 3 == 0 ? 0 : round % 3 == 1 ? UINT64_MAX - 999 : (uint64_t)1 << 40;
        uint64_t longest = round % 2 == 0 ? 10 : 2000;
        for (size_t i = 0; i < count; i++) {
            ranges[i] = (range_t){.low = base + chance(1000), .size = 1 + chance(longest)};
            pfa_spans_add(&spans, ranges[i].low, ranges[i].size, (uint32_t)i);
        }
        pfa_spans_sort(&spans);
        for (size_t i = 0; i < ASKED; i++) {
            ask(&spans, ranges, count, base + chance(1000));
        }
        ask(&spans, ranges, count, base - 1);
        ask(&spans, ranges, count, base + 999);
        pfa_spans_free(&spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
