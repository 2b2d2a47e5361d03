/* Owns the reading of files with summaries. They come from anywhere: a line that is not as docs/gate.md tells it, or a file that
 * does not end as it should, is an error that names the line; nothing is guessed. Memory grows with the file's size. */
#include "analyze/diff/summary.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/diff/words.h"
#include "analyze/names/identity.h"
#include "analyze/query/keys.h"
#include "analyze/trace/blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SIZE = 1 << 20, FRAMES_MAX = 1 << 16 };

typedef struct reading {
    const char *path;
    pfa_memory_file_t *from;
    char *line; /* of `from` */
    size_t number;
    pfa_symbols_t *texts;
    pfa_summary_t *run; /* that is read; NULL: none */
    /* Of the point that is read, until all of it is known. */
    bool has_point;
    pfa_summary_point_t point;
    pfa_lines_t lines;
    pfa_symbol_t *named;
    size_t named_room;
    const char *wrong; /* what is */
    bool ended;
    uint64_t runs; /* that the last line tells of */
} reading_t;

static bool fail(reading_t *reading, const char *wrong)
{
    reading->wrong = reading->wrong != NULL ? reading->wrong : wrong;
    return false;
}

/* NULL is the empty text. */
static const char *keep(reading_t *reading, char *text)
{
    if (text == NULL) {
        return "";
    }
    if (!pfa_words_unescape(text)) {
        (void)fail(reading, "a backslash is expected to begin \\x and two digits of a byte");
    }
    pfa_text_clean(text, strlen(text));
    return pfa_symbols_text(reading->texts, text);
}

static bool read_sums(reading_t *reading, char *rest, pfa_sums_t *sums)
{
    char *name = pfa_words_next(&rest);
    pfa_diff_metric_t metric = name != NULL ? pfa_diff_metric_find(name) : PFA_DIFF_METRICS;
    double value;
    double variance;
    if (metric == PFA_DIFF_METRICS) {
        return fail(reading, "there is no such metric");
    }
    if (!pfa_words_number(pfa_words_next(&rest), &value) || !pfa_words_number(pfa_words_next(&rest), &variance) ||
        rest != NULL) {
        return fail(reading, "a value and its variance are expected, numbers from 0 on");
    }
    if (sums->values[metric] != 0 || sums->variances[metric] != 0) {
        return fail(reading, "this metric is there twice");
    }
    sums->values[metric] = value;
    sums->variances[metric] = variance;
    return true;
}

static bool read_scored(reading_t *reading, char *rest, pfa_sums_t *sums)
{
    char *name = pfa_words_next(&rest);
    size_t score = 0;
    while (name != NULL && score < PFA_SCORES && strcmp(pfa_score_names[score], name) != 0) {
        score++;
    }
    if (name == NULL || score == PFA_SCORES || sums->scored_chunks[score] > 0) {
        return fail(reading, "there is no such score, or it is there twice");
    }
    return (pfa_words_number(pfa_words_next(&rest), &sums->scored[score]) &&
            pfa_words_number(pfa_words_next(&rest), &sums->scored_chunks[score]) && rest == NULL) ||
           fail(reading, "a score times chunks, and these chunks, are expected");
}

static bool end_point(reading_t *reading)
{
    bool is_new;
    if (!reading->has_point) {
        return true;
    }
    for (size_t i = 0; i < reading->lines.count; i++) { /* now that they no longer move */
        reading->lines.list[i].symbol = &reading->named[i];
    }
    bool by_stack = strcmp(reading->run->by, pfa_keys[0].name) == 0;
    uint64_t identity = by_stack ? pfa_identity_of_lines(&reading->lines) : pfa_identity_of_name(reading->point.name);
    pfa_summary_point_t *point = pfa_summary_put(reading->run, identity, &is_new);
    if (!is_new) {
        return fail(reading, "the point before this line is there twice");
    }
    *point = reading->point;
    point->identity = identity;
    point->kin = by_stack ? pfa_identity_kin(&reading->lines) : 0;
    pfa_summary_set_lines(point, &reading->lines, reading->texts);
    reading->has_point = false;
    return true;
}

