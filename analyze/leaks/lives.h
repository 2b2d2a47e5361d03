/* How long chunks live, as histograms of a fixed size: bins on a logarithmic scale, four to a doubling, each a quarter of its
 * power of two wide. Sums are weighted. */
#ifndef PFA_ANALYZE_LEAKS_LIVES_H
#define PFA_ANALYZE_LEAKS_LIVES_H

#include <stdint.h>

/* Bin 0 is below 64 ns; the last goes on to the end of time, from 20 days on. */
enum { PFA_LIVES_FIRST = 6, PFA_LIVES_BINS = 180 };

/* From where on a bin is, in nanoseconds. */
double pfa_lives_edge(unsigned bin);

static inline unsigned pfa_lives_bin(double ns)
{
    ns += 0x1p-10; /* lives of whole nanoseconds stay on their side of an edge, whatever was rounded on the way here */
    if (!(ns >= (double)(1u << PFA_LIVES_FIRST))) {
        return 0;
    }
    uint64_t whole = ns < 0x1p62 ? (uint64_t)ns : (uint64_t)1 << 62;
    unsigned power = 63 - (unsigned)__builtin_clzll(whole);
    unsigned bin = 1 + 4 * (power - PFA_LIVES_FIRST) + (unsigned)(whole >> (power - 2) & 3);
    return bin < PFA_LIVES_BINS ? bin : PFA_LIVES_BINS - 1;
}

double pfa_lives_sum(const double bins[PFA_LIVES_BINS]);
/* So many are in this bin and above. */
double pfa_lives_from(const double bins[PFA_LIVES_BINS], unsigned bin);
/* The life that a share of them does not reach, in nanoseconds, spread evenly within its bin, and none below `least` or above
 * `most`, the shortest and the longest. */
double pfa_lives_quantile(const double bins[PFA_LIVES_BINS], double share, double least, double most);
/* The mean of what lives are longer than the edge of a bin; those that are not count as 0. */
double pfa_lives_excess(const double bins[PFA_LIVES_BINS], unsigned bin);

/* Kaplan and Meier's estimate: the share of all chunks that live on behind each bin, of the lives of those that were freed and the
 * ages of those that were not. In a bin, deaths come first. */
void pfa_lives_survival(const double freed[PFA_LIVES_BINS], const double live[PFA_LIVES_BINS],
                        double survival[PFA_LIVES_BINS]);

#endif
