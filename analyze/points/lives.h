/* How long the chunks of a point live, by powers of two, so that a few that live long can be told from the others: they say nothing
 * of how many are there at once while the others come and go. */
#ifndef PFA_ANALYZE_POINTS_LIVES_H
#define PFA_ANALYZE_POINTS_LIVES_H

enum { PFA_LIVES = 48 };

/* Of chunks that live less than 1 ns, than 2, than 4, ...; the last has all that live longer. Weighted. */
typedef struct pfa_lives {
    double chunks[PFA_LIVES];
    double sums[PFA_LIVES]; /* of their lives */
} pfa_lives_t;

void pfa_lives_add(pfa_lives_t *lives, double life, double weight);
/* The least power of two that nine of ten chunks do not live longer than, and no less than `least`. */
double pfa_lives_cap(const pfa_lives_t *lives, double least);
/* The sum of all lives, those that are longer than such a power of two cut to it; and of how many chunks. */
double pfa_lives_capped(const pfa_lives_t *lives, double cap);
double pfa_lives_chunks(const pfa_lives_t *lives);

#endif