static bool read_run(reading_t *reading, char *rest)
{
    pfa_summary_t *run = reading->run;
    bool numbers =
        pfa_words_number(pfa_words_next(&rest), &run->seconds) && pfa_words_number(pfa_words_next(&rest), &run->sample);
    char *word = pfa_words_next(&rest);
    if (!numbers || run->sample < 1 || word == NULL || rest != NULL) {
        return fail(reading, "seconds, mean bytes between samples, and complete or incomplete are expected");
    }
    run->complete = strcmp(word, "complete") == 0;
    if (!run->complete) {
        pfa_notes_add(&run->missing, "the saved summary was incomplete, and does not say why");
    }
    return run->complete || strcmp(word, "incomplete") == 0 || fail(reading, "complete or incomplete is expected");
}

static bool read_by(reading_t *reading, char *rest)
{
    const pfa_key_t *key = rest != NULL ? pfa_key_find(rest) : NULL;
    reading->run->by = key != NULL ? key->name : NULL;
    return key != NULL || fail(reading, "this is not a key that points can be grouped by");
}

static bool read_where(reading_t *reading, char *rest)
{
    reading->run->where = keep(reading, rest);
    return reading->wrong == NULL;
}

static bool read_asked(reading_t *reading, char *rest)
{
    return pfa_words_whole(pfa_words_next(&rest), 16, UINT64_MAX, &reading->run->asked) && rest == NULL
               ? true
               : fail(reading, "the number of what is asked is expected");
}

static bool read_file(reading_t *reading, char *rest)
{
    pfa_notes_add(&reading->run->files, "%s", keep(reading, rest));
    return reading->wrong == NULL;
}

static bool read_total(reading_t *reading, char *rest)
{
    return read_sums(reading, rest, &reading->run->totals);
}

static bool read_total_score(reading_t *reading, char *rest)
{
    return read_scored(reading, rest, &reading->run->totals);
}

static bool read_score(reading_t *reading, char *rest)
{
    return reading->has_point ? read_scored(reading, rest, &reading->point.sums)
                              : fail(reading, "there is no point that this score could be of");
}

static bool read_value(reading_t *reading, char *rest)
{
    return reading->has_point ? read_sums(reading, rest, &reading->point.sums)
                              : fail(reading, "there is no point that this value could be of");
}

static bool read_leaked(reading_t *reading, char *rest)
{
    double *leaked = &reading->point.sums.leaked;
    if (!reading->has_point || *leaked > 0) {
        return fail(reading, "there is no point that this could be of, or it is there twice");
    }
    if (!pfa_words_number(pfa_words_next(&rest), leaked) || rest != NULL) {
        return fail(reading, "bytes are expected");
    }
    return true;
}

static bool read_places(reading_t *reading, char *rest)
{
    uint64_t places;
    if (!reading->has_point || !pfa_words_whole(pfa_words_next(&rest), 16, UINT64_MAX, &places) || rest != NULL) {
        return fail(reading, "a point, and then the number of its places, are expected");
    }
    pfa_summary_add_places(&reading->point, places);
    return true;
}

static bool read_sizes(reading_t *reading, char *rest)
{
    char *name = pfa_words_next(&rest);
    pfa_diff_metric_t metric = name != NULL ? pfa_diff_metric_find(name) : PFA_DIFF_METRICS;
    pfa_size_sum_t sizes = {.metric = metric};
    uint64_t class;
    if (!reading->has_point || metric == PFA_DIFF_METRICS || !pfa_diff_metrics[metric].is_bytes) {
        return fail(reading, "there is no point, or no such metric in bytes, that these sizes could be of");
    }
    if (!pfa_words_whole(pfa_words_next(&rest), 10, 63, &class) ||
        !pfa_words_number(pfa_words_next(&rest), &sizes.chunks) ||
        !pfa_words_number(pfa_words_next(&rest), &sizes.bytes) || rest != NULL) {
        return fail(reading, "a class of sizes, chunks and bytes are expected");
    }
    sizes.class = (uint32_t) class;
    return pfa_summary_add_sizes(&reading->point, &sizes) || fail(reading, "this class of sizes is there twice");
}

