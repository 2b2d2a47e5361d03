/* Owns the distance of words: how many letters are to be changed, added, left out or swapped with their neighbour. */
#include "analyze/query/where_near.h"

#include <stdbool.h>
#include <string.h>

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

static size_t measure(const char *word, size_t size, const char *other, size_t other_size)
{
    size_t rows[3][PFA_NEAR_LONGEST + 1];
    size_t *older = rows[0];
    size_t *old = rows[1];
    size_t *now = rows[2];
    for (size_t j = 0; j <= other_size; j++) {
        old[j] = j;
        older[j] = j;
    }
    for (size_t i = 1; i <= size; i++) {
        now[0] = i;
        for (size_t j = 1; j <= other_size; j++) {
            now[j] = least(old[j - 1] + (word[i - 1] != other[j - 1]), least(old[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1]) {
                now[j] = least(now[j], older[j - 2] + 1);
            }
        }
        size_t *free_row = older;
        older = old;
        old = now;
        now = free_row;
    }
    return old[other_size];
}

void pfa_near_begin(pfa_near_t *near, const char *word, size_t size)
{
    *near = (pfa_near_t){.word = word, .size = size, .distance = size <= 4 ? 1 : size < 8 ? 2 : 3};
}

void pfa_near_try(pfa_near_t *near, const char *candidate)
{
    size_t size = strlen(candidate);
    size_t apart = size > near->size ? size - near->size : near->size - size;
    if (size > PFA_NEAR_LONGEST || near->size > PFA_NEAR_LONGEST || apart > near->distance) {
        return;
    }
    size_t distance = measure(near->word, near->size, candidate, size);
    bool nearer = near->best == NULL ? distance <= near->distance : distance < near->distance;
    if (nearer && distance < size) {
        near->best = candidate;
        near->distance = distance;
    }
}
