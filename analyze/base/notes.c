/* Owns lists of sentences. See analyze/base/notes.h. */
#include "analyze/base/notes.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pfa_notes_add(pfa_notes_t *notes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    pfa_text_clean(text, strlen(text));
    notes->list = pfa_memory_grow(notes->list, &notes->room, notes->count + 1, sizeof *notes->list);
    notes->list[notes->count++] = text;
}

void pfa_notes_join(pfa_notes_t *notes, const pfa_notes_t *more)
{
    for (size_t i = 0; i < more->count; i++) {
        pfa_notes_add(notes, "%s", more->list[i]);
    }
}

void pfa_notes_free(pfa_notes_t *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        pfa_memory_free(notes->list[i]);
    }
    pfa_memory_free(notes->list);
    *notes = (pfa_notes_t){.list = NULL};
}
