/* Owns the words of advice. See analyze/advise/findings.h. */
#include "analyze/advise/findings.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct words {
    FILE *to;
    const pfa_finding_t *finding;
    const pfa_memoro_point_t *point;
    const pfa_memoro_t *memoro;
    double absent;          /* bytes at the peak that took no memory */
    const pfa_kept_t *kept; /* of advice to free it */
} words_t;

/* "3 of 4 chunks", "all 10,000 chunks". */
static void say_chunks(const words_t *words)
{
    char texts[2][PFA_NUMBER_TEXT];
    double all = words->point->chunks;
    double some = words->finding->chunks;
    if (words->finding->share > 0.9995 && words->finding->points == NULL) {
        fprintf(words->to, all < 1.5 ? "the one chunk" : "all %s chunks", pfa_text_count(texts[0], all));
    } else {
        fprintf(words->to, "%s of %s chunks", pfa_text_count(texts[0], some), pfa_text_count(texts[1], all));
    }
}

static const char *was(const words_t *words)
{
    return words->finding->chunks < 1.5 ? "was" : "were";
}

/* What is in the peak, but was never in memory. */
static void say_absent(const words_t *words)
{
    char text[PFA_NUMBER_TEXT];
    if (words->absent > 0) {
        fprintf(words->to, "; %s of the peak, in whole pages, %s never touched and took no memory",
                pfa_text_bytes(text, words->absent), words->absent < 1.5 ? "was" : "were");
    }
}

static void say_remove(const words_t *words)
{
    char text[PFA_NUMBER_TEXT];
    pfa_share_t untouched = pfa_memoro_share(words->point, PFA_INFER_never_touched);
    pfa_share_t unread = pfa_memoro_share(words->point, PFA_INFER_write_only);
    fprintf(words->to, "do without it: ");
    say_chunks(words);
    if (unread.chunks <= 0) {
        fprintf(words->to, " %s never touched", was(words));
    } else if (untouched.chunks <= 0) {
        fprintf(words->to, " %s written and never read", was(words));
    } else {
        fprintf(words->to, " %s never read, %s of them never touched at all", was(words),
                pfa_text_count(text, untouched.chunks * words->point->told_chunks));
    }
    say_absent(words);
}

/* How fast it grows, and why leaks says so. */
static void say_free(const words_t *words)
{
    char text[PFA_NUMBER_TEXT];
    fprintf(words->to, "free it or bound it: ");
    say_chunks(words);
    fprintf(words->to, " %s never freed, growing by %s per second; %s", was(words),
            pfa_text_bytes(text, words->kept->rate * 1e9), pfa_leak_reason_sentence(words->kept->reason));
}

/* "16 > 32 > 64 > ... > 4096". */
static void say_sizes(FILE *to, const pfa_run_t *run)
{
    uint32_t kept = run->length < PFA_RUN_SIZES ? run->length : PFA_RUN_SIZES;
    enum { SHOWN = 4 };
    for (uint32_t i = 0; i < kept; i++) {
        if (i < SHOWN || i + 1 == kept) {
            fprintf(to, "%s%" PRIu64, i == 0 ? "" : " > ", run->sizes[i]);
        } else if (i == SHOWN) {
            fprintf(to, " > ...");
        }
    }
}

static void say_reserve(const words_t *words)
{
    const pfa_growth_t *growth = &words->point->growth;
    char texts[4][PFA_NUMBER_TEXT];
    double final = pfa_growth_final(growth, 0.9);
    fprintf(words->to, "reserve %s at once: ", pfa_text_bytes(texts[0], final));
    fprintf(words->to, growth->runs < 1.5 ? "a buffer grew in %s steps" : "%s buffers grew, on average in %s steps",
            pfa_text_count(texts[1], growth->runs < 1.5 ? growth->chunks - growth->runs : growth->runs),
            pfa_text_count(texts[2], (growth->chunks - growth->runs) / growth->runs));
    fprintf(words->to, " by %s (", growth->longest.by_realloc ? "realloc" : "allocating anew and freeing");
    say_sizes(words->to, &growth->longest);
    fprintf(words->to, " bytes), copying up to %s", pfa_text_bytes(texts[3], growth->copied));
    uint32_t others = growth->longest.point_count - 1;
    if (others != 0) {
        fprintf(words->to, "; it goes on at %s%" PRIu32 " other point%s", others + 1 == PFA_RUN_POINTS ? "least " : "",
                others, pfa_text_plural(others));
    }
}

static void say_rate(const words_t *words)
{
    char texts[2][PFA_NUMBER_TEXT];
    pfa_churn_t churn = pfa_memoro_churn(words->memoro, words->point);
    fprintf(words->to, " pairs of allocation and free, %s per second while it goes on, each chunk alive for %s",
            churn.per_second > 0 ? pfa_text_count(texts[0], churn.per_second) : "countless",
            pfa_text_ns(texts[1], churn.life_ns));
}

static void say_hoist(const words_t *words)
{
    char texts[2][PFA_NUMBER_TEXT];
    fprintf(words->to, "allocate %s once, outside the loop, and use it again: %s",
            pfa_text_bytes(texts[0], (double)words->point->largest), pfa_text_count(texts[1], words->point->chunks));
    say_rate(words);
}

