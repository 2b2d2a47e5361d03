/* Owns what the texts and JSON of diff and gate share: values, changes, sides, pairs of points. */
#include "analyze/diff/compare.h"
#include "analyze/base/json.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *pfa_tell_value(char text[PFA_NUMBER_TEXT], pfa_diff_metric_t metric, double value)
{
    return pfa_diff_metrics[metric].is_bytes ? pfa_text_bytes(text, value) : pfa_text_count(text, value);
}

const char *pfa_tell_difference(char text[PFA_NUMBER_TEXT], pfa_diff_metric_t metric, double value)
{
    char number[PFA_NUMBER_TEXT];
    (void)pfa_tell_value(number, metric, value);
    snprintf(text, PFA_NUMBER_TEXT, "%s%.40s", value >= 0 ? "+" : "", number);
    return text;
}

const char *pfa_tell_percent(char text[PFA_NUMBER_TEXT], const pfa_change_t *change)
{
    double percent = pfa_change_percent(change);
    if (isinf(percent)) {
        snprintf(text, PFA_NUMBER_TEXT, "new");
    } else if (fabs(percent) >= 1e6) {
        snprintf(text, PFA_NUMBER_TEXT, "%+.2g %%", percent);
    } else {
        snprintf(text, PFA_NUMBER_TEXT, "%+.1f %%", percent);
    }
    return text;
}

static void tell_run(FILE *to, const char *label, const pfa_summary_t *run)
{
    char number[PFA_NUMBER_TEXT];
    for (size_t i = 0; i < run->files.count; i++) {
        fprintf(to, "%s%s%s", i == 0 ? label : "", i == 0 ? "" : ", ", run->files.list[i]);
    }
    fprintf(to, "%s  %.3f s, ", run->files.count == 0 ? label : "", run->seconds);
    if (run->sample > 1) {
        fprintf(to, "sampled: one in %s on average\n", pfa_text_bytes(number, run->sample));
    } else {
        fprintf(to, "every chunk recorded\n");
    }
}

void pfa_tell_side(FILE *to, const pfa_comparison_t *comparison, unsigned side)
{
    const pfa_side_t *runs = &comparison->sides[side];
    for (size_t i = 0; i < runs->count; i++) {
        tell_run(to, i != 0 ? "       " : side == PFA_BASE ? "base:  " : "new:   ", &runs->runs[i]);
    }
}

/* Where nothing is left on the other side they could be matched with, they are what they seem. */
static bool tell_nameless(FILE *to, const pfa_comparison_t *comparison)
{
    const size_t *nameless = comparison->nameless;
    size_t singles = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const size_t *there = comparison->pairs[i].there;
        singles |= there[PFA_NEW] == 0 ? 1u : there[PFA_BASE] == 0 ? 2u : 0u;
    }
    if (nameless[PFA_BASE] + nameless[PFA_NEW] == 0 || singles != 3) {
        return false;
    }
    fprintf(
        to,
        "\nNOT MATCHED: %zu points of the base and %zu of the new side have frames without names, which cannot be found\n"
        "again in another build: what is told as gone and as new may be the same\n",
        nameless[PFA_BASE], nameless[PFA_NEW]);
    return true;
}

void pfa_tell_notes(FILE *to, const pfa_comparison_t *comparison)
{
    bool first = !tell_nameless(to, comparison);
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *run = &comparison->sides[side].runs[i];
            for (size_t j = 0; j < run->notes.count; j++, first = false) {
                fprintf(to, "%s%s\n", first ? "\n" : "", run->notes.list[j]);
            }
            if (!run->complete && run->notes.count == 0) {
                fprintf(to, "%sMISSING: the %s was saved from traces that are not complete\n", first ? "\n" : "",
                        side == PFA_BASE ? "base" : "new side");
                first = false;
            }
        }
    }
}

void pfa_tell_stack(FILE *to, const pfa_pair_t *pair, const char *indent)
{
    const pfa_summary_point_t *point = pair->shown;
    if (point->lines.count == 0) {
        fprintf(to, "%s%s\n", indent, point->name);
        return;
    }
    pfa_place_print_lines(to, &point->lines, indent);
    if (pair->stacks > 1) {
        fprintf(to, "%s(the largest of %" PRIu32 " stacks with these functions)\n", indent, pair->stacks);
    }
}

