/* Owns what is known of terminals. See cli/term.h. */
#include "cli/term.h"
#include "analyze/draw/excess_draw.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Not by setlocale: a locale that is named but not installed still tells what the terminal shows. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && (value == NULL || value[0] == '\0'); i++) {
        value = getenv(names[i]);
    }
    return value != NULL && (strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL);
}

pfa_term_t pfa_cli_term(FILE *to)
{
    pfa_term_t term = {.width = PFA_TERM_WIDTH, .height = PFA_TERM_HEIGHT, .utf8 = locale_is_utf8()};
    struct winsize size;
    const char *off = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    if (isatty(fileno(to)) == 0) {
        return term;
    }
    term.colour = (off == NULL || off[0] == '\0') && kind != NULL && strcmp(kind, "dumb") != 0;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
        term.width = size.ws_col < PFA_TERM_NARROWEST ? PFA_TERM_NARROWEST
                     : size.ws_col > PFA_TERM_WIDEST  ? PFA_TERM_WIDEST
                                                      : size.ws_col;
    }
    return term;
}

void pfa_excess_charts(FILE *to, const pfa_excess_t *excess)
{
    pfa_term_t term = pfa_cli_term(to);
    pfa_excess_put_charts(to, &term, excess);
}
