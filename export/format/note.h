/* The note (as in an ELF file's PT_NOTE) of every program and shared object that profalloc-cc makes: that its accesses are told,
 * and in which way. Known without running any of its code. */
#ifndef PFA_EXPORT_FORMAT_NOTE_H
#define PFA_EXPORT_FORMAT_NOTE_H

#include <stdint.h>

/* Of the interface between the library and instrumented modules (hooks/access/view.h). */
#define PFA_ACCESS_VERSION 9u

#define PFA_NOTE_NAME "profalloc"
#define PFA_NOTE_INSTRUMENTED 1u /* type; its value is PFA_ACCESS_VERSION, as a u32 */

typedef struct pfa_note {
    uint32_t name_size; /* with its 0 */
    uint32_t value_size;
    uint32_t type;
    char name[(sizeof PFA_NOTE_NAME + 3) / 4 * 4];
    uint32_t value;
} pfa_note_t;
_Static_assert(sizeof(pfa_note_t) == 28, "layout as in ELF files");

#endif
