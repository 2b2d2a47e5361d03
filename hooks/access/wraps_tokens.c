/* Owns the wrapped functions that cut a text into tokens (wraps.h tells what wrapping means). They read on from where a
 * pointer of the program's says, move it, and put a terminator in the place of a separator: each of these counts. */
#include "hooks/access/wraps.h"

/* The pointer was moved; the text read from `start` to `end`, where there is a terminator now, and was one before unless `cut`. */
static PFA_NOINLINE void note_token(char **place, const char *start, const char *end, bool cut, const char *set)
{
    note_read(start, distance(start, end) + 1);
    note_read(set, __real_strlen(set) + 1);
    if (cut) {
        note_write(end, 1);
    }
    note_write(place, sizeof *place);
}

PFA_WRAPPED_WHERE(concerns(place) || concerns(*place) || concerns(set), char *, strsep, (char **place, const char *set),
                  (place, set))
{
    char *token = __real_strsep(place, set);
    note_read(place, sizeof *place);
    if (token != NULL) {
        bool cut = *place != NULL;
        note_token(place, token, cut ? *place - 1 : token + __real_strlen(token), cut, set);
    }
    return token;
}

/* Without a text it goes on where it was; separators before the token are read, too. Left is where the next one begins: behind
 * the terminator that was put there, or at the text's own. */
PFA_WRAPPED_WHERE(concerns(text != NULL ? text : *place) || either_concerns(place, set), char *, strtok_r,
                  (char *text, const char *set, char **place), (text, set, place))
{
    const char *start = text != NULL ? text : *place;
    if (text == NULL) {
        note_read(place, sizeof *place);
    }
    char *token = __real_strtok_r(text, set, place);
    const char *end = token != NULL ? token + __real_strlen(token) : *place;
    note_token(place, start, end, *place != end, set);
    return token;
}
