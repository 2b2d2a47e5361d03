/* Owns the diagnosis: where, by which threads and after how long the siblings of survivors are freed. A group of a stack that has
 * none is told with those of other stacks whose allocating function is the same. */
#include "analyze/leaks/leaks.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list of enders while it is made. */
typedef struct enders {
    pfa_ender_t *list;
    size_t count;
    size_t room;
} enders_t;

/* The function of a group's stack; equal ones have the same address. NULL: not known. */
static const char *function_of(pfa_leaks_t *leaks, uint32_t group)
{
    static const char none[] = "";
    pfa_query_t *query = leaks->query;
    if (leaks->functions == NULL) {
        leaks->functions = pfa_memory_get(leaks->family_count, sizeof *leaks->functions);
    }
    if (leaks->functions[group] == NULL) {
        pfa_line_t line;
        bool found = pfa_place_find(&query->stacks, pfa_query_group_stack(query, group), &line);
        bool named = found && line.symbol->function != NULL;
        leaks->functions[group] = named ? pfa_symbols_text(query->symbols, line.symbol->function) : none;
    }
    return leaks->functions[group] != none ? leaks->functions[group] : NULL;
}

static char *place_of(pfa_query_t *query, uint32_t stack)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    pfa_place_print(to, &query->stacks, stack);
    return pfa_memory_stream_close(stream);
}

/* Different stacks with the same place are told as one; the name is taken over. */
static void add_ender(enders_t *enders, char *name, const pfa_count_t *count)
{
    size_t at = 0;
    while (at < enders->count && strcmp(enders->list[at].name, name) != 0) {
        at++;
    }
    if (at == enders->count) {
        enders->list = pfa_memory_grow(enders->list, &enders->room, enders->count + 1, sizeof *enders->list);
        enders->list[enders->count++].name = name;
    } else {
        pfa_memory_free(name);
    }
    enders->list[at].freed += count->freed;
    enders->list[at].live += count->live;
}

