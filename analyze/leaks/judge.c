/* Owns the verdicts: what the sums of a group say about its survivors, and how sure that is. Nothing is read here and nothing
 * printed. docs/leaks.md tells the same in words; tests/analyze/leaks.py has it a second time. */
#include "analyze/leaks/leaks.h"

#include <math.h>

/* So many freed ones have to be known by their lives before these say how long the others should live. */
static const double siblings_least = 5;
/* What most siblings live: a few may well be kept until the program tidies up at its end. */
static const double most_siblings = 0.95;
/* Nearly all, of survivors. */
static const double nearly_all = 0.95;
/* If only this share, or less, is born in the second half, growth ends by itself. */
static const double late_half_least = 0.2;
/* Births go on to the end if there are some in the last quarter. */
static const double last_part = 0.25;
/* They are spread if they are in at least this share of the parts of time that as many births at random would be in. */
static const double spread_least = 0.6;
/* Two of the parts are no more than a beginning and an end. */
enum { PARTS = 8, PARTS_LEAST = 3 };
/* Where nobody ever frees, a table that fills up looks the same: that alone is never of high certainty (pfa_sure_word). */
static const double sure_without_siblings = 0.75;
/* Of accesses: survivors are in use if half of them are, and stale if nearly all are. */
static const double used_least = 0.5;
static const double stale_least = 0.9;
/* The square of 1.96: two sides of 95 percent. */
static const double z2 = 3.8416;

pfa_leak_limits_t pfa_leak_limits_standard(void)
{
    return (pfa_leak_limits_t){.warm_up = 0.1,
                               .late = 2,
                               .least = 5,
                               .least_bytes = 512,
                               .least_seconds = 0.03,
                               .stale = 0.5,
                               .recent = 0.1,
                               .fail_sure = 0.5,
                               .fail_bytes = 1024};
}

/* The least share that is still likely, with 97.5 percent, where so many of so many were seen: Wilson's bound. */
static double least_share(double seen, double of)
{
    if (!(of > 0)) {
        return 0;
    }
    double share = fmin(seen / of, 1);
    double middle = share + z2 / (2 * of);
    double half = sqrt(z2 * (share * (1 - share) / of + z2 / (4 * of * of)));
    return fmax((middle - half) / (1 + z2 / of), 0);
}

/* In how many of the parts so many births are, if they are anywhere. */
static double parts_expected(double parts, double births)
{
    return parts > 1 ? parts * (1 - pow(1 - 1 / parts, births)) : parts;
}

/* What is older than siblings get. The edge of a bin, so that it is known exactly how many these are. */
static void find_overdue(const pfa_leaks_t *leaks, const pfa_family_t *family, pfa_leak_finding_t *finding)
{
    double most = pfa_lives_quantile(family->lives, most_siblings, family->shortest, family->longest);
    unsigned bin = pfa_lives_bin(leaks->limits.late * most) + 1;
    bin = bin < PFA_LIVES_BINS ? bin : PFA_LIVES_BINS - 1;
    finding->due = pfa_lives_edge(bin);
    finding->overdue = pfa_lives_from(family->survivors->ages, bin);
    finding->overdue_bytes = pfa_lives_from(family->survivors->age_bytes, bin);
    finding->expected = family->per_ns * pfa_lives_excess(family->lives, bin);
}

/* The time in which the group was at work, as births from one number to another: to the end if it is not known how long its chunks
 * should live; else as long as it allocated, and before what is too young to be overdue. */
static void find_time(const pfa_leaks_t *leaks, const pfa_family_t *family, const pfa_leak_finding_t *finding,
                      unsigned *from, unsigned *behind)
{
    double run = leaks->longest_run;
    double last = finding->siblings && run > 0 ? fmin(family->last, 1 - finding->due / run) : 1;
    *from = pfa_birth_of(family->first);
    *behind = (last > family->first ? pfa_birth_of(last) : *from) + 1;
}

/* The sum of births up to a place, of which the last may be a half. */
static double sum_births(const double births[PFA_BIRTHS], unsigned from, double behind)
{
    double sum = 0;
    for (unsigned i = from; i < behind; i++) {
        sum += births[i] * fmin(behind - i, 1);
    }
    return sum;
}

/* With siblings, what counts is the share of chunks that stays, in each half: a group that allocates less as time goes by also
 * leaks less. */
