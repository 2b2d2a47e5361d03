/* Owns the decision that a live table is nobody's. See meta/orphans.h. */
#include "meta/orphans.h"
#include "base/message.h"
#include "base/sys.h"
#include "export/format/live.h"
#include "meta/shelf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { PATH_SIZE = 4096, STAT_SIZE = 1024 };
#define DAY_NS (24ull * 60 * 60 * 1000000000u)

typedef struct search {
    char folder[PATH_SIZE];
    uint64_t boot;
} search_t;

static const char *skip(const char *at, const char *characters)
{
    return at + strspn(at, characters);
}

/* Ours are called profalloc-PID-NUMBER.live. */
static bool is_ours(const char *name)
{
    size_t prefix = strlen(PFA_SHELF_PREFIX);
    if (strncmp(name, PFA_SHELF_PREFIX, prefix) != 0) {
        return false;
    }
    const char *end = skip(name + prefix, "0123456789");
    return end != name + prefix && *end == '-' && strcmp(skip(end + 1, "0123456789abcdef"), PFA_LIVE_SUFFIX) == 0;
}

/* What is read of a head. */
typedef struct found {
    uint64_t magic;
    uint32_t pid;
    uint64_t start_ticks;
    uint64_t boot;
    uint64_t identity; /* of its trace */
    char trace[sizeof((pfa_live_head_t *)NULL)->trace];
} found_t;

/* Is its process gone, as far as can be told? */
static bool is_gone(const search_t *search, const found_t *found)
{
    char path[64];
    char stat[STAT_SIZE];
    pfa_text_t text = {path, sizeof path, 0};
    if (found->boot != search->boot) {
        return true;
    }
    pfa_text_add(&text, "/proc/%u/stat", found->pid);
    return found->start_ticks != 0 &&
           (!pfa_sys_read_text(path, stat, sizeof stat) || pfa_live_ticks(stat) != found->start_ticks);
}

/* Was its trace deleted, or replaced by another? */
static bool has_lost_its_trace(const char *trace, uint64_t identity)
{
    uint64_t there;
    int err = pfa_sys_path_identity(trace, &there);
    return err == 0 ? there != identity : err == -ENOENT || err == -ENOTDIR;
}

#define READ(fd, name, to)                                                                                             \
    (pfa_sys_pread(fd, to, sizeof((pfa_live_head_t *)NULL)->name, offsetof(pfa_live_head_t, name)) ==                  \
     (long)sizeof((pfa_live_head_t *)NULL)->name)

static bool is_orphan(const search_t *search, int fd)
{
    found_t found;
    if (!READ(fd, magic, &found.magic) || !READ(fd, pid, &found.pid) || !READ(fd, start_ticks, &found.start_ticks) ||
        !READ(fd, boot, &found.boot) || !READ(fd, trace_identity, &found.identity) || !READ(fd, trace, found.trace)) {
        return false;
    }
    found.trace[sizeof found.trace - 1] = '\0';
    return found.magic == PFA_LIVE_MAGIC && found.trace[0] == '/' && is_gone(search, &found) &&
           has_lost_its_trace(found.trace, found.identity);
}

/* A file that nobody holds (a process has its own table locked, wherever it can be seen from), and has not changed for long. */
static void visit(void *to, const char *name)
{
    const search_t *search = to;
    char path[PATH_SIZE];
    pfa_text_t text = {path, sizeof path, 0};
    pfa_text_add(&text, "%s%s", search->folder, name);
    int fd = is_ours(name) && text.used + 1 < sizeof path ? pfa_sys_open_own(path) : -1;
    if (fd < 0) {
        return;
    }
    uint64_t changed = pfa_sys_file_changed(fd);
    uint64_t now = pfa_sys_unix_nanoseconds();
    if (changed < now && now - changed > DAY_NS && pfa_sys_lock_file(fd, true) && is_orphan(search, fd)) {
        (void)pfa_sys_unlink(path);
    }
    (void)pfa_sys_close(fd);
}

void pfa_orphans_remove(const char *path)
{
    char boot[STAT_SIZE];
    search_t search;
    const char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) + 2 > sizeof search.folder ||
        !pfa_sys_read_text(PFA_LIVE_BOOT_PATH, boot, sizeof boot)) {
        return;
    }
    search.boot = pfa_live_hash(boot);
    memcpy(search.folder, path, (size_t)(slash - path) + 1);
    search.folder[slash - path + 1] = '\0';
    pfa_sys_each_name(search.folder, visit, &search);
}
