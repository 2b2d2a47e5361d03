/* Owns the allocation bin table: chunks by size, and which types of the program are of that size. See analyze/mprof/mprof.h. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"

#include <string.h>

/* The paper leaves open what a reasonable fraction of the total allocation is. Here it is the same as for leaks, of the
 * allocations, of the bytes or of the bytes kept: of many small chunks the bytes alone would not tell. */
bool pfa_mprof_bin_is_listed(const pfa_mprof_t *mprof, const pfa_mprof_row_t *bin)
{
    const pfa_mprof_row_t *total = &mprof->bin_total;
    return pfa_mprof_is_listed(mprof, bin->all.chunks, total->all.chunks) ||
           pfa_mprof_is_listed(mprof, bin->all.bytes, total->all.bytes) ||
           pfa_mprof_is_listed(mprof, bin->kept.bytes, total->kept.bytes);
}

/* Paths are the same if they are in the same place: there is one for each module. */
static bool has_module(const pfa_mprof_t *mprof, const char *path)
{
    for (size_t i = 0; i < mprof->module_count; i++) {
        if (mprof->modules[i] == path) {
            return true;
        }
    }
    return false;
}

/* Constructors are called by it, and what it allocates is not what anybody looks for. */
static bool is_loader(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash != NULL ? slash + 1 : path, "ld-linux", 8) == 0;
}

void pfa_mprof_bins_see(pfa_mprof_t *mprof, const pfa_callchain_t *chain)
{
    for (size_t i = 0; i < chain->count - chain->open; i++) {
        const char *path = chain->lines.list[i].module;
        if (path != NULL && !has_module(mprof, path) && !is_loader(path)) {
            mprof->modules =
                pfa_memory_grow(mprof->modules, &mprof->module_room, mprof->module_count + 1, sizeof *mprof->modules);
            mprof->modules[mprof->module_count++] = path;
        }
    }
}

/* The highest number of a module, and one. */
static uint32_t count_modules(const pfa_stacks_t *stacks)
{
    uint32_t count = 0;
    for (size_t i = PFA_NODE_FIRST; i < stacks->count; i++) {
        count = stacks->frames[i].module >= count ? stacks->frames[i].module + 1 : count;
    }
    return count;
}

static bool is_program(const pfa_query_t *query, const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; name != NULL && i < query->source_count; i++) {
        const char *program = query->sources[i].program;
        const char *last = program != NULL ? strrchr(program, '/') : NULL;
        if (program != NULL && strcmp(name, last != NULL ? last + 1 : program) == 0) {
            return true;
        }
    }
    return false;
}

static void find_types(pfa_mprof_t *mprof)
{
    pfa_query_t *query = mprof->query;
    pfa_progress_t progress;
    uint32_t count = count_modules(&query->stacks);
    pfa_progress_begin(&progress, pfa_session_watch(mprof->query->session), "types", count);
    for (uint32_t i = 1; i < count; i++) {
        const char *path = pfa_symbols_path(query->symbols, i);
        bool program = is_program(query, path);
        if (has_module(mprof, path) && !pfa_types_add(&mprof->types, query->symbols, i, program) && program) {
            pfa_notes_add(&query->remarks, "no types of %s are named: there is no debug information of it", path);
        }
        pfa_progress_step(&progress, 1);
    }
    pfa_progress_end(&progress);
    pfa_types_finish(&mprof->types);
}

void pfa_mprof_bins_finish(pfa_mprof_t *mprof)
{
    bool any = false;
    for (size_t i = 0; i <= PFA_BIN_LARGEST; i++) {
        mprof->wanted[i] = mprof->by_size.rows[i].all.chunks > 0;
        any = any || mprof->wanted[i];
    }
    if (any) {
        find_types(mprof);
    }
    if (mprof->types.cut) {
        pfa_notes_add(&mprof->query->remarks,
                      "there is more debug information than was looked at: types may be missing");
    }
}
