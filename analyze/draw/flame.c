/* Owns the tree of a flame graph: paths with their repetitions folded, names once each. See analyze/draw/flame.h. */
#include "analyze/draw/flame.h"
#include "analyze/draw/flame_tree.h"
#include "analyze/tool/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MOST = 8, REPEATS_LEAST = 4, SLOTS_FIRST = 1024 };

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text != '\0'; text++) {
        hash = mix(hash, (unsigned char)*text);
    }
    return hash;
}

static uint64_t hash_node(const pfa_flame_node_t *node)
{
    /* One after the other: both often grow in step, and would cancel each other. */
    return mix(mix(mix(1, node->parent), node->name), node->most != 0);
}

static void grow_texts(pfa_flame_t *flame)
{
    free(flame->text_slots);
    flame->text_slot_count *= 2;
    flame->text_slots = pfa_memory_get(flame->text_slot_count, sizeof *flame->text_slots);
    for (size_t i = 0; i < flame->text_count; i++) {
        size_t at = hash_text(flame->texts[i]) & (flame->text_slot_count - 1);
        while (flame->text_slots[at] != 0) {
            at = (at + 1) & (flame->text_slot_count - 1);
        }
        flame->text_slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t number_of_text(pfa_flame_t *flame, const char *text)
{
    if (2 * flame->text_count >= flame->text_slot_count) {
        grow_texts(flame);
    }
    size_t at = hash_text(text) & (flame->text_slot_count - 1);
    for (; flame->text_slots[at] != 0; at = (at + 1) & (flame->text_slot_count - 1)) {
        if (strcmp(flame->texts[flame->text_slots[at] - 1], text) == 0) {
            return flame->text_slots[at] - 1;
        }
    }
    flame->texts = pfa_memory_grow(flame->texts, &flame->text_room, flame->text_count + 1, sizeof *flame->texts);
    flame->texts[flame->text_count] = pfa_memory_copy(text, strlen(text));
    flame->text_slots[at] = (uint32_t)++flame->text_count;
    return (uint32_t)flame->text_count - 1;
}

static void grow_slots(pfa_flame_t *flame)
{
    free(flame->slots);
    flame->slot_count *= 2;
    flame->slots = pfa_memory_get(flame->slot_count, sizeof *flame->slots);
    for (size_t i = 1; i < flame->count; i++) {
        size_t at = hash_node(&flame->nodes[i]) & (flame->slot_count - 1);
        while (flame->slots[at] != 0) {
            at = (at + 1) & (flame->slot_count - 1);
        }
        flame->slots[at] = (uint32_t)i + 1;
    }
}

/* The child that is like this one, made if there is none. */
static uint32_t find_child(pfa_flame_t *flame, const pfa_flame_node_t *like)
{
    if (2 * flame->count >= flame->slot_count) {
        grow_slots(flame);
    }
    size_t at = hash_node(like) & (flame->slot_count - 1);
    for (; flame->slots[at] != 0; at = (at + 1) & (flame->slot_count - 1)) {
        pfa_flame_node_t *node = &flame->nodes[flame->slots[at] - 1];
        if (node->parent == like->parent && node->name == like->name && (node->most != 0) == (like->most != 0)) {
            node->least = like->least < node->least ? like->least : node->least;
            node->most = like->most > node->most ? like->most : node->most;
            return flame->slots[at] - 1;
        }
    }
    flame->nodes = pfa_memory_grow(flame->nodes, &flame->room, flame->count + 1, sizeof *flame->nodes);
    flame->nodes[flame->count] = *like;
    flame->slots[at] = (uint32_t)++flame->count;
    return (uint32_t)flame->count - 1;
}

pfa_flame_t *pfa_flame_new(void)
{
    pfa_flame_t *flame = pfa_memory_get(1, sizeof *flame);
    flame->text_slot_count = SLOTS_FIRST;
    flame->text_slots = pfa_memory_get(flame->text_slot_count, sizeof *flame->text_slots);
    flame->slot_count = SLOTS_FIRST;
    flame->slots = pfa_memory_get(flame->slot_count, sizeof *flame->slots);
    number_of_text(flame, ""); /* PFA_FLAME_NOTHING */
    flame->nodes = pfa_memory_grow(NULL, &flame->room, 1, sizeof *flame->nodes);
    flame->nodes[PFA_FLAME_ROOT] = (pfa_flame_node_t){.name = number_of_text(flame, "all"), .tone = PFA_TONE_UNKNOWN};
    flame->count = 1;
    return flame;
}

void pfa_flame_free(pfa_flame_t *flame)
{
    for (size_t i = 0; i < flame->text_count; i++) {
        free(flame->texts[i]);
    }
    free(flame->texts);
    free(flame->text_slots);
    free(flame->nodes);
    free(flame->slots);
    free(flame->path);
    free(flame);
}

/* How often the frames from here on, so many of them, come one after the other. */
static size_t count_repeats(const uint32_t *path, size_t count, size_t period)
{
    size_t same = 0;
    while (period + same < count && path[period + same] == path[same]) {
        same++;
    }
    return same / period + 1;
}

/* The period whose repetitions reach furthest; of those that reach as far, the shortest. *repeats is 1 if nothing repeats. */
static size_t find_period(const uint32_t *path, size_t count, size_t *repeats)
{
    size_t best = 1;
    *repeats = 1;
    for (size_t period = 1; period <= PERIOD_MOST && period < count; period++) {
        size_t times = count_repeats(path, count, period);
        if (times >= REPEATS_LEAST && times * period > *repeats * best) {
            best = period;
            *repeats = times;
        }
    }
    return best;
}

void pfa_flame_add(pfa_flame_t *flame, const pfa_flame_step_t *path, size_t count, double value)
{
    uint32_t at = PFA_FLAME_ROOT;
    flame->path = pfa_memory_grow(flame->path, &flame->path_room, count, sizeof *flame->path);
    for (size_t i = 0; i < count; i++) {
        flame->path[i] = number_of_text(flame, path[i].name);
    }
    for (size_t i = 0; i < count;) {
        size_t repeats;
        size_t period = find_period(flame->path + i, count - i, &repeats);
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
    flame->nodes[at].self += isfinite(value) && value > 0 ? value : 0;
}

double pfa_flame_total(const pfa_flame_t *flame)
{
    double total = 0;
    for (size_t i = 0; i < flame->count; i++) {
        total += flame->nodes[i].self;
    }
    return total;
}
