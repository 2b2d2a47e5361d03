/* Owns the answer of a gate as JSON, for programs. docs/gate.md describes it; a change of meaning is a new version. */
#include "analyze/diff/gate.h"
#include "analyze/base/json.h"

#include <stdio.h>

enum { VERSION = 2 };

static void put_leaked(pfa_json_t *json, const pfa_pair_t *pair)
{
    pfa_json_begin(json, "leaked", '{');
    pfa_json_number(json, "base", pair->leaked[PFA_BASE]);
    pfa_json_number(json, "new", pair->leaked[PFA_NEW]);
    pfa_json_number(json, "difference", pair->leak_growth);
    pfa_json_end(json, '}');
}

static void put_outcome(pfa_json_t *json, const pfa_gate_t *gate, const pfa_outcome_t *outcome)
{
    const pfa_limit_facts_t *facts = &pfa_limits[outcome->number];
    bool of_points = facts->scope == PFA_SCOPE_POINT;
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "name", facts->option);
    pfa_json_text(json, "metric", facts->scope == PFA_SCOPE_LEAK ? "leaked" : pfa_diff_metrics[facts->metric].name);
    pfa_json_text(json, "limit", gate->limits[outcome->number].text);
    pfa_json_text(json, "verdict", pfa_judgement_name(outcome->verdict));
    if (!of_points) {
        pfa_json_number(json, "base", outcome->base);
        pfa_json_number(json, "new", outcome->now);
        pfa_json_number(json, "difference", outcome->difference);
        pfa_json_number(json, "allowed", outcome->allowed);
        pfa_json_number(json, "margin", outcome->margin);
    }
    pfa_json_whole(json, of_points ? "exceeding" : "growing", outcome->point_count);
    pfa_json_begin(json, "points", '[');
    for (size_t i = 0; i < outcome->point_count && i < gate->top; i++) {
        pfa_json_begin(json, NULL, '{');
        const pfa_pair_t *pair = &gate->comparison->pairs[outcome->points[i]];
        pfa_tell_pair_json(json, pair);
        if (facts->scope == PFA_SCOPE_LEAK) {
            put_leaked(json, pair);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}

static void put_all(FILE *to, const pfa_gate_t *gate)
{
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-gate");
    pfa_json_whole(&json, "version", VERSION);
    pfa_json_bool(&json, "passed", !gate->exceeded);
    pfa_tell_sides_json(&json, gate->comparison);
    pfa_json_begin(&json, "limits", '[');
    for (size_t i = 0; i < gate->outcome_count; i++) {
        put_outcome(&json, gate, &gate->outcomes[i]);
    }
    pfa_json_end(&json, ']');
    pfa_json_end(&json, '}');
}

typedef struct writing {
    const pfa_gate_t *gate;
    FILE *to;
} writing_t;

static void write_json(void *to)
{
    const writing_t *writing = to;
    put_all(writing->to, writing->gate);
}

int pfa_gate_json(const pfa_gate_t *gate, FILE *to)
{
    writing_t writing = {.gate = gate, .to = to};
    return pfa_comparison_work(gate->comparison, write_json, &writing);
}
