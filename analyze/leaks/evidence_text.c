/* Owns the lines of evidence below a finding: births, growth, siblings, survival, accesses, threads. */
#include "analyze/leaks/evidence.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char indent[] = "      ";

static const char *text_time(char text[PFA_NUMBER_TEXT], double ns)
{
    static const struct {
        double from;
        double unit;
        const char *name;
    } units[] = {{3.6e12, 3.6e12, "h"}, {1.2e11, 6e10, "min"}, {1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "µs"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ns >= units[i].from) {
            double value = ns / units[i].unit;
            snprintf(text, PFA_NUMBER_TEXT, value < 100 ? "%.3g %s" : "%.0f %s", value, units[i].name);
            return text;
        }
    }
    snprintf(text, PFA_NUMBER_TEXT, "%.0f ns", ns);
    return text;
}

/* A share in percent; what is nearly nothing and nearly all is not told as such. */
static const char *text_share(char text[PFA_NUMBER_TEXT], double share)
{
    double percent = 100 * share;
    snprintf(text, PFA_NUMBER_TEXT,
             percent <= 0 || percent >= 99.995 ? "%.0f %%"
             : percent < 1                     ? "%.2f %%"
                                               : "%.1f %%",
             percent);
    return text;
}

static void print_births(FILE *to, const pfa_survivors_t *survivors)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    for (size_t i = 0; i < PFA_BIRTHS; i++) {
        most = fmax(most, survivors->births[i]);
    }
    fprintf(to, "%sborn      |", indent);
    for (size_t i = 0; i < PFA_BIRTHS; i++) {
        fputs(bars[most > 0 ? (size_t)ceil(8 * survivors->births[i] / most) : 0], to);
    }
    fprintf(to, "| from %.1f %% to %.1f %% of the run", 100 * survivors->first, 100 * survivors->last);
}

static void print_growth(FILE *to, const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding,
                         const pfa_survivors_t *survivors)
{
    double per_hour = pfa_leaks_per_hour(leaks, survivors);
    char text[PFA_NUMBER_TEXT];
    print_births(to, survivors);
    if (finding->verdict !=
        PFA_LEAK_VERDICT_FLIGHT) { /* of which there are no parts to look at: they are all too young */
        fprintf(to, ", in %u of %u part%s of its time", finding->busy, finding->parts, finding->parts == 1 ? "" : "s");
    }
    fputc('\n', to);
    if (finding->verdict == PFA_LEAK_VERDICT_LEAK || finding->verdict == PFA_LEAK_VERDICT_GROWS) {
        fprintf(to, "%sgrows     by %s", indent, pfa_text_bytes(text, survivors->rate * 1e9));
        if (survivors->rate_variance > 0) {
            fprintf(to, " ± %s", pfa_text_bytes(text, 1e9 * pfa_half_width(survivors->rate_variance)));
        }
        fprintf(to, " per second");
        if (isfinite(per_hour)) {
            fprintf(to, ", %s per hour if it goes on like this", pfa_text_bytes(text, per_hour));
        }
        fputc('\n', to);
    }
}

static void print_sites(FILE *to, const pfa_siblings_t *siblings)
{
    enum { SITES = 3 };
    char share[PFA_NUMBER_TEXT];
    for (size_t i = 0; i < siblings->site_count && i < SITES; i++) {
        const pfa_ender_t *site = &siblings->sites[i];
        fprintf(to, "%s%s%s", i == 0 ? " by " : ", ", site->name, siblings->site_count == 1 ? "" : " (");
        if (siblings->site_count != 1) {
            fprintf(to, "%s)", text_share(share, site->freed / siblings->freed));
        }
    }
    if (siblings->site_count > SITES) {
        fprintf(to, " and %zu other place%s", siblings->site_count - SITES,
                siblings->site_count - SITES == 1 ? "" : "s");
    }
}

/* The thread that frees most, if that is not the one that had allocated. */
static void print_freers(FILE *to, const pfa_siblings_t *siblings)
{
    char share[PFA_NUMBER_TEXT];
    double same = siblings->same_thread / siblings->freed;
    if (same > 0.995) {
        fprintf(to, ", by the thread that had allocated them");
        return;
    }
    fprintf(to, ", %s of them by another thread than had allocated them", text_share(share, 1 - same));
    if (siblings->freer_count == 1) {
        fprintf(to, " (all by %s)", siblings->freers[0].name);
    } else if (siblings->freer_count > 1) {
        fprintf(to, " (mostly by %s, %s)", siblings->freers[0].name,
                text_share(share, siblings->freers[0].freed / siblings->freed));
    }
}

static void print_siblings(FILE *to, const pfa_family_t *family, const pfa_siblings_t *siblings, bool asked)
{
    char count[PFA_NUMBER_TEXT];
    char times[2][PFA_NUMBER_TEXT];
    if (siblings->freed > 0) {
        fprintf(to, "%s%s  %s%s freed", indent, siblings->cousins ? "cousins" : "siblings",
                pfa_text_count(count, siblings->freed),
                siblings->cousins                 ? " chunks that the same function allocates elsewhere are"
                : fabs(siblings->freed - 1) < 0.5 ? " is"
                                                  : " are");
        print_sites(to, siblings);
        print_freers(to, siblings);
        fprintf(to, ", after %s (median; 99 %% within %s)\n", text_time(times[0], pfa_siblings_quantile(siblings, 0.5)),
                text_time(times[1], pfa_siblings_quantile(siblings, 0.99)));
    }
    if (siblings->freed <= 0 || siblings->cousins) {
        fprintf(to, "%ssiblings  %s\n", indent,
                family->folded > 0 ? "some are freed; how long they lived was not recorded"
                : asked            ? "none is ever freed"
                                   : "none for which --where holds");
    }
    if (family->folded > 0) {
        fprintf(to, "%s          %s more are freed that are known in sums only\n", indent,
                pfa_text_count(count, family->folded));
    }
    if (family->moved > 0) {
        fprintf(to, "%s          %s moved on by realloc\n", indent, pfa_text_count(count, family->moved));
    }
}

