/* The tree of a flame graph and its layout; for the files of analyze/draw/flame.h alone. */
#ifndef PFA_ANALYZE_DRAW_FLAME_TREE_H
#define PFA_ANALYZE_DRAW_FLAME_TREE_H

#include "analyze/draw/flame.h"
#include "analyze/base/slots.h"

#include <stdio.h>

enum { PFA_FLAME_ROOT = 0, PFA_FLAME_NOTHING = 0 };

/* A node has a higher number than its parent. */
typedef struct pfa_flame_node {
    uint32_t parent;
    uint32_t name;  /* in texts */
    uint32_t extra; /* likewise; 0: none */
    uint32_t least; /* so often it repeats, in its paths at least and at most; */
    uint32_t most;  /* 0: it was not folded */
    pfa_tone_t tone;
    double self;
    double variance; /* of self */
} pfa_flame_node_t;

struct pfa_flame {
    char **texts; /* each once; the first is empty */
    size_t text_count;
    size_t text_room;
    pfa_slots_t text_slots;
    pfa_flame_node_t *nodes;
    size_t count;
    size_t room;
    pfa_slots_t slots; /* nodes but the root, by parent and name */
    bool by_name;      /* the order of frames on the same one */
    uint32_t *path;    /* names of the path that is added */
    size_t path_room;
};

typedef struct pfa_flame_layout {
    double *totals;    /* by node: its own amount and that of all below it */
    double *variances; /* of them */
    double *starts;    /* what lies left of it, below its parent */
    uint32_t *levels;
    uint32_t *order;  /* all nodes, those of one parent together and in their order; parents before children */
    uint32_t deepest; /* level that is drawn */
    size_t drawn;     /* so many are, */
    bool *is_drawn;
    size_t narrow; /* and so many are not, since they are too narrow, */
    size_t deep;   /* or too deep */
} pfa_flame_layout_t;

/* Frames are chosen for a picture of this width. */
void pfa_flame_lay(const pfa_flame_t *flame, double width, pfa_flame_layout_t *layout);
void pfa_flame_layout_free(pfa_flame_layout_t *layout);

/* The script of the picture, as it stands in the file. (analyze/draw/flame_script.c) */
void pfa_flame_script(FILE *to);

#endif
