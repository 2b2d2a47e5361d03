/* Owns the list of modules. See export/modules.h. All of it is under PFA_LOCK_MODULES. */
#define _GNU_SOURCE 1
#include "export/modules.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/sys.h"
#include "export/format/note.h"
#include "export/format/trace.h"
#include "export/loader.h"
#include "meta/depot.h"
#include "meta/thread.h"
#include "meta/unwind.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

static unsigned long long seen_adds;
static unsigned long long seen_subs;

typedef struct counts {
    unsigned long long adds;
    unsigned long long subs;
} counts_t;

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    counts_t *counts = context;
    counts->adds = info->dlpi_adds;
    counts->subs = info->dlpi_subs;
    return 1;
}

/* Has the list changed since the last one was taken? False also if that cannot be told just now. */
static bool has_changed(void)
{
    counts_t counts;
    return pfa_loader_walk(read_counts, &counts) && (counts.subs != seen_subs || counts.adds != seen_adds);
}

typedef struct list {
    char *at;
    char *end;
    uint32_t count;
    counts_t counts;
} list_t;

static char program[4096]; /* its path */

/* A library may have been loaded under a path that only holds in the folder the process is in. */
static size_t add_folder(const char *path, char *to, const char *end)
{
    if (path[0] == '/' || strchr(path, '/') == NULL || end - to < 4096) {
        return 0;
    }
    long length = pfa_sys_cwd(to, 2048); /* with its 0, which becomes the slash */
    if (length <= 1 || to[0] != '/') {
        return 0;
    }
    to[length - 1] = '/';
    return (size_t)length;
}

/* Kept from the first time on: it cannot be told any more when the main thread has ended and others go on. */
static void find_program(void)
{
    long length = pfa_sys_readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
    }
}

static void find_range(const struct dl_phdr_info *info, pfa_trace_module_t *module)
{
    module->start = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD) {
            uint64_t start = info->dlpi_addr + header->p_vaddr;
            module->start = start < module->start ? start : module->start;
            module->end = start + header->p_memsz > module->end ? start + header->p_memsz : module->end;
        }
    }
}

/* What a module's notes say. */
typedef struct notes {
    const void *build_id;
    uint16_t build_id_size;
    bool instrumented;
} notes_t;

static void take_note(const ElfW(Nhdr) * note, const char *name, const char *value, notes_t *notes)
{
    static const char ours[] = PFA_NOTE_NAME;
    uint32_t version;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 && note->n_descsz <= 64 &&
        notes->build_id == NULL) {
        notes->build_id = value;
        notes->build_id_size = (uint16_t)note->n_descsz;
    } else if (note->n_type == PFA_NOTE_INSTRUMENTED && note->n_namesz == sizeof ours &&
               memcmp(name, ours, sizeof ours) == 0 && note->n_descsz == sizeof version) {
        memcpy(&version, value, sizeof version);
        notes->instrumented = version == PFA_ACCESS_VERSION;
    }
}

static void read_segment(const char *notes, size_t size, notes_t *to)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        size_t name = at + sizeof *note;
        size_t text = name + ((note->n_namesz + 3u) & ~3u);
        if (text <= size && note->n_descsz <= size - text) {
            take_note(note, notes + name, notes + text, to);
        }
        at = text + ((note->n_descsz + 3u) & ~3u);
    }
}

