/* Owns named queries and the files that define them:
 *
 *   # a comment
 *   big = size >= 1M
 *   ours = big and
 *       not module = libthird*
 *   where ours or live
 *
 * A line that begins with a space goes on with the one before. */
#include "analyze/query/where_near.h"
#include "analyze/query/where_parse.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 16 << 20 };

typedef struct pfa_definition {
    uint32_t node;
    char *place; /* PATH:LINE */
} pfa_definition_t;

struct pfa_where_names {
    pfa_graph_t graph;
    pfa_texts_t names;
    pfa_definition_t *definitions; /* by number of the name */
    size_t room;
    pfa_texts_t later;   /* names of the file that is being read, */
    size_t *later_lines; /* and where they are */
    size_t later_room;
    uint32_t asked; /* what expressions ask for, */
    uint32_t lines; /* and lines `where` of files; PFA_GRAPH_NONE: there are none */
    uint32_t last;  /* definition of the last file */
};

pfa_where_names_t *pfa_where_names_new(void)
{
    pfa_where_names_t *names = pfa_memory_get(1, sizeof *names);
    pfa_graph_begin(&names->graph);
    names->asked = PFA_GRAPH_NONE;
    names->lines = PFA_GRAPH_NONE;
    names->last = PFA_GRAPH_NONE;
    return names;
}

void pfa_where_names_free(pfa_where_names_t *names)
{
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < names->names.count; i++) {
        pfa_memory_free(names->definitions[i].place);
    }
    pfa_memory_free(names->definitions);
    pfa_memory_free(names->later_lines);
    pfa_texts_free(&names->names);
    pfa_texts_free(&names->later);
    pfa_graph_free(&names->graph);
    pfa_memory_free(names);
}

pfa_graph_t *pfa_where_names_graph(pfa_where_names_t *names)
{
    return &names->graph;
}

uint32_t pfa_where_names_main(const pfa_where_names_t *names)
{
    if (names->asked != PFA_GRAPH_NONE) {
        return names->asked;
    }
    return names->lines != PFA_GRAPH_NONE ? names->lines : names->last;
}

uint32_t pfa_where_names_find(const pfa_where_names_t *names, const char *name, size_t size)
{
    uint32_t number = names != NULL ? pfa_texts_find(&names->names, name, size) : UINT32_MAX;
    return number != UINT32_MAX ? names->definitions[number].node : PFA_GRAPH_NONE;
}

size_t pfa_where_names_later(const pfa_where_names_t *names, const char *name, size_t size)
{
    uint32_t number = names != NULL ? pfa_texts_find(&names->later, name, size) : UINT32_MAX;
    return number != UINT32_MAX ? names->later_lines[number] : 0;
}

const char *pfa_where_names_near(const pfa_where_names_t *names, bool only_fields, const char *name, size_t size,
                                 char text[PFA_NEAR_TEXT])
{
    pfa_near_t near;
    pfa_near_begin(&near, name, size);
    for (size_t i = 0; !only_fields && names != NULL && i < names->names.count; i++) {
        pfa_near_try(&near, names->names.list[i]);
    }
    for (size_t i = 0; i < PFA_FIELDS; i++) {
        pfa_near_try(&near, pfa_field_facts[i].name);
    }
    text[0] = '\0';
    if (near.best != NULL) {
        snprintf(text, PFA_NEAR_TEXT, " (did you mean '%s'?)", near.best);
    }
    return text;
}

static size_t find_line_end(const char *text, size_t at)
{
    return at + strcspn(text + at, "\n");
}

static size_t find_word_end(const char *text, size_t at)
{
    while (pfa_lex_is_of_word(text[at])) {
        at++;
    }
    return at;
}

static bool goes_on(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '#';
}

/* The end of what begins at `at`, with all lines that go on with it. */
static size_t find_end(const char *text, size_t at)
{
    size_t end = find_line_end(text, at);
    while (text[end] != '\0' && goes_on(text[end + 1])) {
        end = find_line_end(text, end + 1);
    }
    return end;
}

/* Whether `name =` is at `at`. */
static bool is_definition(const char *text, size_t at, size_t *name_size)
{
    size_t end = find_word_end(text, at);
    *name_size = end - at;
    return end > at && text[end + strspn(text + end, " \t")] == '=';
}

static void note_later(pfa_where_names_t *names, const char *text)
{
    size_t line = 1;
    pfa_texts_free(&names->later);
    for (size_t at = 0; text[at] != '\0'; line++) {
        size_t size;
        if (is_definition(text, at, &size)) {
            uint32_t number = pfa_texts_put(&names->later, text + at, size);
            names->later_lines =
                pfa_memory_grow(names->later_lines, &names->later_room, number + 1, sizeof *names->later_lines);
            names->later_lines[number] = line;
        }
        at = find_line_end(text, at);
        at += text[at] == '\n';
    }
}

static void define(pfa_where_names_t *names, const pfa_parse_t *parse, size_t at, size_t size, uint32_t node)
{
    pfa_notes_t place = {.list = NULL};
    uint32_t number = pfa_texts_put(&names->names, parse->lex.text + at, size);
    names->definitions = pfa_memory_grow(names->definitions, &names->room, number + 1, sizeof *names->definitions);
    pfa_notes_add(&place, "%s:%zu", parse->lex.path, pfa_lex_line(parse->lex.text, at));
    names->definitions[number] = (pfa_definition_t){.node = node, .place = place.list[0]};
    pfa_memory_free(place.list);
}

