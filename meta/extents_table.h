/* What the files of extents share: meta/extents.c, which owns all of this, and meta/extents_fork.c. */
#ifndef PFA_META_EXTENTS_TABLE_H
#define PFA_META_EXTENTS_TABLE_H

#include "meta/extents.h"
#include "meta/tablefile.h"

#define PFA_EXTENTS_HEAD_SIZE ((sizeof(pfa_live_head_t) + PFA_LIVE_PAGE - 1) & ~(size_t)(PFA_LIVE_PAGE - 1))

typedef struct pfa_extents_table {
    bool shared;           /* are there files? */
    pfa_tablefile_t first; /* the head's, and of all that fits in */
    pfa_tablefile_t more;  /* on the disk, where `first` is in memory and memory is short */
    _Atomic bool no_more;  /* that one could not be made */
    _Atomic uint64_t more_size;
    _Atomic uint64_t head_room;    /* bytes of the head, from its start, that have room */
    char name[PFA_TABLEFILE_PATH]; /* where readers look for it: beside the trace */
    bool linked;                   /* that is a link to `first` */
    bool removed;
    bool lost;                  /* in a fork child: there is no table, and none is made */
    void *at[PFA_LIVE_EXTENTS]; /* where each extent is mapped */
    bool is_twin[PFA_LIVE_EXTENTS];
} pfa_extents_table_t;

extern pfa_extents_table_t pfa_extents_table;

/* As pfa_extents_add, at *at if that is not NULL, with what is mapped there left as it was if it fails. */
int pfa_extents_place(pfa_extent_kind_t kind, uint32_t index, size_t size, void **at, uint32_t *number);
/* The files are left as they are, and are ours no more. */
void pfa_extents_leave_files(void);

#endif