static double find_late_half(const pfa_family_t *family, bool siblings, unsigned from, unsigned behind)
{
    double middle = (from + behind) / 2.0;
    double early = sum_births(family->survivors->births, from, middle);
    double late = sum_births(family->survivors->births, from, behind) - early;
    if (siblings) {
        double early_all = sum_births(family->births, from, middle);
        double late_all = sum_births(family->births, from, behind) - early_all;
        early = early_all > 0 ? early / early_all : 0;
        late = late_all > 0 ? late / late_all : 0;
    }
    return early + late > 0 ? late / (early + late) : 0;
}

/* How births are spread over that time. Returns those of survivors in it. */
static double find_spread(const pfa_leaks_t *leaks, const pfa_family_t *family, pfa_leak_finding_t *finding)
{
    unsigned from;
    unsigned behind;
    find_time(leaks, family, finding, &from, &behind);
    unsigned width = behind - from;
    unsigned parts = width < PARTS ? width : PARTS;
    for (unsigned i = 0; i < parts; i++) {
        unsigned first = from + i * width / parts;
        unsigned next = from + (i + 1) * width / parts;
        finding->parts += !finding->siblings || sum_births(family->births, first, next) > 0;
        finding->busy += sum_births(family->survivors->births, first, next) > 0;
    }
    finding->late_half = find_late_half(family, finding->siblings, from, behind);
    return sum_births(family->survivors->births, from, behind);
}

/* More are overdue than would be by chance. */
static bool is_overdue(const pfa_leak_finding_t *finding, double rows_of_chunk)
{
    double overdue = finding->overdue * rows_of_chunk;
    double expected = finding->expected * rows_of_chunk;
    return overdue > 0 && overdue >= 2 * expected + 3 * sqrt(expected);
}

static double of_siblings(const pfa_family_t *family)
{
    return family->freed_rows / (family->freed_rows + z2);
}

static void say(pfa_leak_finding_t *finding, pfa_leak_reason_t reason, double sure)
{
    finding->reason = reason;
    finding->sure = sure;
}

/* Bytes that would be a leak. */
static double find_bytes(const pfa_family_t *family, const pfa_leak_finding_t *finding)
{
    return finding->siblings ? finding->overdue_bytes : family->survivors->bytes;
}

/* Programs set themselves up for a while, and what they keep then looks as if it grew. */
static bool is_short(const pfa_leaks_t *leaks, const pfa_survivors_t *survivors, const pfa_leak_finding_t *finding)
{
    double seconds = (survivors->last - survivors->first) * leaks->longest_run * 1e-9;
    return finding->parts < PARTS_LEAST || seconds < leaks->limits.least_seconds;
}

/* Born all along: is that enough to speak of, and by whom, if by anybody, are others freed? */
static void judge_growth(const pfa_leaks_t *leaks, const pfa_family_t *family, pfa_leak_finding_t *finding, double rows,
                         double spread)
{
    double sure = rows / (rows + z2) * fmin(spread, 1);
    if (find_bytes(family, finding) < leaks->limits.least_bytes) {
        say(finding, PFA_LEAK_REASON_FEW_BYTES, 0);
    } else if (is_short(leaks, family->survivors, finding)) {
        say(finding, PFA_LEAK_REASON_SHORT, 0);
    } else if (finding->siblings) {
        say(finding, PFA_LEAK_REASON_OVERDUE, sure * of_siblings(family));
    } else if (family->freed <= 0 && family->folded <= 0 && leaks->siblings_asked) {
        say(finding, PFA_LEAK_REASON_NEVER_FREED, sure * sure_without_siblings);
    } else {
        say(finding, PFA_LEAK_REASON_FEW_FREED, sure * sure_without_siblings);
    }
}

