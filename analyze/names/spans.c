/* Owns the sorted list of ranges, which is also a tree: the middle of a part of the list is the root of that part. See
 * analyze/names/spans.h. One thread. */
#include "analyze/names/spans.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

void pfa_spans_add(pfa_spans_t *spans, uint64_t low, uint64_t size, uint32_t number)
{
    uint64_t last = size - 1 > UINT64_MAX - low ? UINT64_MAX : low + (size - 1);
    spans->list = pfa_memory_grow(spans->list, &spans->room, spans->count + 1, sizeof *spans->list);
    spans->list[spans->count++] = (pfa_span_t){.low = low, .last = last, .number = number};
}

static int compare_spans(const void *left, const void *right)
{
    const pfa_span_t *a = left;
    const pfa_span_t *b = right;
    if (a->low != b->low) {
        return a->low < b->low ? -1 : 1;
    }
    if (a->last != b->last) {
        return a->last < b->last ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static uint64_t set_reach(pfa_span_t *list, size_t count)
{
    if (count == 0) {
        return 0;
    }
    pfa_span_t *middle = &list[count / 2];
    uint64_t before = set_reach(list, count / 2);
    uint64_t behind = set_reach(middle + 1, count - count / 2 - 1);
    middle->reach = before > behind ? before : behind;
    middle->reach = middle->last > middle->reach ? middle->last : middle->reach;
    return middle->reach;
}

void pfa_spans_sort(pfa_spans_t *spans)
{
    if (spans->count != 0) {
        qsort(spans->list, spans->count, sizeof *spans->list, compare_spans);
        (void)set_reach(spans->list, spans->count);
    }
}

void pfa_spans_free(pfa_spans_t *spans)
{
    pfa_memory_free(spans->list);
    *spans = (pfa_spans_t){.list = NULL};
}

static void find(const pfa_span_t *list, size_t count, uint64_t address,
                 void (*visit)(void *to, const pfa_span_t *span), void *to)
{
    const pfa_span_t *middle = &list[count / 2];
    if (count == 0 || middle->reach < address) {
        return;
    }
    find(list, count / 2, address, visit, to);
    if (middle->low <= address) {
        if (address <= middle->last) {
            visit(to, middle);
        }
        find(middle + 1, count - count / 2 - 1, address, visit, to);
    }
}

void pfa_spans_find(const pfa_spans_t *spans, uint64_t address, void (*visit)(void *to, const pfa_span_t *span),
                    void *to)
{
    if (spans->count != 0) {
        find(spans->list, spans->count, address, visit, to);
    }
}

const pfa_span_t *pfa_spans_before(const pfa_spans_t *spans, uint64_t address)
{
    size_t low = 0;
    size_t high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->list[middle].low <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low != 0 ? &spans->list[low - 1] : NULL;
}
