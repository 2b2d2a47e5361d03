/* Owns the names of traces. See export/names.h. */
#define _GNU_SOURCE 1
#include "export/names.h"
#include "base/message.h"
#include "base/sys.h"
#include "export/format/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

static char pattern[PFA_NAMES_SIZE]; /* absolute, if the folder could be told */
static bool is_wanted;

bool pfa_names_wanted(void)
{
    return is_wanted;
}

void pfa_names_init(const char *wanted)
{
    pfa_text_t text = {pattern, sizeof pattern, 0};
    char folder[PFA_NAMES_SIZE];
    pattern[0] = '\0';
    is_wanted = wanted[0] != '\0' && strcmp(wanted, "none") != 0 && getauxval(AT_SECURE) == 0;
    if (wanted[0] != '/' && pfa_sys_cwd(folder, sizeof folder) > 0 && folder[0] == '/') {
        for (const char *c = folder; *c != '\0'; c++) {
            pfa_text_add(&text, *c == '%' ? "%%%%" : "%c", *c);
        }
        pfa_text_add(&text, "/");
    }
    pfa_text_add(&text, "%s", wanted);
}

size_t pfa_names_program(char *buf, size_t size)
{
    long length = pfa_sys_readlink("/proc/self/exe", buf, size);
    return length > 0 ? (size_t)length : 0;
}

size_t pfa_names_command(char *buf, size_t size)
{
    int fd = pfa_sys_open_read("/proc/self/cmdline");
    long length = fd >= 0 ? pfa_sys_read(fd, buf, size) : 0;
    if (fd >= 0) {
        (void)pfa_sys_close(fd);
    }
    return length > 0 ? (size_t)length : 0;
}

/* The last part of the program's path; a script is called after its interpreter. */
static void add_program(pfa_text_t *text)
{
    char path[PFA_NAMES_SIZE];
    size_t length = pfa_names_program(path, sizeof path - 1);
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    pfa_text_add(text, "%s", name[0] != '\0' ? name : "program");
}

static void add_field(pfa_text_t *text, char field)
{
    switch (field) {
    case 'p':
        pfa_text_add(text, "%d", pfa_sys_pid());
        break;
    case 'e':
        add_program(text);
        break;
    case 't':
        pfa_text_add(text, "%lu", (unsigned long)(pfa_sys_unix_nanoseconds() / 1000000000u));
        break;
    default:
        pfa_text_add(text, "%c", field);
    }
}

/* name.pa becomes name.2.pa. */
static void add_attempt(char *path, pfa_text_t *text, unsigned attempt)
{
    size_t length = strlen(path);
    size_t suffix = strlen(PFA_TRACE_SUFFIX);
    bool has_suffix = length > suffix && strcmp(path + length - suffix, PFA_TRACE_SUFFIX) == 0;
    text->used = has_suffix ? length - suffix : length;
    pfa_text_add(text, ".%u%s", attempt + 1, has_suffix ? PFA_TRACE_SUFFIX : "");
}

int pfa_names_expand(char *path, unsigned attempt)
{
    enum { ROOM_FOR_SUFFIXES = 32 };
    pfa_text_t text = {path, PFA_NAMES_SIZE - ROOM_FOR_SUFFIXES, 0};
    path[0] = '\0';
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c == '%' && c[1] != '\0') {
            add_field(&text, *++c);
        } else {
            pfa_text_add(&text, "%c", *c);
        }
    }
    if (attempt > 0) {
        add_attempt(path, &text, attempt);
    }
    return text.used + 1 >= text.size ? ENAMETOOLONG : 0;
}
