/* The path of a call stack, frame by frame, as graphs and JSON tell it. */
#ifndef PFA_ANALYZE_FLAME_PATH_H
#define PFA_ANALYZE_FLAME_PATH_H

#include "analyze/flame/flame.h"

/* What frames are coloured by. */
typedef enum pfa_tone { PFA_TONE_OWN, PFA_TONE_LIBRARY, PFA_TONE_RUNTIME, PFA_TONE_UNKNOWN, PFA_TONES } pfa_tone_t;

typedef struct pfa_flame_step {
    const char *name;
    const char *extra; /* more about it, told where it is pointed at: that of the first path counts; NULL: nothing */
    pfa_tone_t tone;
    bool alone; /* no function: not folded with those behind it, whatever they are called */
} pfa_flame_step_t;

/* One that is all zeros is empty. */
typedef struct pfa_path {
    pfa_flame_step_t *steps;
    size_t count;
    pfa_lines_t lines; /* what the steps point to, */
    struct pfa_path_text *texts;
    size_t step_room;
    size_t text_room;
} pfa_path_t;

/* From the outermost frame to the innermost, or the other way; in front of both the group, if there is a key. Replaces what was there. */
void pfa_path_fill(pfa_path_t *path, const pfa_amounts_t *amounts, const pfa_amount_t *amount, bool inverted);
void pfa_path_free(pfa_path_t *path);

#endif
