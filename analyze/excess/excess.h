/* `profalloc excess`: which allocations are made so often and live so short that they should not be made at all, after EMAD
 * (Peiris and Hill, ICPE 2016, section 3). docs/excess.md tells how its formulas were read.
 *
 * chunks -> objects (objects.h) -> suspects, by clusters (clusters.c) or as outliers (outliers.c) -> hits, those that matter
 * (detect.c) -> text, JSON, pictures. */
#ifndef PFA_ANALYZE_EXCESS_EXCESS_H
#define PFA_ANALYZE_EXCESS_EXCESS_H

#include "analyze/base/text.h"
#include "analyze/excess/kmeans.h"
#include "analyze/excess/objects.h"
#include "analyze/excess/quartiles.h"
#include "analyze/excess/wrappers.h"
#include "analyze/query/answer.h"

#include <stdio.h>

typedef enum pfa_excess_method { PFA_EXCESS_KMEANS, PFA_EXCESS_IQR } pfa_excess_method_t;
typedef enum pfa_excess_scale { PFA_SCALE_LINEAR, PFA_SCALE_LOG } pfa_excess_scale_t;

/* A diagram of frequency and lifetime has four quarters; more clusters than that cut a quarter into slices. Quartiles of fewer than
 * four objects are made up between them, and their clusters are single objects, of which a silhouette says nothing. */
enum { PFA_EXCESS_LEAST_K = 2, PFA_EXCESS_MOST_K = 4, PFA_EXCESS_LEAST_OBJECTS = 4 };

/* Of hits; all but lifetimes from the largest on. */
typedef enum pfa_excess_order {
#define PFA_EXCESS_ORDER(name) PFA_EXCESS_BY_##name,
#include "analyze/excess/orders.def"
#undef PFA_EXCESS_ORDER
    PFA_EXCESS_ORDERS
} pfa_excess_order_t;

typedef struct pfa_time_unit {
    char name[24];
    double ns;
} pfa_time_unit_t;

typedef struct pfa_excess_options {
    pfa_excess_method_t method;
    pfa_excess_scale_t scale;
    pfa_excess_order_t order;
    unsigned clusters; /* 0: chosen by silhouette */
    uint64_t seed;
    double mu;                   /* below 0: the value of the quartiles' distance */
    const pfa_time_unit_t *unit; /* of lifetimes in ratios; NULL: chosen */
    double min_share;            /* of the run time, that hits take together */
    double max_life;             /* of its own recording's time, that a short-lived object lives on average */
    double pair_ns;              /* what an allocation and its free take; 0: as measured, or as usual */
    size_t top;                  /* hits that are told; 0: usual */
    size_t lines;                /* of each call tree */
    size_t most_objects;         /* of more, sizes are put into classes */
    pfa_wrappers_t wrappers;
    bool all_objects; /* in JSON */
} pfa_excess_options_t;

pfa_excess_options_t pfa_excess_options_standard(void);

/* A cluster on the unscaled values, of which the two conditions speak. */
typedef struct pfa_excess_cluster {
    size_t members;
    double frequency; /* means */
    double lifetime;
    double
        within; /* half the width of the interval that has the true mean lifetime with 95 %, as far as steps are to blame */
} pfa_excess_cluster_t;

/* Suspects of one caller and destroyer, whatever their sizes. */
typedef struct pfa_hit {
    uint32_t caller; /* callers.h */
    uint32_t destroyer;
    uint32_t routine;        /* that allocates all of them; PFA_ROUTINE_UNKNOWN: several do */
    const uint32_t *members; /* objects, the smallest size first */
    size_t count;
    uint32_t leader; /* the most frequent of them */
    uint64_t low;    /* sizes */
    uint64_t high;
    pfa_object_sum_t sum; /* of all together */
    double lifetime;      /* the mean */
    double ratio;
} pfa_hit_t;

typedef enum pfa_verdict {
    PFA_EXCESS_FOUND,
    PFA_EXCESS_NOTHING,    /* there are no objects, */
    PFA_EXCESS_NO_FREE,    /* or none that was freed */
    PFA_EXCESS_FEW,        /* so few were that none can be told from others */
    PFA_EXCESS_NO_CLUSTER, /* none has both the highest frequency and the lowest lifetime */
    PFA_EXCESS_NO_OUTLIER,
    PFA_EXCESS_LITTLE, /* there are suspects, and they take too little time */
} pfa_verdict_t;

/* Where the cost of a pair is from. */
typedef enum pfa_pair_from { PFA_PAIR_ASSUMED, PFA_PAIR_MEASURED, PFA_PAIR_GIVEN } pfa_pair_from_t;

