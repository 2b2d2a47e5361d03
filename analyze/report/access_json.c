/* Owns what the report says of accesses as JSON. docs/report-json.md describes it. */
#include "analyze/points/report.h"
#include "analyze/base/json.h"
#include "analyze/base/notes.h"

static void put_total(pfa_json_t *json, const pfa_access_total_t *total, double chunks)
{
    pfa_json_begin(json, "accesses", '{');
    pfa_json_number(json, "chunks", total->chunks);
    pfa_json_number(json, "blind", total->blind);
    pfa_json_number(json, "unknown", pfa_access_unknown(total, chunks));
    pfa_json_number(json, "bytes", total->bytes);
    pfa_json_number(json, "bytes_touched", total->bytes_touched);
    pfa_json_number(json, "reads", total->reads);
    pfa_json_number(json, "writes", total->writes);
    pfa_json_number(json, "saturated", total->saturated);
    pfa_json_number(json, "never_read", total->never_read);
    pfa_json_number(json, "never_written", total->never_written);
    pfa_json_number(json, "never_touched", total->never_touched);
    pfa_json_number(json, "never_touched_bytes", total->untouched_bytes);
    pfa_json_number(json, "written_never_read", total->unread_chunks);
    pfa_json_number(json, "written_never_read_bytes", total->unread_bytes);
    pfa_json_number(json, "shared", total->shared);
    pfa_json_number(json, "lifetime_ns", total->lifetime);
    pfa_json_number(json, "idle_before_first_ns", total->idle_before);
    pfa_json_number(json, "idle_after_last_ns", total->idle_after);
    pfa_json_end(json, '}');
}

void pfa_access_json(pfa_json_t *json, const pfa_report_t *report)
{
    if (!report->has_accesses) {
        pfa_json_text(json, "accesses", NULL);
        return;
    }
    pfa_access_total_t all = pfa_report_all_accesses(report);
    put_total(json, &all, report->tally.frees + report->tally.live_chunks);
}

void pfa_access_json_remarks(pfa_report_t *report)
{
    if (report->maps_are_merged) {
        pfa_notes_add(&report->query.remarks, PFA_MERGED_WHAT ", so that " PFA_MERGED_WORDS "; " PFA_MERGED_HELP);
    }
}

static void put_map(pfa_json_t *json, const pfa_map_t *map, uint32_t words)
{
    pfa_json_begin(json, "map", '[');
    for (uint32_t i = 0; i < words; i++) {
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "offset", 8 * (uint64_t)i);
        pfa_json_whole(json, "reads", map->counters[i]);
        pfa_json_whole(json, "writes", map->counters[map->words + i]);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

void pfa_access_json_point(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    const pfa_point_t *point = &report->points[number];
    const pfa_map_t *map = pfa_report_map(report, number);
    if (!report->has_accesses) {
        pfa_json_text(json, "accesses", NULL);
        return;
    }
    put_total(json, pfa_report_access(report, number), point->frees + point->live_chunks);
    if (map != NULL) {
        put_map(json, map, pfa_report_map_words(report, number));
    }
}
