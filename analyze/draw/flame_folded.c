/* Owns folded stacks: the text form of a flame graph that other tools read. See pfa_flame_folded. */
#include "analyze/draw/flame_tree.h"
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Readers split lines at semicolons and take what is behind the last space for the amount. */
static void put_name(FILE *to, const char *name)
{
    uint32_t glyph;
    if (name[0] == '\0') {
        fputc('?', to);
    }
    while ((glyph = pfa_glyph_next(&name)) != 0) {
        char bytes[PFA_GLYPH_BYTES + 1];
        glyph = glyph == ';' ? ':' : glyph == ' ' || glyph == 0xa0 ? '_' : glyph == PFA_GLYPH_BAD ? '?' : glyph;
        pfa_glyph_put(glyph, bytes);
        fputs(bytes, to);
    }
}

static void put_frame(const pfa_flame_t *flame, FILE *to, const pfa_flame_node_t *node)
{
    put_name(to, flame->texts[node->name]);
    if (node->most != 0 && node->least == node->most) {
        fprintf(to, "_(x%" PRIu32 ")", node->most);
    } else if (node->most != 0) {
        fprintf(to, "_(x%" PRIu32 "-%" PRIu32 ")", node->least, node->most);
    }
}

static void put_path(const pfa_flame_t *flame, FILE *to, uint32_t node, uint32_t **path, size_t *room)
{
    size_t count = 0;
    for (uint32_t at = node; at != PFA_FLAME_ROOT; at = flame->nodes[at].parent) {
        *path = pfa_memory_grow(*path, room, count + 1, sizeof **path);
        (*path)[count++] = at;
    }
    while (count-- > 0) {
        put_frame(flame, to, &flame->nodes[(*path)[count]]);
        fputc(count != 0 ? ';' : ' ', to);
    }
    fprintf(to, "%.0f\n", round(flame->nodes[node].self));
}

/* Where each node's children begin in the order, which has those of one parent together. */
static uint32_t *find_children(const pfa_flame_t *flame, const pfa_flame_layout_t *layout)
{
    uint32_t *first = pfa_memory_get(flame->count, sizeof *first);
    for (size_t i = flame->count; i-- > 1;) {
        first[flame->nodes[layout->order[i]].parent] = (uint32_t)i;
    }
    return first;
}

/* From a node on to the next in its order: its first child, or the next of the nearest that has one. `place` is where nodes
 * are in the order. */
static uint32_t next_node(const pfa_flame_t *flame, const pfa_flame_layout_t *layout, const uint32_t *first,
                          const uint32_t *place, uint32_t node)
{
    if (first[node] != 0) {
        return layout->order[first[node]];
    }
    for (; node != PFA_FLAME_ROOT; node = flame->nodes[node].parent) {
        size_t next = (size_t)place[node] + 1;
        if (next < flame->count && flame->nodes[layout->order[next]].parent == flame->nodes[node].parent) {
            return layout->order[next];
        }
    }
    return PFA_FLAME_ROOT;
}

void pfa_flame_folded(const pfa_flame_t *flame, FILE *to)
{
    pfa_flame_layout_t layout;
    pfa_flame_lay(flame, 1, &layout);
    uint32_t *first = find_children(flame, &layout);
    uint32_t *place = pfa_memory_get(flame->count, sizeof *place);
    uint32_t *path = NULL;
    size_t room = 0;
    for (size_t i = 1; i < flame->count; i++) {
        place[layout.order[i]] = (uint32_t)i;
    }
    uint32_t node = PFA_FLAME_ROOT;
    while ((node = next_node(flame, &layout, first, place, node)) != PFA_FLAME_ROOT) {
        if (round(flame->nodes[node].self) > 0) {
            put_path(flame, to, node, &path, &room);
        }
    }
    pfa_memory_free(path);
    pfa_memory_free(place);
    pfa_memory_free(first);
    pfa_flame_layout_free(&layout);
}