static notes_t read_notes(const struct dl_phdr_info *info)
{
    notes_t notes = {.build_id = NULL};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_NOTE) {
            read_segment((const char *)(info->dlpi_addr + header->p_vaddr), header->p_memsz, &notes);
        }
    }
    return notes;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    list_t *list = context;
    pfa_trace_module_t module = {.bias = info->dlpi_addr};
    notes_t notes = read_notes(info);
    uint16_t id_size = notes.build_id_size;
    const char *path = info->dlpi_name != NULL && info->dlpi_name[0] != '\0' ? info->dlpi_name : NULL;
    path = path != NULL ? path : list->count == 0 ? program : "";
    list->counts = (counts_t){info->dlpi_adds, info->dlpi_subs};
    find_range(info, &module);
    module.build_id_size = id_size;
    module.flags = PFA_MODULE_TOLD | (notes.instrumented ? PFA_MODULE_INSTRUMENTED : 0);
    size_t path_size = strnlen(path, 4096);
    if (module.end == 0 || list->at + sizeof module + id_size + path_size > list->end) {
        return 0;
    }
    char *name = list->at + sizeof module + id_size;
    size_t folder_size = add_folder(path, name, list->end - path_size);
    memcpy(name + folder_size, path, path_size);
    module.path_size = (uint16_t)(folder_size + path_size);
    memcpy(list->at, &module, sizeof module);
    memcpy(list->at + sizeof module, notes.build_id != NULL ? notes.build_id : "", id_size);
    list->at = name + module.path_size;
    list->count++;
    return 0;
}

enum { KEPT_MAX = 1 << 20 };

static struct {
    void *bytes;
    size_t size;
} kept;

static void keep(const void *payload, size_t size)
{
    if (kept.bytes == NULL && pfa_sys_map(NULL, KEPT_MAX, PROT_READ | PROT_WRITE, MAP_NORESERVE, &kept.bytes) != 0) {
        kept.bytes = NULL;
    }
    kept.size = 0;
    pfa_fence_compiler(); /* a fork child never sees a list half copied */
    if (kept.bytes != NULL && size <= KEPT_MAX) {
        memcpy(kept.bytes, payload, size);
        pfa_fence_compiler();
        kept.size = size;
    }
}

/* The next entry of a list as it is written; NULL behind the last. */
static const char *next_module(const char *at, const char *end, pfa_trace_module_t *module, size_t *size)
{
    if ((size_t)(end - at) < sizeof *module) {
        return NULL;
    }
    memcpy(module, at, sizeof *module);
    *size = sizeof *module + module->build_id_size + module->path_size;
    return at;
}

