/* Owns the small things that all parts of the tool use. See analyze/tool/tool.h. */
#include "analyze/tool/tool.h"
#include "analyze/tool/commands.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void end_without_memory(size_t count, size_t size)
{
    fprintf(stderr, "profalloc: no memory for %zu times %zu bytes\n", count, size);
    exit(PFA_EXIT_FAILED);
}

void *pfa_memory_get(size_t count, size_t size)
{
    void *memory = calloc(count != 0 ? count : 1, size);
    if (memory == NULL) {
        end_without_memory(count, size);
    }
    return memory;
}

void *pfa_memory_grow(void *list, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) {
        return list;
    }
    size_t wanted = *room < 16 ? 16 : *room + *room / 2;
    wanted = wanted < needed ? needed : wanted;
    void *grown = wanted > SIZE_MAX / size ? NULL : realloc(list, wanted * size);
    if (grown == NULL) {
        end_without_memory(wanted, size);
        return NULL;
    }
    memset((char *)grown + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown;
}

void pfa_text_clean(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        text[i] = (byte < ' ' && byte != '\0') || byte == 0x7f ? ' ' : text[i];
    }
}

void *pfa_memory_copy(const void *bytes, size_t size)
{
    char *copy = pfa_memory_get(size + 1, 1);
    memcpy(copy, bytes, size);
    return copy;
}

char *pfa_memory_text(const char *text, size_t size)
{
    char *copy = pfa_memory_copy(text, size);
    pfa_text_clean(copy, size);
    return copy;
}

void pfa_notes_add(pfa_notes_t *notes, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        end_without_memory(1, strlen(format));
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

const char *pfa_text_bytes(char text[PFA_NUMBER_TEXT], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; fabs(bytes) >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        bytes /= 1024;
    }
    snprintf(text, PFA_NUMBER_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

const char *pfa_text_count(char text[PFA_NUMBER_TEXT], double count)
{
    char digits[PFA_NUMBER_TEXT];
    if (!(fabs(count) < 1e18)) {
        snprintf(text, PFA_NUMBER_TEXT, "%.3g", count);
        return text;
    }
    snprintf(digits, sizeof digits, "%.0f", count);
    size_t length = strlen(digits);
    size_t to = 0;
    for (size_t i = 0; i < length; i++) {
        text[to++] = digits[i];
        if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0) {
            text[to++] = ',';
        }
    }
    text[to] = '\0';
    return text;
}

const char *pfa_text_ns(char text[PFA_NUMBER_TEXT], double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; fabs(ns) >= 1000 && unit + 1 < sizeof units / sizeof units[0]; unit++) {
        ns /= 1000;
    }
    snprintf(text, PFA_NUMBER_TEXT,
             fabs(ns) < 10 && unit != 0    ? "%.2f %s"
             : fabs(ns) < 100 && unit != 0 ? "%.1f %s"
                                           : "%.0f %s",
             ns, units[unit]);
    return text;
}

double pfa_half_width(double variance)
{
    return 1.96 * sqrt(fmax(variance, 0));
}

const char *pfa_text_within(char text[PFA_NUMBER_TEXT], double value, double variance)
{
    if (!(variance > 0) || !(value > 0)) {
        text[0] = '\0';
        return text;
    }
    double percent = 100 * pfa_half_width(variance) / value;
    snprintf(text, PFA_NUMBER_TEXT, percent < 10 ? " ±%.1f %%" : " ±%.0f %%", percent);
    return text;
}

const char *pfa_text_plural(double count)
{
    return fabs(count - 1) < 0.5 ? "" : "s";
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pfa_progress_begin(pfa_progress_t *progress, const char *what, uint64_t total)
{
    *progress =
        (pfa_progress_t){.what = what, .total = total != 0 ? total : 1, .begun = now(), .on = isatty(STDERR_FILENO)};
}

void pfa_progress_step(pfa_progress_t *progress, uint64_t done)
{
    enum { WIDTH = 40 };
    progress->done += done;
    double time = progress->on ? now() : 0;
    if (!progress->on || time < progress->begun + 1 || time < progress->shown + 0.1) {
        return;
    }
    double part = (double)progress->done / (double)progress->total;
    part = part > 1 ? 1 : part;
    int full = (int)(part * WIDTH);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%", progress->what, full, "########################################",
            WIDTH - full, "", part * 100);
    progress->shown = time;
}

void pfa_progress_end(pfa_progress_t *progress)
{
    if (progress->shown > 0) {
        fputs("\r\033[K", stderr);
    }
    progress->on = false;
}

void pfa_tool_say(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "profalloc %s: ", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int pfa_tool_finish(const char *command, int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        pfa_tool_say(command, "cannot write the output: %s", strerror(errno));
        return PFA_EXIT_FAILED;
    }
    return status;
}

int pfa_tool_files(int argc, char **argv, const char *usage, int *status)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int option = getopt_long(argc, argv, "h", options, NULL);
    if (option == 'h' || option == '?' || optind == argc) {
        fputs(usage, option == 'h' ? stdout : stderr);
        *status = option == 'h' ? 0 : PFA_EXIT_USAGE;
        return 0;
    }
    return optind;
}