static bool read_point(reading_t *reading, char *rest)
{
    uint64_t stacks;
    uint64_t root;
    if (!end_point(reading)) {
        return false;
    }
    if (reading->run->by == NULL) {
        return fail(reading, "the key that points are grouped by has to come before the points");
    }
    if (!pfa_words_whole(pfa_words_next(&rest), 10, UINT32_MAX, &stacks) ||
        !pfa_words_whole(pfa_words_next(&rest), 10, PFA_NODE_FIRST - 1, &root)) {
        return fail(reading, "the number of stacks and how they end are expected");
    }
    reading->point = (pfa_summary_point_t){.stacks = (uint32_t)stacks, .name = keep(reading, rest)};
    reading->lines.count = 0;
    reading->lines.root = (uint32_t)root;
    reading->has_point = true;
    return reading->wrong == NULL;
}

static const char *keep_column(reading_t *reading, char **rest)
{
    char *text = strsep(rest, "\t");
    if (text == NULL) {
        (void)fail(reading, "module, function, file and build are expected, with tabs before them");
        return NULL;
    }
    return text[0] != '\0' ? keep(reading, text) : NULL;
}

static bool read_frame(reading_t *reading, char *rest)
{
    char *columns = rest;
    char *numbers = rest != NULL ? strsep(&columns, "\t") : NULL;
    uint64_t inlined;
    uint64_t line;
    uint64_t address;
    if (!reading->has_point || reading->lines.count == FRAMES_MAX) {
        return fail(reading, "there is no point that this frame could be of");
    }
    if (!pfa_words_whole(pfa_words_next(&numbers), 10, 1, &inlined) ||
        !pfa_words_whole(pfa_words_next(&numbers), 10, UINT32_MAX, &line) ||
        !pfa_words_whole(pfa_words_next(&numbers), 16, UINT64_MAX, &address) || numbers != NULL) {
        return fail(reading, "0 or 1, a line and an address are expected");
    }
    pfa_lines_t *lines = &reading->lines;
    lines->list = pfa_memory_grow(lines->list, &lines->room, lines->count + 1, sizeof *lines->list);
    reading->named = pfa_memory_grow(reading->named, &reading->named_room, lines->count + 1, sizeof *reading->named);
    lines->list[lines->count] = (pfa_line_t){.module = keep_column(reading, &columns), .address = address};
    reading->named[lines->count] = (pfa_symbol_t){.line = (uint32_t)line, .inlined = inlined != 0};
    reading->named[lines->count].function = keep_column(reading, &columns);
    reading->named[lines->count].file = keep_column(reading, &columns);
    lines->list[lines->count].build = keep_column(reading, &columns);
    lines->count++;
    return reading->wrong == NULL && (columns == NULL || fail(reading, "there is more than the build"));
}

static bool read_end(reading_t *reading, char *rest)
{
    uint64_t count;
    if (!end_point(reading)) {
        return false;
    }
    if (!pfa_words_whole(rest, 10, UINT64_MAX, &count) || count != reading->run->count || reading->run->by == NULL) {
        return fail(reading, "the run does not have as many points as its end tells");
    }
    if ((reading->run->where[0] != '\0') != (reading->run->asked != 0)) {
        return fail(reading, "the run has only one of the words 'where' and 'asked'");
    }
    reading->run = NULL;
    return true;
}

typedef struct word {
    const char *name;
    bool (*read)(reading_t *reading, char *rest);
} word_t;

static const word_t words[] = {{"by", read_by},         {"where", read_where},
                               {"file", read_file},     {"total", read_total},
                               {"point", read_point},   {"value", read_value},
                               {"frame", read_frame},   {"end", read_end},
                               {"score", read_score},   {"total-score", read_total_score},
                               {"sizes", read_sizes},   {"asked", read_asked},
                               {"leaked", read_leaked}, {"places", read_places}};