static void print_overdue(FILE *to, const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding,
                          const pfa_survivors_t *survivors)
{
    char counts[2][PFA_NUMBER_TEXT];
    char times[2][PFA_NUMBER_TEXT];
    if (!finding->siblings) {
        return;
    }
    fprintf(
        to,
        "%soverdue   %s of %s are older than %s (%.3g times what 95 %% of siblings live), the oldest is %s; %.3g would be by "
        "chance\n",
        indent, pfa_text_count(counts[0], finding->overdue), pfa_text_count(counts[1], survivors->chunks),
        text_time(times[0], finding->due), leaks->limits.late, text_time(times[1], survivors->oldest),
        finding->expected);
}

/* The share that lives on after each power of ten, from the last at which all do. */
static void print_survival(FILE *to, const pfa_family_t *family)
{
    double survival[PFA_LIVES_BINS];
    char text[2][PFA_NUMBER_TEXT];
    bool begun = false;
    double end = fmax(family->survivors->oldest, family->longest);
    if (family->freed <= 0) {
        return;
    }
    pfa_lives_survival(family->lives, family->survivors->ages, survival);
    fprintf(to, "%ssurvival ", indent);
    for (double age = 100; age <= end; age *= 10) {
        unsigned next = pfa_lives_bin(10 * age);
        begun = begun || survival[next - 1] < 0.9995;
        if (begun) {
            fprintf(to, " %s %s,", text_time(text[0], age), text_share(text[1], survival[pfa_lives_bin(age) - 1]));
        }
    }
    fprintf(to, " to the end %s of all its chunks\n", text_share(text[0], survival[PFA_LIVES_BINS - 1]));
}

static void print_accesses(FILE *to, const pfa_leaks_t *leaks, const pfa_survivors_t *survivors)
{
    char shares[3][PFA_NUMBER_TEXT];
    if (survivors->blind > 0) {
        fprintf(to, "%saccesses  not known of %s: code that is not instrumented allocated them\n", indent,
                pfa_text_count(shares[0], survivors->blind));
    }
    if (survivors->known <= 0) {
        return;
    }
    fprintf(to, "%saccesses  %s not touched for the last %.3g %% of the run or longer, %s never touched", indent,
            text_share(shares[0], survivors->stale / survivors->known), 100 * leaks->limits.stale,
            text_share(shares[1], survivors->never / survivors->known));
    if (survivors->old > 0) {
        fprintf(to, "; of older ones, %s touched in its last %.3g %%",
                text_share(shares[2], survivors->used / survivors->old), 100 * leaks->limits.recent);
    }
    fputc('\n', to);
}

/* Who allocates those that stay, and the others: if these are not the same, that is where to look. */
static void print_owners(FILE *to, const pfa_survivors_t *survivors, const pfa_family_t *family,
                         const pfa_siblings_t *siblings)
{
    enum { OWNERS = 4 };
    size_t told = 0;
    char shares[2][PFA_NUMBER_TEXT];
    for (size_t i = 0; siblings->owner_count > 1 && i < siblings->owner_count; i++) {
        const pfa_ender_t *owner = &siblings->owners[i];
        if (owner->live <= 0 || told == OWNERS) {
            continue;
        }
        fprintf(to, "%s%s %s allocated %s of them", told == 0 ? indent : "", told == 0 ? "threads  " : ";", owner->name,
                text_share(shares[0], owner->live / survivors->chunks));
        if (family->freed > 0) {
            fprintf(to, " and %s of the freed", text_share(shares[1], owner->freed / family->freed));
        }
        told++;
    }
    if (told != 0) {
        fputc('\n', to);
    }
}

void pfa_evidence_print(FILE *to, pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    const pfa_family_t *family = &leaks->families[finding->group];
    pfa_siblings_t siblings;
    pfa_siblings_find(&siblings, leaks, finding->group);
    print_growth(to, leaks, finding, family->survivors);
    print_siblings(to, family, &siblings, leaks->siblings_asked);
    print_overdue(to, leaks, finding, family->survivors);
    print_survival(to, family);
    print_accesses(to, leaks, family->survivors);
    print_owners(to, family->survivors, family, &siblings);
    pfa_siblings_free(&siblings);
}

void pfa_evidence_note(pfa_leaks_t *leaks)
{
    pfa_notes_t *remarks = &leaks->query->remarks;
    if (!leaks->siblings_asked) {
        pfa_notes_add(remarks, "siblings are only those for which --where holds: that none is freed is not known");
    }
    if (leaks->counts.lost > 0) {
        char count[PFA_NUMBER_TEXT];
        pfa_notes_add(remarks, "there are too many different places and threads: %s chunks are not in their lists",
                      pfa_text_count(count, leaks->counts.lost));
    }
    if (leaks->blind > 0) {
        char count[PFA_NUMBER_TEXT];
        pfa_notes_add(
            remarks,
            "whether %s of the chunks %s still used is not known: code that is not instrumented allocated them",
            pfa_text_count(count, leaks->blind), leaks->blind < 1.5 ? "is" : "are");
    }
    if (!leaks->query->has_accesses) {
        pfa_notes_add(remarks,
                      "no access data: whether chunks are still used is known of programs built with profalloc-cc");
    }
}