void pfa_tell_sides_json(pfa_json_t *json, const pfa_comparison_t *comparison)
{
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        pfa_json_begin(json, side == PFA_BASE ? "base" : "new", '[');
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *run = &comparison->sides[side].runs[i];
            pfa_json_begin(json, NULL, '{');
            pfa_json_notes(json, "files", &run->files);
            pfa_json_number(json, "seconds", run->seconds);
            pfa_json_number(json, "sample", run->sample);
            pfa_json_bool(json, "complete", run->complete);
            pfa_json_notes(json, "missing", &run->missing);
            pfa_json_notes(json, "notes", &run->notes);
            pfa_json_end(json, '}');
        }
        pfa_json_end(json, ']');
    }
    const pfa_summary_t *one = &comparison->sides[PFA_BASE].runs[0];
    pfa_json_text(json, "by", one->by);
    pfa_json_text(json, "where", one->where[0] != '\0' ? one->where : NULL);
    pfa_json_bool(json, "per_second", comparison->per_second);
    pfa_json_begin(json, "nameless", '{');
    pfa_json_whole(json, "base", comparison->nameless[PFA_BASE]);
    pfa_json_whole(json, "new", comparison->nameless[PFA_NEW]);
    pfa_json_end(json, '}');
}

void pfa_tell_change_json(pfa_json_t *json, const char *key, const pfa_change_t *change)
{
    static const char *const names[PFA_SIDES] = {"base", "new"};
    static const char *const ranges[PFA_SIDES] = {"base_runs", "new_runs"};
    pfa_json_begin(json, key, '{');
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        pfa_json_number(json, names[side], change->of[side].mean);
    }
    pfa_json_number(json, "difference", change->difference);
    pfa_json_number(json, "percent", pfa_change_percent(change)); /* null if infinite */
    pfa_json_number(json, "margin", change->margin);
    pfa_json_bool(json, "significant", change->significant);
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        if (change->of[side].runs > 1) {
            pfa_json_begin(json, ranges[side], '{');
            pfa_json_number(json, "least", change->of[side].least);
            pfa_json_number(json, "most", change->of[side].most);
            pfa_json_number(json, "spread", change->of[side].spread);
            pfa_json_end(json, '}');
        }
    }
    pfa_json_end(json, '}');
}

void pfa_tell_scores_json(pfa_json_t *json, const pfa_change_t scores[PFA_SCORES])
{
    pfa_json_begin(json, "scores", '{');
    for (size_t i = 0; i < PFA_SCORES; i++) {
        bool known = !isnan(scores[i].of[PFA_BASE].mean) && !isnan(scores[i].of[PFA_NEW].mean);
        pfa_json_begin(json, pfa_score_names[i], '{');
        pfa_json_number(json, "base", scores[i].of[PFA_BASE].mean); /* null if not known */
        pfa_json_number(json, "new", scores[i].of[PFA_NEW].mean);
        pfa_json_number(json, "difference", known ? scores[i].difference : (double)NAN);
        pfa_json_number(json, "margin", scores[i].margin);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, '}');
}

void pfa_tell_pair_json(pfa_json_t *json, const pfa_pair_t *pair)
{
    char id[24];
    snprintf(id, sizeof id, "%016" PRIx64, pair->shown->identity);
    pfa_json_text(json, "identity", id);
    pfa_json_text(json, "name", pair->shown->name);
    pfa_json_text(json, "fate", pfa_fate_name(pair->fate));
    pfa_json_whole(json, "in_base", pair->there[PFA_BASE]);
    pfa_json_whole(json, "in_new", pair->there[PFA_NEW]);
    pfa_json_whole(json, "stacks", pair->stacks);
    pfa_json_bool(json, "loosely_matched", pair->loose);
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        pfa_tell_change_json(json, pfa_diff_metrics[i].name, &pair->changes[i]);
    }
    pfa_tell_scores_json(json, pair->scores);
    if (pair->shown->lines.count != 0) {
        pfa_place_json(json, &pair->shown->lines);
    }
}