static void say_pool(const words_t *words)
{
    char texts[2][PFA_NUMBER_TEXT];
    if (words->finding->point_count > 1) {
        fprintf(
            words->to,
            "have a pool for what is allocated here, at this and %zu other point%s: %s pairs of allocation and free",
            words->finding->point_count - 1, pfa_text_plural((double)words->finding->point_count - 1),
            pfa_text_count(texts[0], words->finding->chunks));
        return;
    }
    fprintf(words->to, "take the chunks (%s", pfa_text_bytes(texts[0], (double)words->point->smallest));
    if (words->point->largest > words->point->smallest) {
        fprintf(words->to, " to %s", pfa_text_bytes(texts[0], (double)words->point->largest));
    }
    fprintf(words->to, ") from a pool or an arena: %s", pfa_text_count(texts[1], words->point->chunks));
    say_rate(words);
}

static void say_shrink(const words_t *words)
{
    const pfa_memoro_point_t *point = words->point;
    char texts[2][PFA_NUMBER_TEXT];
    if ((double)point->reach <= words->memoro->thresholds.coverage * (double)point->largest) {
        fprintf(words->to, "ask for less: of up to %s only the first %s were ever touched",
                pfa_text_bytes(texts[0], (double)point->largest), pfa_text_bytes(texts[1], (double)point->reach));
    } else {
        fprintf(words->to, "ask for less: ");
        say_chunks(words);
        fprintf(words->to, " %s used by less than %.0f %%, %.0f %% of all bytes", was(words),
                100 * words->memoro->thresholds.coverage, 100 * point->touched_bytes / point->told_bytes);
    }
    say_absent(words);
}

/* Who had it last knows when it is no longer needed. */
static void say_last(FILE *to, const pfa_idle_t *idle)
{
    char thread[PFA_THREAD_TEXT];
    const pfa_toucher_t *last = pfa_idle_last(idle);
    if (last == NULL) {
        fputs(idle->last != NULL ? ", last touched by many threads" : "", to);
        return;
    }
    fprintf(to, ", last touched by %s", pfa_source_thread(last->source, last->thread, thread));
    if (last->chunks < 0.9995 * idle->chunks) {
        fprintf(to, " (%.0f %% of them)", 100 * last->chunks / idle->chunks);
    }
}

static void say_idle(const words_t *words, bool after)
{
    const pfa_idle_t *idle = after ? &words->point->late : &words->point->early;
    char texts[2][PFA_NUMBER_TEXT];
    fprintf(words->to, after ? "free it earlier: " : "allocate it later: ");
    say_chunks(words);
    bool one = words->finding->chunks < 1.5;
    fprintf(words->to, " lay idle for most of %s %s: %s%s of %s", one ? "its life" : "their lives",
            after ? "after the last access" : "before the first access", one ? "" : "on average ",
            pfa_text_ns(texts[0], idle->ns / idle->chunks), pfa_text_ns(texts[1], idle->lives / idle->chunks));
    if (after) {
        say_last(words->to, idle);
    }
}

static void say_unshare(const words_t *words)
{
    fprintf(words->to, "pad or split what threads share: ");
    say_chunks(words);
    fprintf(
        words->to,
        " %s written again and again, touched by several threads, not just handed over, and smaller than a cache line "
        "(from %" PRIu64 " bytes)",
        was(words), words->point->smallest);
}

void pfa_finding_sentence(FILE *to, const pfa_finding_t *finding, pfa_report_t *report)
{
    words_t words = {.to = to,
                     .finding = finding,
                     .point = &report->memoro.points[finding->point],
                     .memoro = &report->memoro,
                     .absent = report->points[finding->point].spare[PFA_SPARE_ABSENT].value};
    switch (finding->advice) {
    case PFA_ADVICE_remove:
        say_remove(&words);
        break;
    case PFA_ADVICE_free:
        words.kept = &report->kept[finding->point];
        say_free(&words);
        break;
    case PFA_ADVICE_reserve:
        say_reserve(&words);
        break;
    case PFA_ADVICE_hoist:
        say_hoist(&words);
        break;
    case PFA_ADVICE_pool:
        say_pool(&words);
        break;
    case PFA_ADVICE_shrink:
        say_shrink(&words);
        break;
    case PFA_ADVICE_free_earlier:
    case PFA_ADVICE_allocate_later:
        say_idle(&words, finding->advice == PFA_ADVICE_free_earlier);
        break;
    default:
        say_unshare(&words);
        break;
    }
}

void pfa_finding_gain(FILE *to, const pfa_finding_t *finding, const pfa_findings_t *findings)
{
    char texts[2][PFA_NUMBER_TEXT];
    char within[PFA_NUMBER_TEXT];
    bool any = false;
    if (finding->bytes > 0) {
        fprintf(to, "%s%s of %s (%.1f %%)", pfa_text_bytes(texts[0], finding->bytes),
                pfa_text_within(within, finding->bytes, finding->bytes_variance), findings->peak_words,
                findings->peak > 0 ? 100 * finding->bytes / findings->peak : 0);
        any = true;
    }
    if (finding->calls > 0 || finding->ns > 0) {
        fprintf(to, "%s%s%s pair%s of calls, %s", any ? ", " : "", pfa_text_count(texts[0], finding->calls),
                pfa_text_within(within, finding->calls, finding->calls_variance), pfa_text_plural(finding->calls),
                pfa_text_ns(texts[1], finding->ns));
        if (findings->run_ns > 0) {
            fprintf(to, " (%.2f %% of the run)", 100 * finding->ns / findings->run_ns);
        }
        any = true;
    }
    fputs(any ? "" : "what cannot be estimated: the waiting of processors for each other", to);
}
