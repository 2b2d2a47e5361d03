/* Owns what is told of idle chunks. See analyze/points/idle.h. */
#include "analyze/points/idle.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

static void add_toucher(pfa_idle_t *idle, const pfa_kind_t *kind)
{
    idle->last = idle->last != NULL ? idle->last : pfa_memory_get(PFA_TOUCHERS, sizeof *idle->last);
    for (size_t i = 0; i < PFA_TOUCHERS; i++) {
        pfa_toucher_t *toucher = &idle->last[i];
        if (toucher->source == NULL) {
            *toucher = (pfa_toucher_t){.source = kind->source, .thread = kind->last_thread};
        }
        if (toucher->source == kind->source && toucher->thread == kind->last_thread) {
            toucher->chunks += kind->weight;
            return;
        }
    }
    idle->others += kind->weight;
}

void pfa_idle_add(pfa_idle_t *idle, const pfa_kind_t *kind, double ns, double life)
{
    idle->ns += kind->weight * ns;
    idle->lives += kind->weight * life;
    idle->chunks += kind->weight;
    if (kind->last_thread != 0) {
        add_toucher(idle, kind);
    }
}

void pfa_idle_free(pfa_idle_t *idle)
{
    pfa_memory_free(idle->last);
}

const pfa_toucher_t *pfa_idle_last(const pfa_idle_t *idle)
{
    const pfa_toucher_t *most = NULL;
    for (size_t i = 0; idle->last != NULL && i < PFA_TOUCHERS && idle->last[i].source != NULL; i++) {
        most = most == NULL || idle->last[i].chunks > most->chunks ? &idle->last[i] : most;
    }
    return most != NULL && most->chunks > idle->others ? most : NULL;
}