static bool has_module(const char *list, const char *end, const char *wanted, size_t wanted_size)
{
    pfa_trace_module_t module;
    size_t size;
    for (const char *at = list; next_module(at, end, &module, &size) != NULL; at += size) {
        if (size == wanted_size && memcmp(at, wanted, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Where modules were that are no longer there. */
enum { GONE_MAX = 32 };
typedef struct gone {
    pfa_depot_range_t ranges[GONE_MAX];
    size_t count;
} gone_t;

/* What was in the list before and is not any more. */
static void find_gone(const char *list, const char *end, gone_t *gone)
{
    pfa_trace_module_t module;
    size_t size;
    const char *before = kept.bytes;
    gone->count = 0;
    if (before == NULL) { /* the first list */
        return;
    }
    if (kept.size == 0) { /* it was too long */
        gone->ranges[gone->count++] = (pfa_depot_range_t){0, UINT64_MAX};
        return;
    }
    for (const char *at = before + sizeof(pfa_trace_modules_t);
         next_module(at, before + kept.size, &module, &size) != NULL; at += size) {
        if (has_module(list, end, at, size)) {
            continue;
        }
        if (gone->count == GONE_MAX) {
            gone->ranges[0] = (pfa_depot_range_t){0, UINT64_MAX};
            return;
        }
        gone->ranges[gone->count++] = (pfa_depot_range_t){module.start, module.end};
    }
}

static size_t write_list(void *payload, size_t size, gone_t *gone)
{
    static list_t list;
    pfa_trace_modules_t head = {.first_node = 0};
    list = (list_t){.at = (char *)payload + sizeof head, .end = (char *)payload + size};
    find_program();
    if (!pfa_loader_walk(add_module, &list)) {
        return 0;
    }
    find_gone((char *)payload + sizeof head, list.at, gone);
    seen_adds = list.counts.adds;
    seen_subs = list.counts.subs;
    head.count = list.count;
    memcpy(payload, &head, sizeof head);
    size_t written = (size_t)(list.at - (char *)payload);
    keep(payload, written);
    return written;
}

static uint32_t holds_from; /* the node that the last list holds from */

/* A payload; 0: the last one still holds, or it cannot be read just now. A list that has only become longer holds for all nodes
 * that the one before it did. */
static size_t take_list(void *payload, size_t size)
{
    static gone_t gone;
    pfa_trace_modules_t head;
    size_t written = has_changed() ? write_list(payload, size, &gone) : 0;
    if (written == 0) {
        return 0;
    }
    if (gone.count != 0) {
        pfa_unwind_forget();
        holds_from = pfa_depot_renew(gone.ranges, gone.count);
        pfa_add_release(&pfa_stack_generation, 1);
    }
    memcpy(&head, payload, sizeof head);
    head.first_node = holds_from;
    memcpy(payload, &head, sizeof head);
    return written;
}

/* Lists that were taken and are not written yet, the oldest first, each in memory of its own. A fork child may find them at any
 * moment: an entry is there when the count says so, and is gone before its memory is. */
enum { NOTED_MAX = 64 };
#define NOTED_SIZE ((size_t)4 << 20)
static struct {
    void *payload;
    size_t size;
} noted[NOTED_MAX];
static uint32_t noted_count;

static bool note(void)
{
    void *memory;
    if (noted_count == NOTED_MAX ||
        pfa_sys_map(NULL, NOTED_SIZE, PROT_READ | PROT_WRITE, MAP_NORESERVE, &memory) != 0) {
        return false;
    }
    size_t size = take_list(memory, NOTED_SIZE);
    if (size == 0) {
        (void)pfa_sys_unmap(memory, NOTED_SIZE);
        return true;
    }
    noted[noted_count].payload = memory;
    noted[noted_count].size = size;
    pfa_fence_compiler();
    noted_count++;
    return true;
}

bool pfa_modules_note(void)
{
    pfa_lock(PFA_LOCK_MODULES);
    bool done = !has_changed() || note();
    pfa_unlock(PFA_LOCK_MODULES);
    return done;
}

static size_t take_noted(void *payload, size_t size)
{
    void *memory = noted[0].payload;
    size_t length = noted[0].size <= size ? noted[0].size : 0;
    memcpy(payload, memory, length);
    noted_count--;
    memmove(&noted[0], &noted[1], noted_count * sizeof noted[0]);
    (void)pfa_sys_unmap(memory, NOTED_SIZE);
    return length;
}

size_t pfa_modules_next(void *payload, size_t size)
{
    pfa_lock(PFA_LOCK_MODULES);
    size_t length = noted_count != 0 ? take_noted(payload, size) : take_list(payload, size);
    pfa_unlock(PFA_LOCK_MODULES);
    return length;
}

size_t pfa_modules_next_noted(void *payload, size_t size)
{
    pfa_lock(PFA_LOCK_MODULES);
    size_t length = noted_count != 0 ? take_noted(payload, size) : 0;
    pfa_unlock(PFA_LOCK_MODULES);
    return length;
}

void pfa_modules_reset(void)
{
    pfa_lock(PFA_LOCK_MODULES);
    seen_adds = 0;
    holds_from = 0;
    noted_count = 0; /* their memory stays: of a parent's it is not known what of it is mapped */
    pfa_unlock(PFA_LOCK_MODULES);
}

size_t pfa_modules_write_again(void *payload, size_t size, uint32_t first_node)
{
    pfa_trace_modules_t head = {.first_node = first_node};
    if (kept.size > sizeof head && kept.size <= size) {
        memcpy(payload, kept.bytes, kept.size);
        memcpy(&head, payload, sizeof head);
        head.first_node = first_node;
    }
    memcpy(payload, &head, sizeof head);
    return head.count != 0 ? kept.size : sizeof head;
}
