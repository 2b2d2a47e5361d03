/* Owns the writing of summaries as a file. Lines of text, each a word and what it says; docs/gate.md tells all of them. */
#include "analyze/diff/summary.h"
#include "analyze/base/memory.h"
#include "analyze/base/newfile.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text must not end its line or its column, and the file is UTF-8: what would spoil that is written as \xNN. */
static void put_text(FILE *to, const char *text)
{
    while (text != NULL && *text != '\0') {
        uint32_t character;
        size_t length = pfa_text_character(text, 4, &character);
        if (length == 0 || *text == '\\' || pfa_text_steers(character)) {
            fprintf(to, "\\x%02x", (unsigned char)*text++);
        } else {
            fwrite(text, 1, length, to);
            text += length;
        }
    }
}

static void put_word(FILE *to, const char *word, const char *text)
{
    fprintf(to, "%s ", word);
    put_text(to, text);
    putc('\n', to);
}

static void put_sums(FILE *to, const char *word, const char *score, const pfa_sums_t *sums)
{
    for (size_t i = 0; i < PFA_DIFF_METRICS; i++) {
        if (sums->values[i] != 0 || sums->variances[i] != 0) {
            fprintf(to, "%s %s %.17g %.17g\n", word, pfa_diff_metrics[i].name, sums->values[i], sums->variances[i]);
        }
    }
    for (size_t i = 0; i < PFA_SCORES; i++) {
        if (sums->scored_chunks[i] > 0) {
            fprintf(to, "%s %s %.17g %.17g\n", score, pfa_score_names[i], sums->scored[i], sums->scored_chunks[i]);
        }
    }
}

static void put_line(FILE *to, const pfa_line_t *line)
{
    fprintf(to, "frame %d %" PRIu32 " %" PRIx64 "\t", line->symbol->inlined, line->symbol->line, line->address);
    put_text(to, line->module != NULL ? pfa_place_base_name(line->module) : NULL);
    putc('\t', to);
    put_text(to, line->symbol->function);
    putc('\t', to);
    put_text(to, line->symbol->file);
    putc('\t', to);
    put_text(to, line->symbol->function == NULL ? line->build : NULL); /* names do without */
    putc('\n', to);
}

static void put_point(FILE *to, const pfa_summary_point_t *point)
{
    fprintf(to, "point %" PRIu32 " %" PRIu32 " ", point->stacks, point->lines.root);
    put_text(to, point->name);
    putc('\n', to);
    for (size_t i = 0; i < point->lines.count; i++) {
        put_line(to, &point->lines.list[i]);
    }
    for (size_t i = 0; i < point->place_count; i++) {
        fprintf(to, "places %" PRIx64 "\n", point->places[i]);
    }
    put_sums(to, "value", "score", &point->sums);
    if (point->sums.leaked > 0) {
        fprintf(to, "leaked %.17g\n", point->sums.leaked);
    }
    for (size_t i = 0; i < point->size_count; i++) {
        const pfa_size_sum_t *sizes = &point->sizes[i];
        fprintf(to, "sizes %s %" PRIu32 " %.17g %.17g\n", pfa_diff_metrics[sizes->metric].name, sizes->class,
                sizes->chunks, sizes->bytes);
    }
}

static void put_run(FILE *to, const pfa_summary_t *run)
{
    fprintf(to, "run %.17g %.17g %s\n", run->seconds, run->sample, run->complete ? "complete" : "incomplete");
    put_word(to, "by", run->by);
    if (run->where[0] != '\0') {
        put_word(to, "where", run->where);
        fprintf(to, "asked %" PRIx64 "\n", run->asked);
    }
    for (size_t i = 0; i < run->files.count; i++) {
        put_word(to, "file", run->files.list[i]);
    }
    put_sums(to, "total", "total-score", &run->totals);
    for (size_t i = 0; i < run->count; i++) {
        put_point(to, &run->points[i]);
    }
    fprintf(to, "end %zu\n", run->count);
}

int pfa_summary_save(FILE *to, const pfa_summary_t *runs, size_t count)
{
    fprintf(to, "%s %d\n", PFA_SUMMARY_MAGIC, PFA_SUMMARY_VERSION);
    for (size_t i = 0; i < count; i++) {
        put_run(to, &runs[i]);
    }
    fprintf(to, "runs %zu\n", count);
    return fflush(to) != 0 || ferror(to) != 0 ? errno : 0;
}

static int put_all(int fd, const pfa_summary_t *runs, size_t count)
{
    FILE *to = fdopen(fd, "w");
    if (to == NULL) {
        int error = errno;
        (void)close(fd);
        return error;
    }
    int error = pfa_summary_save(to, runs, count);
    return fclose(to) != 0 && error == 0 ? errno : error;
}

/* What is there and is no file, a device or the name of another, is written to as it is. */
static int put_in_place(const char *path, const pfa_summary_t *runs, size_t count)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return fd < 0 ? errno : put_all(fd, runs, count);
}

/* Under another name until it is whole. */
int pfa_summary_write(const char *path, const pfa_summary_t *runs, size_t count)
{
    struct stat there;
    char *part;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        return put_in_place(path, runs, count);
    }
    int fd = pfa_newfile_open(path, &part);
    if (fd < 0) {
        return errno;
    }
    int error = put_all(fd, runs, count);
    error = error == 0 && rename(part, path) != 0 ? errno : error;
    if (error != 0) {
        (void)unlink(part);
    }
    pfa_memory_free(part);
    return error;
}