typedef struct pfa_excess {
    pfa_answer_t answer;
    const pfa_excess_options_t *options; /* the caller's, which stay as long as the answer */
    pfa_query_t *query;
    pfa_callers_t callers;
    pfa_objects_t objects;
    double folded;       /* deaths that are known in sums only: left out */
    uint64_t cut;        /* of the source that is walked through: the bits that times of deaths lost, */
    double step;         /* what they are multiples of, nanoseconds, */
    double longest_step; /* and the largest of all sources */
    double run_ns;       /* in which something was recorded */
    double pair_ns;
    pfa_pair_from_t pair_from;
    pfa_verdict_t verdict;
    bool *suspect;  /* by number of the object */
    bool *reported; /* likewise: in a hit */
    size_t suspect_count;
    double suspect_ns; /* what their calls take */
    uint32_t *members; /* suspects, as hits have them */
    pfa_hit_t *hits;   /* the worst first */
    size_t hit_count;
    /* k-means */
    unsigned k;
    bool settled;
    pfa_excess_cluster_t clusters[PFA_KMEANS_MOST];
    unsigned most_frequent;
    unsigned shortest;                       /* of those that are equally short, the most frequent */
    bool equally_short;                      /* another one has a lower mean, by less than can be told or matters */
    double silhouettes[PFA_KMEANS_MOST + 1]; /* by k; NaN: not tried */
    /* outliers */
    const pfa_time_unit_t *unit;
    pfa_time_unit_t own_unit;  /* if it was chosen */
    pfa_quartiles_t quartiles; /* of ratios in that unit */
    double mu;
    double threshold;
} pfa_excess_t;

extern const char *const pfa_excess_order_names[PFA_EXCESS_ORDERS];
/* "frequency, lifetime, ..." PFA_EXCESS_ORDERS: there is none of this name. */
extern const char pfa_excess_orders[];
pfa_excess_order_t pfa_excess_order_find(const char *name);

/* NULL: there is none of this name. */
const pfa_time_unit_t *pfa_time_unit_find(const char *name);

/* How many objects have to be freed for the method to tell one from another. */
size_t pfa_excess_needed(const pfa_excess_options_t *options);
/* Whether an object that was freed may be excessive at all: it lived short. */
bool pfa_excess_may_be(const pfa_excess_t *excess, const pfa_object_t *object);
/* Marks suspects by one method or the other, among objects that were freed; there is at least one. */
void pfa_excess_cluster(pfa_excess_t *excess);
void pfa_excess_outliers(pfa_excess_t *excess);
/* Finds the hits and the verdict; and of suspects, the hits that take at least so much time. */
void pfa_excess_detect(pfa_excess_t *excess);
void pfa_excess_list_hits(pfa_excess_t *excess, double least_ns);
/* The most frequent pair of caller and destroyer, of objects that may be excessive by how long they live; `routine` and `members`
 * are not known of it. False: there is none. */
bool pfa_excess_busiest(const pfa_excess_t *excess, pfa_hit_t *busiest);
/* An object as if it were a hit by itself. */
pfa_hit_t pfa_excess_hit_of(const pfa_excess_t *excess, size_t number);

/* What calls for so many chunks take, nanoseconds; how many of a hit are alive on average from its first birth to its last death, in
 * the trace in which these are most. */
double pfa_excess_cost(const pfa_excess_t *excess, double frequency);
double pfa_excess_alive(const pfa_excess_t *excess, const pfa_hit_t *hit);
/* Whether realloc ended most of its chunks. */
bool pfa_excess_is_moved(const pfa_hit_t *hit);
/* One sentence of what to do about it; the caller frees it. */
char *pfa_excess_advice(const pfa_excess_t *excess, const pfa_hit_t *hit);
/* One sentence of why the verdict is so; the caller frees it. */
char *pfa_excess_reason(const pfa_excess_t *excess);

/* What is excessive of the chunks that a question asks for. 0 or an error number, as of pfa_answer_make. */
int pfa_excess_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_excess_options_t *options,
                       pfa_excess_t **excess);
/* 0 or an error number, as of pfa_answer_write. `charts` draws where the text has a place for charts, if objects were freed; NULL: nothing. */
int pfa_excess_text(pfa_excess_t *excess, void (*charts)(FILE *to, const pfa_excess_t *excess), FILE *to);
int pfa_excess_json(pfa_excess_t *excess, FILE *to);
/* What is missing, and remarks. */
int pfa_excess_notes(pfa_excess_t *excess, FILE *to);

/* "48 bytes", "16 to 1,024 bytes" */
enum { PFA_SIZES_TEXT = 2 * PFA_NUMBER_TEXT + 16 };
const char *pfa_text_sizes(char text[PFA_SIZES_TEXT], uint64_t low, uint64_t high);
/* "1.25 us" */
const char *pfa_text_duration(char text[PFA_NUMBER_TEXT], double ns);

#endif
