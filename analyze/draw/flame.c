/* Owns the tree of a flame graph: paths with their repetitions folded, names once each. See analyze/draw/flame.h. */
#include "analyze/draw/flame.h"
#include "analyze/base/memory.h"
#include "analyze/base/repeats.h"
#include "analyze/base/slots.h"
#include "analyze/draw/flame_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text != '\0'; text++) {
        hash = pfa_hash_mix(hash, (unsigned char)*text);
    }
    return hash;
}

static uint64_t hash_node(const pfa_flame_node_t *node)
{
    /* One after the other: both often grow in step, and would cancel each other. */
    return pfa_hash_mix(pfa_hash_mix(pfa_hash_mix(1, node->parent), node->name), node->most != 0);
}

static uint32_t number_of_text(pfa_flame_t *flame, const char *text)
{
    uint64_t hash = hash_text(text);
    pfa_probe_t probe = pfa_slots_probe(&flame->text_slots, hash);
    while (pfa_slots_next(&flame->text_slots, &probe)) {
        if (strcmp(flame->texts[probe.number], text) == 0) {
            return probe.number;
        }
    }
    flame->texts = pfa_memory_grow(flame->texts, &flame->text_room, flame->text_count + 1, sizeof *flame->texts);
    flame->texts[flame->text_count] = pfa_memory_copy(text, strlen(text));
    pfa_slots_put(&flame->text_slots, hash, (uint32_t)flame->text_count);
    return (uint32_t)flame->text_count++;
}

/* The child that is like this one, made if there is none. */
static uint32_t find_child(pfa_flame_t *flame, const pfa_flame_node_t *like)
{
    uint64_t hash = hash_node(like);
    pfa_probe_t probe = pfa_slots_probe(&flame->slots, hash);
    while (pfa_slots_next(&flame->slots, &probe)) {
        pfa_flame_node_t *node = &flame->nodes[probe.number];
        if (node->parent == like->parent && node->name == like->name && (node->most != 0) == (like->most != 0)) {
            node->least = like->least < node->least ? like->least : node->least;
            node->most = like->most > node->most ? like->most : node->most;
            return probe.number;
        }
    }
    flame->nodes = pfa_memory_grow(flame->nodes, &flame->room, flame->count + 1, sizeof *flame->nodes);
    flame->nodes[flame->count] = *like;
    pfa_slots_put(&flame->slots, hash, (uint32_t)flame->count);
    return (uint32_t)flame->count++;
}

pfa_flame_t *pfa_flame_new(void)
{
    pfa_flame_t *flame = pfa_memory_get(1, sizeof *flame);
    number_of_text(flame, ""); /* PFA_FLAME_NOTHING */
    flame->nodes = pfa_memory_grow(NULL, &flame->room, 1, sizeof *flame->nodes);
    flame->nodes[PFA_FLAME_ROOT] = (pfa_flame_node_t){.name = number_of_text(flame, "all"), .tone = PFA_TONE_UNKNOWN};
    flame->count = 1;
    return flame;
}

void pfa_flame_free(pfa_flame_t *flame)
{
    for (size_t i = 0; i < flame->text_count; i++) {
        pfa_memory_free(flame->texts[i]);
    }
    pfa_memory_free(flame->texts);
    pfa_slots_free(&flame->text_slots);
    pfa_memory_free(flame->nodes);
    pfa_slots_free(&flame->slots);
    pfa_memory_free(flame->path);
    pfa_memory_free(flame);
}

static bool is_same(const void *path, size_t left, size_t right)
{
    const uint32_t *names = path;
    return names[left] == names[right];
}

void pfa_flame_add(pfa_flame_t *flame, const pfa_flame_step_t *path, size_t count, double value, double variance)
{
    uint32_t at = PFA_FLAME_ROOT;
    flame->path = pfa_memory_grow(flame->path, &flame->path_room, count, sizeof *flame->path);
    for (size_t i = 0; i < count; i++) {
        flame->path[i] = number_of_text(flame, path[i].name);
    }
    for (size_t i = 0; i < count;) {
        size_t repeats;
        size_t period = pfa_repeats_find(flame->path, i, path[i].alone ? i + 1 : count, is_same, &repeats);
        uint32_t told = repeats > 1 ? (uint32_t)repeats : 0;
        for (size_t j = i; j < i + period; j++) {
            uint32_t extra = path[j].extra != NULL ? number_of_text(flame, path[j].extra) : PFA_FLAME_NOTHING;
            at = find_child(flame, &(pfa_flame_node_t){.parent = at,
                                                       .name = flame->path[j],
                                                       .extra = extra,
                                                       .least = told,
                                                       .most = told,
                                                       .tone = path[j].tone});
        }
        i += period * repeats;
    }
    if (isfinite(value) && value > 0) {
        flame->nodes[at].self += value;
        flame->nodes[at].variance += isfinite(variance) && variance > 0 ? variance : 0;
    }
}

void pfa_flame_by_name(pfa_flame_t *flame)
{
    flame->by_name = true;
}

double pfa_flame_total(const pfa_flame_t *flame)
{
    double total = 0;
    for (size_t i = 0; i < flame->count; i++) {
        total += flame->nodes[i].self;
    }
    return total;
}
