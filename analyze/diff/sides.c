/* Owns the files of a comparison: which of them are of which side and of which run, and that they can be compared at all. */
#include "analyze/diff/compare.h"
#include "analyze/base/memory.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pfa_comparison_begin(pfa_comparison_t *comparison)
{
    *comparison = (pfa_comparison_t){.texts = pfa_symbols_new()};
}

void pfa_comparison_free(pfa_comparison_t *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        free(comparison->pairs[i].sums);
    }
    free(comparison->pairs);
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            pfa_summary_free(&comparison->sides[side].runs[i]);
        }
        free(comparison->sides[side].runs);
    }
    pfa_symbols_free(comparison->texts);
}

/* The traces that one `profalloc run` wrote, from files[0] on, are put to the front; so many. */
static size_t gather_run(char **files, size_t count)
{
    pfa_trace_start_t first;
    pfa_trace_start_t other;
    size_t found = 1;
    if (!pfa_run_read_start(files[0], &first) || first.run == 0) {
        return 1;
    }
    for (size_t i = 1; i < count; i++) {
        if (!pfa_summary_is_file(files[i]) && pfa_run_read_start(files[i], &other) && other.run == first.run) {
            char *file = files[i];
            files[i] = files[found];
            files[found++] = file;
        }
    }
    return found;
}

static int read_summary(pfa_side_t *side, pfa_symbols_t *texts, const char *command, const char *path)
{
    char *why = NULL;
    if (pfa_summary_read(path, &side->runs, &side->count, &side->room, texts, &why)) {
        return -1;
    }
    pfa_tool_say(command, "%s", why != NULL ? why : path);
    free(why);
    return PFA_EXIT_USAGE;
}

static int collect_run(pfa_comparison_t *comparison, pfa_side_t *side, const pfa_request_t *request, char **files,
                       size_t count)
{
    side->runs = pfa_memory_grow(side->runs, &side->room, side->count + 1, sizeof *side->runs);
    int status =
        pfa_summary_collect(&side->runs[side->count], request, files, count, comparison->with_leaks, comparison->texts);
    side->count += status < 0;
    return status;
}

int pfa_comparison_load(pfa_comparison_t *comparison, unsigned number, const pfa_request_t *request, char **files,
                        size_t count)
{
    pfa_side_t *side = &comparison->sides[number];
    char **list = pfa_memory_get(count, sizeof *list);
    int status = -1;
    memcpy(list, files, count * sizeof *list);
    for (size_t done = 0; done < count && status < 0;) {
        if (pfa_summary_is_file(list[done])) {
            status = read_summary(side, comparison->texts, request->command, list[done++]);
        } else {
            size_t run = gather_run(list + done, count - done);
            status = collect_run(comparison, side, request, list + done, run);
            done += run;
        }
    }
    free(list);
    return status;
}

bool pfa_comparison_metric(const pfa_request_t *request, pfa_diff_metric_t *metric)
{
    *metric = pfa_diff_metric_find(request->sort);
    if (*metric == PFA_DIFF_METRICS) {
        pfa_tool_say(request->command, "--sort takes bytes, count, peak, peak_count, live or live_count, not '%s'",
                     request->sort);
    }
    return *metric != PFA_DIFF_METRICS;
}

size_t pfa_comparison_behind(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return (size_t)(argc - i - 1);
        }
    }
    return SIZE_MAX;
}

/* Summaries have been made by some --by and --where; others cannot be compared with them. */
static bool is_alike(const pfa_comparison_t *comparison, const char *command)
{
    const pfa_summary_t *one = &comparison->sides[PFA_BASE].runs[0];
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *other = &comparison->sides[side].runs[i];
            if (strcmp(one->by, other->by) != 0 || one->asked != other->asked) {
                bool alike = strcmp(one->where, other->where) == 0 && one->asked != other->asked;
                pfa_tool_say(command, "one side is by %s%s%s, the other by %s%s%s%s: they cannot be compared", one->by,
                             one->where[0] != '\0' ? " where " : "", one->where, other->by,
                             other->where[0] != '\0' ? " where " : "", other->where,
                             alike ? ", which asks something else now" : "");
                return false;
            }
        }
    }
    return true;
}

int pfa_comparison_load_all(pfa_comparison_t *comparison, const pfa_request_t *request, size_t behind)
{
    size_t count = request->file_count;
    behind = behind == SIZE_MAX && count == 2 ? 1 : behind;
    if (behind == 0 || behind >= count) {
        pfa_tool_say(request->command,
                     "two files are compared, or several with -- between the two sides: A... -- B...");
        return PFA_EXIT_USAGE;
    }
    if (access(request->files[0], F_OK) != 0) {
        pfa_tool_say(request->command,
                     "there is no %s to compare with; `profalloc gate --save FILE TRACE...` makes a baseline",
                     request->files[0]);
        return PFA_EXIT_USAGE;
    }
    int status = pfa_comparison_load(comparison, PFA_BASE, request, request->files, count - behind);
    if (status < 0) {
        status = pfa_comparison_load(comparison, PFA_NEW, request, request->files + count - behind, behind);
    }
    return status < 0 && !is_alike(comparison, request->command) ? PFA_EXIT_USAGE : status;
}