static int compare_counts(const void *a, const void *b)
{
    const pfa_count_t *left = a;
    const pfa_count_t *right = b;
    double difference = right->freed + right->live - left->freed - left->live;
    return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

/* Only the greatest get their names looked up: a hostile trace has millions. */
static void add_enders(enders_t *enders, pfa_leaks_t *leaks, uint32_t group, pfa_role_t role)
{
    enum { MOST = 256 };
    size_t count;
    const pfa_count_t *counts = pfa_counts_of(&leaks->counts, group, role, &count);
    pfa_count_t *sorted = pfa_memory_get(count, sizeof *sorted);
    if (count != 0) {
        memcpy(sorted, counts, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_counts);
    }
    for (size_t i = 0; i < count && i < MOST; i++) {
        const char *thread = role != PFA_ROLE_SITE ? (const char *)(uintptr_t)sorted[i].value : NULL;
        char *name = thread != NULL ? pfa_memory_text(thread, strlen(thread))
                                    : place_of(leaks->query, (uint32_t)sorted[i].value);
        add_ender(enders, name, &sorted[i]);
    }
    pfa_memory_free(sorted);
}

/* Equal ones by name, so that two runs print the same. */
static int compare_enders(const void *a, const void *b)
{
    const pfa_ender_t *left = a;
    const pfa_ender_t *right = b;
    double difference = right->freed + right->live - left->freed - left->live;
    return difference > 0 ? 1 : difference < 0 ? -1 : strcmp(left->name, right->name);
}

static pfa_ender_t *finish(enders_t *enders, size_t *count)
{
    if (enders->count != 0) {
        qsort(enders->list, enders->count, sizeof *enders->list, compare_enders);
    }
    *count = enders->count;
    return enders->list;
}

static void add_family(pfa_siblings_t *siblings, const pfa_family_t *family)
{
    siblings->freed += family->freed;
    siblings->same_thread += family->same_thread;
    siblings->folded += family->folded;
    siblings->shortest = fmin(siblings->shortest, family->shortest);
    siblings->longest = fmax(siblings->longest, family->longest);
    for (size_t i = 0; i < PFA_LIVES_BINS; i++) {
        siblings->lives[i] += family->lives[i];
    }
}

/* All groups of one function together: the same for each of them that has no siblings itself. */
typedef struct pfa_cousins {
    const char *function;
    pfa_siblings_t sums;
} pfa_cousins_t;

static void sum_cousins(pfa_siblings_t *sums, pfa_leaks_t *leaks, const char *function)
{
    enders_t sites = {.list = NULL};
    enders_t freers = {.list = NULL};
    *sums = (pfa_siblings_t){.shortest = INFINITY, .lent = true};
    for (uint32_t i = 0; i < leaks->family_count; i++) {
        if (leaks->families[i].freed > 0 && function_of(leaks, i) == function) {
            add_family(sums, &leaks->families[i]);
            add_enders(&sites, leaks, i, PFA_ROLE_SITE);
            add_enders(&freers, leaks, i, PFA_ROLE_FREER);
            sums->cousins = true;
        }
    }
    sums->sites = finish(&sites, &sums->site_count);
    sums->freers = finish(&freers, &sums->freer_count);
}

static const pfa_siblings_t *find_cousins(pfa_leaks_t *leaks, const char *function)
{
    size_t at = 0;
    while (at < leaks->cousin_count && leaks->cousins[at].function != function) {
        at++;
    }
    if (at == leaks->cousin_count) {
        leaks->cousins = pfa_memory_grow(leaks->cousins, &leaks->cousin_room, at + 1, sizeof *leaks->cousins);
        leaks->cousins[at].function = function;
        sum_cousins(&leaks->cousins[at].sums, leaks, function);
        leaks->cousin_count++;
    }
    return &leaks->cousins[at].sums;
}

static void find_own(pfa_siblings_t *siblings, pfa_leaks_t *leaks, uint32_t group)
{
    enders_t sites = {.list = NULL};
    enders_t freers = {.list = NULL};
    add_enders(&sites, leaks, group, PFA_ROLE_SITE);
    add_enders(&freers, leaks, group, PFA_ROLE_FREER);
    siblings->sites = finish(&sites, &siblings->site_count);
    siblings->freers = finish(&freers, &siblings->freer_count);
}

void pfa_siblings_find(pfa_siblings_t *siblings, pfa_leaks_t *leaks, uint32_t group)
{
    enders_t owners = {.list = NULL};
    bool own = leaks->families[group].freed > 0;
    bool by_stack = pfa_query_group_stack(leaks->query, group) != PFA_NODE_UNKNOWN;
    const char *function = own || !by_stack ? NULL : function_of(leaks, group);
    *siblings = (pfa_siblings_t){.shortest = INFINITY};
    if (function != NULL) {
        *siblings = *find_cousins(leaks, function);
    } else {
        find_own(siblings, leaks, group);
    }
    add_family(siblings, &leaks->families[group]);
    add_enders(&owners, leaks, group, PFA_ROLE_OWNER);
    siblings->owners = finish(&owners, &siblings->owner_count);
}

static void free_enders(pfa_ender_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pfa_memory_free(list[i].name);
    }
    pfa_memory_free(list);
}

void pfa_siblings_free(pfa_siblings_t *siblings)
{
    if (!siblings->lent) {
        free_enders(siblings->sites, siblings->site_count);
        free_enders(siblings->freers, siblings->freer_count);
    }
    free_enders(siblings->owners, siblings->owner_count);
}

void pfa_cousins_free(pfa_leaks_t *leaks)
{
    for (size_t i = 0; i < leaks->cousin_count; i++) {
        free_enders(leaks->cousins[i].sums.sites, leaks->cousins[i].sums.site_count);
        free_enders(leaks->cousins[i].sums.freers, leaks->cousins[i].sums.freer_count);
    }
    pfa_memory_free(leaks->cousins);
}

double pfa_siblings_quantile(const pfa_siblings_t *siblings, double share)
{
    return pfa_lives_quantile(siblings->lives, share, siblings->shortest, siblings->longest);
}
