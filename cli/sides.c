/* Owns the sides of a comparison on command lines. See cli/sides.h. */
#include "cli/sides.h"
#include "cli/tool.h"

#include <string.h>
#include <unistd.h>

size_t pfa_sides_behind(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return (size_t)(argc - i - 1);
        }
    }
    return SIZE_MAX;
}

bool pfa_sides_split(const pfa_request_t *request, size_t behind, pfa_side_files_t sides[PFA_SIDES])
{
    size_t count = request->file_count;
    behind = behind == SIZE_MAX && count == 2 ? 1 : behind;
    if (behind == 0 || behind >= count) {
        pfa_tool_say(request->command,
                     "two files are compared, or several with -- between the two sides: A... -- B...");
        return false;
    }
    if (access(request->files[0], F_OK) != 0) {
        pfa_tool_say(request->command,
                     "there is no %s to compare with; `profalloc gate --save FILE TRACE...` makes a baseline",
                     request->files[0]);
        return false;
    }
    sides[PFA_BASE] = (pfa_side_files_t){.files = request->files, .count = count - behind};
    sides[PFA_NEW] = (pfa_side_files_t){.files = request->files + count - behind, .count = behind};
    return true;
}

bool pfa_sides_metric(const pfa_request_t *request, pfa_diff_metric_t *metric)
{
    *metric = pfa_diff_metric_find(request->sort);
    if (*metric == PFA_DIFF_METRICS) {
        pfa_tool_say(request->command, "--sort takes bytes, count, peak, peak_count, live or live_count, not '%s'",
                     request->sort);
    }
    return *metric != PFA_DIFF_METRICS;
}