/* Those that stay: when were they born? */
static void judge_births(const pfa_leaks_t *leaks, const pfa_family_t *family, pfa_leak_finding_t *finding)
{
    const pfa_survivors_t *survivors = family->survivors;
    double all_rows = survivors->rows;
    double rows = finding->siblings ? all_rows * finding->overdue / survivors->chunks : all_rows;
    double births = find_spread(leaks, family, finding);
    double expected = parts_expected(finding->parts, all_rows * births / survivors->chunks);
    double spread = expected > 0 ? finding->busy / expected : 0;
    double width = survivors->last - survivors->first;
    double quarter = 1 - last_part * (1 - survivors->first);
    double early = least_share(all_rows * (1 - finding->late_half), all_rows);
    if (survivors->at_start >= nearly_all * survivors->chunks) {
        say(finding, PFA_LEAK_REASON_WARM_UP,
            least_share(all_rows * survivors->at_start / survivors->chunks, all_rows));
    } else if (all_rows < 1.5) {
        say(finding, PFA_LEAK_REASON_ONE_CHUNK, 0);
    } else if (rows < leaks->limits.least - 0.5) {
        say(finding, PFA_LEAK_REASON_FEW_CHUNKS, 0);
    } else if (width <= leaks->limits.warm_up && !finding->siblings && survivors->last >= 1 - leaks->limits.recent) {
        say(finding, PFA_LEAK_REASON_YOUNG, 0);
    } else if (width <= leaks->limits.warm_up) {
        say(finding, PFA_LEAK_REASON_BURST, least_share(all_rows, all_rows));
    } else if (finding->late_half <= late_half_least && early > 0.5) { /* which is not by chance */
        say(finding, PFA_LEAK_REASON_SLOWER, early);
    } else if (!finding->siblings && survivors->last < quarter) {
        say(finding, PFA_LEAK_REASON_ENDED, 0);
    } else if (spread < spread_least) {
        say(finding, PFA_LEAK_REASON_BURSTS, 0);
    } else {
        judge_growth(leaks, family, finding, rows, spread);
    }
}

/* What is used was not forgotten; what is not used supports what was said. */
static void judge_accesses(const pfa_survivors_t *survivors, pfa_leak_finding_t *finding)
{
    static const pfa_leak_verdict_t of[] = {
#define PFA_LEAK_REASON(name, verdict, key, sentence) [PFA_LEAK_REASON_##name] = PFA_LEAK_VERDICT_##verdict,
#include "analyze/leaks/verdicts.def"
    };
    double rows_of_chunk = survivors->rows / survivors->chunks;
    bool known = survivors->known >= survivors->chunks / 2;
    bool used = known && survivors->old > 0 && survivors->used >= used_least * survivors->old;
    bool stale = known && survivors->stale >= stale_least * survivors->known;
    pfa_leak_verdict_t verdict = of[finding->reason];
    bool grows = verdict == PFA_LEAK_VERDICT_LEAK || verdict == PFA_LEAK_VERDICT_GROWS;
    if (used && grows) {
        say(finding, PFA_LEAK_REASON_GROWS_IN_USE, finding->sure);
    } else if (used && verdict != PFA_LEAK_VERDICT_FLIGHT) {
        say(finding, PFA_LEAK_REASON_TOUCHED,
            least_share(rows_of_chunk * survivors->used, rows_of_chunk * survivors->old));
    } else if (stale && verdict == PFA_LEAK_VERDICT_LEAK) {
        finding->sure += (1 - finding->sure) / 2;
    } else if (stale && !grows && verdict != PFA_LEAK_VERDICT_FLIGHT) {
        say(finding, PFA_LEAK_REASON_UNTOUCHED,
            least_share(rows_of_chunk * survivors->stale, rows_of_chunk * survivors->known));
    }
    finding->verdict = of[finding->reason];
}

/* How sure it is counts as it is printed. */
static bool is_to_fail(const pfa_leak_limits_t *limits, const pfa_leak_finding_t *finding)
{
    return finding->verdict == PFA_LEAK_VERDICT_LEAK && round(100 * finding->sure) >= 100 * limits->fail_sure - 1e-9 &&
           finding->leaked >= limits->fail_bytes;
}

pfa_leak_finding_t pfa_leaks_judge(const pfa_leaks_t *leaks, uint32_t group)
{
    const pfa_family_t *family = &leaks->families[group];
    const pfa_survivors_t *survivors = family->survivors;
    pfa_leak_finding_t finding = {.group = group, .siblings = family->freed_rows > siblings_least - 0.5};
    double rows_of_chunk = survivors->rows / survivors->chunks;
    if (finding.siblings) {
        find_overdue(leaks, family, &finding);
    }
    if (finding.siblings && !is_overdue(&finding, rows_of_chunk)) {
        double young = (survivors->chunks - finding.overdue) * rows_of_chunk;
        (void)find_spread(leaks, family, &finding);
        say(&finding, PFA_LEAK_REASON_LIKE_SIBLINGS, least_share(young, survivors->rows) * of_siblings(family));
    } else {
        judge_births(leaks, family, &finding);
    }
    judge_accesses(survivors, &finding);
    if (finding.verdict == PFA_LEAK_VERDICT_LEAK) {
        finding.leaked = find_bytes(family, &finding);
    }
    finding.fails = is_to_fail(&leaks->limits, &finding);
    return finding;
}