/* A line without its end; false: there is none, or it is wrong. */
static bool next_line(reading_t *reading)
{
    size_t length;
    bool there = pfa_memory_file_line(reading->from, &length);
    reading->line = reading->from->line;
    reading->number++;
    if (!there) {
        return fail(reading, errno != 0 ? strerror(errno) : "the file ends before its last line");
    }
    if (length > LINE_MAX_SIZE || strlen(reading->line) != length) {
        return fail(reading, "this is no line of text");
    }
    if (reading->line[length - 1] != '\n') {
        return fail(reading, "the file ends within a line");
    }
    reading->line[length - 1] = '\0';
    return true;
}

static bool read_line(reading_t *reading)
{
    char *rest = reading->line;
    const char *word = strsep(&rest, " ");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].name, word) == 0) {
            return words[i].read(reading, rest);
        }
    }
    return fail(reading, "this word is not known");
}

static bool read_runs(reading_t *reading, pfa_summary_t **runs, size_t *count, size_t *room)
{
    size_t first = *count;
    while (next_line(reading)) {
        char *rest = reading->line;
        if (strncmp(rest, "runs ", 5) == 0) {
            reading->ended = pfa_words_whole(rest + 5, 10, UINT64_MAX, &reading->runs) &&
                             reading->runs == *count - first && reading->runs != 0;
            return (reading->ended || fail(reading, "the file does not have as many runs as its end tells")) &&
                   (getc(reading->from->file) == EOF || fail(reading, "there is more behind this line"));
        }
        if (strncmp(rest, "run ", 4) != 0) {
            return fail(reading, "a run is expected to begin here");
        }
        *runs = pfa_memory_grow(*runs, room, *count + 1, sizeof **runs);
        reading->run = &(*runs)[(*count)++];
        *reading->run = (pfa_summary_t){.where = ""};
        bool fine = read_run(reading, rest + 4);
        while (fine && reading->run != NULL) {
            fine = next_line(reading) && read_line(reading);
        }
        if (!fine) {
            return false;
        }
    }
    return false;
}

static bool read_head(reading_t *reading)
{
    uint64_t version;
    char *rest = reading->line;
    if (!next_line(reading)) {
        return false;
    }
    rest = reading->line;
    const char *magic = pfa_words_next(&rest);
    if (magic == NULL || strcmp(magic, PFA_SUMMARY_MAGIC) != 0 || !pfa_words_whole(rest, 10, UINT32_MAX, &version)) {
        return fail(reading, "it does not begin as a summary");
    }
    return version == PFA_SUMMARY_VERSION || fail(reading, "it is of another version; save it anew");
}

bool pfa_summary_is_file(int fd)
{
    char start[sizeof PFA_SUMMARY_MAGIC - 1];
    return pfa_file_read(fd, start, sizeof start, 0) == 0 && memcmp(start, PFA_SUMMARY_MAGIC, sizeof start) == 0;
}

bool pfa_summary_read(const char *path, int fd, pfa_summary_t **runs, size_t *count, size_t *room, pfa_symbols_t *texts,
                      char **why)
{
    reading_t reading = {
        .path = path, .from = fd < 0 ? pfa_memory_file_open(path) : pfa_memory_file_of(fd), .texts = texts};
    bool fine = reading.from != NULL && read_head(&reading) && read_runs(&reading, runs, count, room);
    if (!fine && reading.from == NULL) {
        *why = pfa_memory_format("cannot read %s: %s", path, strerror(errno));
    } else if (!fine) {
        *why = pfa_memory_format("%s is no summary, or damaged: line %zu: %s", path, reading.number,
                                 reading.wrong != NULL ? reading.wrong : "it is wrong");
    }
    pfa_memory_file_close(reading.from);
    if (reading.has_point) {
        pfa_memory_free(reading.point.sizes);
        pfa_memory_free(reading.point.places);
    }
    pfa_lines_free(&reading.lines);
    pfa_memory_free(reading.named);
    return fine;
}