static void check_name(pfa_where_names_t *names, pfa_parse_t *parse, size_t at, size_t size)
{
    const char *name = parse->lex.text + at;
    uint32_t number = pfa_texts_find(&names->names, name, size);
    char shown[PFA_LEX_SHOWN];
    pfa_lex_t word = {.text = parse->lex.text, .at = at, .next = at + size, .token = PFA_TOKEN_WORD};
    (void)pfa_lex_show(&word, shown);
    if (number != UINT32_MAX) {
        pfa_lex_fail(&parse->lex, at, "%s is already defined in %s", shown, names->definitions[number].place);
    } else if (pfa_parse_is_reserved(name, size)) {
        pfa_lex_fail(&parse->lex, at, "%s belongs to the language and cannot be defined", shown);
    }
}

/* One definition or line `where`, from `at` to `end`. */
static void read_entry(pfa_where_names_t *names, pfa_parse_t *parse, size_t at, size_t end, bool *has_main)
{
    const char *text = parse->lex.text;
    size_t size;
    bool definition = is_definition(text, at, &size);
    if (definition) {
        check_name(names, parse, at, size);
        pfa_lex_begin(&parse->lex, at + size + strspn(text + at + size, " \t") + 1, end);
    } else if (size == 5 && memcmp(text + at, "where", 5) == 0) {
        if (*has_main) {
            pfa_lex_fail(&parse->lex, at, "there is a line 'where' before this one, and only one counts");
        }
        pfa_lex_begin(&parse->lex, at + size, end);
    } else {
        pfa_lex_fail(&parse->lex, at,
                     goes_on(text[at]) ? "nothing is before this line that it could go on with"
                                       : "a line begins with 'name =' or 'where', or with a space to go on");
    }
    uint32_t node = parse->lex.why == NULL ? pfa_parse_all(parse) : PFA_GRAPH_NONE;
    if (node == PFA_GRAPH_NONE) {
        return;
    }
    if (definition) {
        define(names, parse, at, size, node);
        names->last = node;
        return;
    }
    names->lines = pfa_parse_join(parse, names->lines, node);
    *has_main = true;
}

static bool is_blank(const char *text, size_t at)
{
    at += strspn(text + at, " \t\r\v\f");
    return text[at] == '\n' || text[at] == '\0' || text[at] == '#';
}

static void read_text(pfa_where_names_t *names, pfa_parse_t *parse)
{
    const char *text = parse->lex.text;
    bool has_main = false;
    names->last = PFA_GRAPH_NONE;
    note_later(names, text);
    for (size_t at = 0; text[at] != '\0' && parse->lex.why == NULL;) {
        size_t end = is_blank(text, at) ? find_line_end(text, at) : find_end(text, at);
        if (!is_blank(text, at)) {
            read_entry(names, parse, at, end, &has_main);
        }
        at = end + (text[end] == '\n');
    }
    pfa_texts_free(&names->later);
}

/* Some editors put a mark of UTF-8 in front. */
static void remove_mark(char *text, size_t size)
{
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        memmove(text, text + 3, size - 3 + 1);
    }
}

/* All of a file, with a zero behind it; or NULL with the reason. */
static char *read_file(const char *path, char **why)
{
    pfa_notes_t reason = {.list = NULL};
    char *text = NULL;
    size_t room = 0;
    size_t size = 0;
    pfa_memory_file_t *opened = pfa_memory_file_open(path);
    FILE *file = opened != NULL ? opened->file : NULL;
    for (size_t got = 1; file != NULL && got > 0 && size <= LARGEST_FILE; size += got) {
        text = pfa_memory_grow(text, &room, size + 4096 + 1, 1);
        got = fread(text + size, 1, 4096, file);
    }
    if (file == NULL || ferror(file)) {
        pfa_notes_add(&reason, "%s: cannot be read: %s", path, strerror(errno));
    } else if (size > LARGEST_FILE) {
        pfa_notes_add(&reason, "%s: is larger than %d MiB", path, LARGEST_FILE >> 20);
    } else if (memchr(text, '\0', size) != NULL) {
        pfa_notes_add(&reason, "%s: is not text: it has zero bytes", path);
    }
    pfa_memory_file_close(opened);
    if (reason.count != 0) {
        pfa_memory_free(text);
        text = NULL;
        *why = reason.list[0];
        pfa_memory_free(reason.list);
    } else {
        text[size] = '\0';
        remove_mark(text, size);
    }
    return text;
}

bool pfa_where_names_read(pfa_where_names_t *names, const char *path, char **why)
{
    char *text = read_file(path, why);
    if (text == NULL) {
        return false;
    }
    pfa_parse_t parse = {.lex = {.text = text, .path = path}, .graph = &names->graph, .names = names};
    read_text(names, &parse);
    bool read = parse.lex.why == NULL;
    if (!read) {
        *why = parse.lex.why;
        parse.lex.why = NULL;
    }
    pfa_parse_free(&parse);
    pfa_memory_free(text);
    return read;
}

bool pfa_where_names_ask(pfa_where_names_t *names, const char *text, char **why)
{
    pfa_parse_t parse = {.lex = {.text = text}, .graph = &names->graph, .names = names};
    pfa_lex_begin(&parse.lex, 0, strlen(text));
    uint32_t node = pfa_parse_all(&parse);
    node = node != PFA_GRAPH_NONE ? pfa_parse_join(&parse, names->asked, node) : node;
    if (node != PFA_GRAPH_NONE) {
        names->asked = node;
    } else {
        *why = parse.lex.why;
        parse.lex.why = NULL;
    }
    pfa_parse_free(&parse);
    return node != PFA_GRAPH_NONE;
}
