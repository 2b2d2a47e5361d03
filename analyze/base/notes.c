/* Owns lists of sentences. See analyze/base/notes.h. */
#include "analyze/base/notes.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

void pfa_notes_add(pfa_notes_t *notes, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        pfa_memory_end(1, strlen(format));
    }
    pfa_text_clean(text, (size_t)length);
    notes->list = pfa_memory_grow(notes->list, &notes->room, notes->count + 1, sizeof *notes->list);
    notes->list[notes->count++] = text;
}

void pfa_notes_free(pfa_notes_t *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        free(notes->list[i]);
    }
    free(notes->list);
    *notes = (pfa_notes_t){.list = NULL};
}
