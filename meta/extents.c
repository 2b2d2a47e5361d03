/* Owns the live table: its files and the extents in them. See meta/extents.h for who may call what. */
#include "base/lock.h"
#include "base/message.h"
#include "base/sys.h"
#include "export/format/trace.h"
#include "meta/extents_table.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define NOT_IN_FILE UINT32_MAX

#define TAIL_OFFSET offsetof(pfa_live_head_t, times)

pfa_live_head_t *pfa_extents_head;

pfa_extents_table_t pfa_extents_table;
#define table pfa_extents_table

bool pfa_extents_shared(void)
{
    return table.shared;
}

bool pfa_extents_outlive(void)
{
    return table.shared && !table.removed;
}

const char *pfa_extents_path(void)
{
    return pfa_extents_outlive() ? table.first.path : "";
}

static bool is_in_more(const pfa_live_extent_t *extent)
{
    return (extent->offset & PFA_LIVE_MORE) != 0;
}

static pfa_tablefile_t *file_of(const pfa_live_extent_t *extent)
{
    return is_in_more(extent) ? &table.more : &table.first;
}

void pfa_extents_leave_files(void)
{
    pfa_tablefile_forget(&table.first);
    pfa_tablefile_forget(&table.more);
    pfa_store_relaxed(&table.no_more, false);
    table.shared = false;
}

static int map_at(void *at, size_t size, pfa_tablefile_t *file, uint64_t offset)
{
    void *got;
    return table.shared ? pfa_tablefile_map(file, at, size, offset & ~PFA_LIVE_MORE)
                        : -pfa_sys_map(at, size, PROT_READ | PROT_WRITE, MAP_FIXED, &got);
}

/* Of records, which are mostly holes, memory without a file is taken piece by piece: pfa_extents_use. The rest can be read, by
 * pictures. */
static int map_extent(pfa_extent_kind_t kind, void *at, size_t size, pfa_tablefile_t *file, uint64_t offset)
{
    void *got;
    return table.shared || kind != PFA_EXTENT_RECORDS
               ? map_at(at, size, file, offset)
               : -pfa_sys_map(at, size, PROT_READ, MAP_FIXED | MAP_NORESERVE, &got);
}

int pfa_extents_use(uint32_t number, uint64_t offset, size_t size)
{
    return table.shared ? 0 : -pfa_sys_protect((char *)table.at[number] + offset, size, PROT_READ | PROT_WRITE);
}

/* So that nobody takes another process of the same number for this one. */
static void say_who(pfa_live_head_t *head)
{
    char text[1024];
    head->start_ticks = pfa_sys_read_text("/proc/self/stat", text, sizeof text) ? pfa_live_ticks(text) : 0;
    head->boot = pfa_sys_read_text(PFA_LIVE_BOOT_PATH, text, sizeof text) ? pfa_live_hash(text) : 0;
    long length = pfa_sys_readlink(PFA_LIVE_PID_NAMESPACE_PATH, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    head->pid_namespace =
        length > 0 ? (pfa_live_hash(text) & ~PFA_LIVE_LOCKED) | (table.first.locked ? PFA_LIVE_LOCKED : 0) : 0;
}

/* The head is mostly a table of extents, of which few are there: the others get room when their time comes. */
static int make_first(const char *path)
{
    size_t page = pfa_sys_page_size();
    size_t length = strlen(path);
    if (length + sizeof PFA_LIVE_MORE_SUFFIX > sizeof table.name) {
        return ENAMETOOLONG;
    }
    int err = pfa_tablefile_make(&table.first, path, page);
    err = err != 0 ? err : pfa_tablefile_grow(&table.first, PFA_EXTENTS_HEAD_SIZE);
    if (err != 0) {
        pfa_tablefile_remove(&table.first);
        pfa_tablefile_forget(&table.first);
        return err;
    }
    memcpy(table.name, path, length + 1);
    table.removed = false;
    /* Where links cannot be made, the trace says where it is. */
    table.linked = table.first.on_shelf && pfa_sys_symlink(table.first.path, path) == 0;
    pfa_store_relaxed(&table.head_room, page);
    return 0;
}

/* What is behind the table of extents, in a head that is mapped. */
static int make_tail_room(void *head)
{
    uint64_t mask = pfa_sys_page_size() - 1;
    uint64_t start = TAIL_OFFSET & ~mask;
    uint64_t end = (sizeof(pfa_live_head_t) + mask) & ~mask;
    return table.shared ? pfa_tablefile_make_room(&table.first, start, end - start, (char *)head + start) : 0;
}

/* Without a file nobody reads it, but a child's must differ from its parent's (alloc/places.c). */
static uint32_t number_of_process(bool has_file)
{
    static uint32_t last;
    last = !has_file && last != 0 && pfa_sys_is_frugal() ? last + 1 : (uint32_t)pfa_sys_pid();
    return last;
}

int pfa_extents_open(const char *path)
{
    if (table.shared) {
        pfa_extents_leave_files();
    }
    int err = path != NULL ? make_first(path) : 0;
    if (err != 0) {
        return err;
    }
    void *memory = pfa_extents_head;
    err = memory != NULL ? 0 : -pfa_sys_map(NULL, PFA_EXTENTS_HEAD_SIZE, PROT_NONE, MAP_NORESERVE, &memory);
    table.shared = path != NULL;
    err = err != 0 ? err : map_at(memory, PFA_EXTENTS_HEAD_SIZE, &table.first, 0);
    err = err != 0 ? err : make_tail_room(memory);
    if (err != 0) {
        pfa_extents_unlink();
        pfa_extents_leave_files();
        if (pfa_extents_head == NULL && memory != NULL) {
            (void)pfa_sys_unmap(memory, PFA_EXTENTS_HEAD_SIZE);
        }
        return err;
    }
    pfa_extents_head = memory;
    pfa_extents_head->magic = PFA_LIVE_MAGIC;
    pfa_extents_head->version = PFA_TRACE_VERSION;
    pfa_extents_head->pid = number_of_process(path != NULL);
    if (path != NULL) {
        say_who(pfa_extents_head);
    }
    pfa_store_relaxed(&pfa_extents_head->file_size, PFA_EXTENTS_HEAD_SIZE);
    return 0;
}

static _Atomic bool said_no_room;

static void say_no_room(int err)
{
    if (!pfa_swap_acq_rel(&said_no_room, true)) {
        pfa_say("no room for the live table (%s): from here on some chunks are counted and not recorded",
                pfa_sys_why(err));
    }
}

bool pfa_extents_said_no_room(void)
{
    return pfa_load_relaxed(&said_no_room);
}

/* Is there another file to turn to when this one has no room? */
static bool is_last(const pfa_tablefile_t *file)
{
    return file == &table.more || !table.first.on_shelf || pfa_load_relaxed(&table.no_more);
}

static int no_room(const pfa_tablefile_t *file, int err)
{
    if (err != 0 && is_last(file)) {
        say_no_room(err);
    }
    return err;
}

/* Makes the second file when it is first needed. */
static bool has_more(void)
{
    if (pfa_load_acquire(&table.more.open)) {
        return true;
    }
    if (pfa_load_relaxed(&table.no_more)) {
        return false;
    }
    char path[PFA_TABLEFILE_PATH];
    pfa_text_t text = {path, sizeof path, 0};
    pfa_text_add(&text, "%s" PFA_LIVE_MORE_SUFFIX, table.name);
    pfa_lock(PFA_LOCK_EXTENTS);
    if (!pfa_load_relaxed(&table.more.open)) {
        (void)pfa_sys_unlink(path); /* of a trace that is gone */
        pfa_store_relaxed(&table.more_size, PFA_LIVE_PAGE);
        pfa_store_relaxed(&table.no_more, pfa_tablefile_make_at(&table.more, path, PFA_LIVE_PAGE) != 0);
    }
    pfa_unlock(PFA_LOCK_EXTENTS);
    return pfa_load_acquire(&table.more.open);
}

bool pfa_extents_is_short(uint64_t size)
{
    return table.shared && table.first.on_shelf && pfa_tablefile_is_short(&table.first, size) && has_more();
}

/* Entries of the table of extents for what has its own bounds, so that records cannot use up all of them. */
static uint32_t entries_for(pfa_extent_kind_t kind)
{
    enum { FOR_OTHERS = PFA_LIVE_EXTENTS / 2 };
    return kind == PFA_EXTENT_RECORDS ? PFA_LIVE_EXTENTS - FOR_OTHERS : PFA_LIVE_EXTENTS;
}

/* Room in the head for the entry of this number. */
static int make_head_room(uint32_t number)
{
    uint64_t end = offsetof(pfa_live_head_t, extents) + (number + 1ull) * sizeof(pfa_live_extent_t);
    uint64_t room = pfa_load_relaxed(&table.head_room);
    if (!table.shared || end <= room) {
        return 0;
    }
    uint64_t mask = pfa_sys_page_size() - 1;
    end = (end + mask) & ~mask;
    int err =
        no_room(&table.first, pfa_tablefile_make_room(&table.first, room, end - room, (char *)pfa_extents_head + room));
    if (err == 0) {
        pfa_atomic_max(&table.head_room, end);
    }
    return err;
}

/* An entry of the table of extents, seen by readers once its kind is set. Their count never goes beyond what there is. */
static int fill_entry(pfa_extent_kind_t kind, uint32_t index, uint64_t offset, size_t size, void *at, uint32_t *number)
{
    pfa_live_head_t *head = pfa_extents_head;
    uint32_t count = pfa_load_relaxed(&head->extent_count);
    do {
        int err = count < entries_for(kind) ? make_head_room(count) : ENOSPC;
        if (err != 0) {
            return err;
        }
    } while (!pfa_cas_weak_acq_rel(&head->extent_count, &count, count + 1));
    table.at[count] = at;
    pfa_live_extent_t *extent = &head->extents[count];
    extent->index = index;
    extent->offset = offset;
    extent->size = size;
    /* Partner: pfa_extents_kind. */
    __atomic_store_n(&extent->kind, (uint32_t)kind, __ATOMIC_RELEASE);
    *number = count;
    return 0;
}

static int grow(pfa_tablefile_t *file, uint64_t size)
{
    return table.shared ? no_room(file, pfa_tablefile_grow(file, size)) : 0;
}

/* What was mapped there is nobody's any more; what was reserved before stays so. */
static void unmap(void *at, size_t size, bool keep)
{
    void *got;
    if (keep) {
        (void)pfa_sys_map(at, size, PROT_NONE, MAP_FIXED | MAP_NORESERVE, &got);
    } else {
        (void)pfa_sys_unmap(at, size);
    }
}

/* A place in one of the files, mapped over `at`. */
static int place(bool in_more, pfa_extent_kind_t kind, size_t size, void *at, uint64_t *offset)
{
    pfa_tablefile_t *file = in_more ? &table.more : &table.first;
    *offset = pfa_add_relaxed(in_more ? &table.more_size : &pfa_extents_head->file_size, size);
    int err = grow(file, *offset + size);
    err = err != 0 ? err : map_extent(kind, at, size, file, *offset);
    *offset |= in_more ? PFA_LIVE_MORE : 0;
    return err;
}

/* Without a lock: a thread that is held up in here holds up nobody. */
int pfa_extents_place(pfa_extent_kind_t kind, uint32_t index, size_t size, void **at, uint32_t *number)
{
    bool given = *at != NULL;
    uint64_t offset;
    if (pfa_load_relaxed(&pfa_extents_head->extent_count) >= entries_for(kind)) {
        return ENOSPC;
    }
    int err = given ? 0 : -pfa_sys_map(NULL, size, PROT_NONE, MAP_NORESERVE, at);
    if (err != 0) {
        return err;
    }
    /* Records are mostly holes: alloc/places.c asks when it comes to use them. */
    bool in_more = kind != PFA_EXTENT_RECORDS && pfa_extents_is_short(size);
    err = place(in_more, kind, size, *at, &offset);
    if (err != 0 && !in_more && table.shared && table.first.on_shelf && has_more()) {
        pfa_store_relaxed(&table.first.full, true);
        err = place(true, kind, size, *at, &offset);
    }
    err = err != 0 ? err : fill_entry(kind, index, offset, size, *at, number);
    if (err != 0) {
        unmap(*at, size, given);
    }
    return err;
}

bool pfa_extents_in_more(uint32_t number)
{
    return is_in_more(&pfa_extents_head->extents[number]);
}

int pfa_extents_add_twin(uint32_t number, uint32_t *twin)
{
    const pfa_live_extent_t *extent = &pfa_extents_head->extents[number];
    if (!has_more()) {
        return ENOSPC;
    }
    uint64_t offset = pfa_add_relaxed(&table.more_size, extent->size);
    int err = grow(&table.more, offset + extent->size);
    err = err != 0 ? err
                   : fill_entry((pfa_extent_kind_t)extent->kind, extent->index, offset | PFA_LIVE_MORE, extent->size,
                                table.at[number], twin);
    if (err == 0) {
        table.is_twin[*twin] = true;
    }
    return err;
}

int pfa_extents_map_twin(uint32_t twin, uint64_t offset, size_t size)
{
    return map_at((char *)table.at[twin] + offset, size, &table.more, pfa_extents_head->extents[twin].offset + offset);
}

/* For whoever records without a session. */
static int open_in_memory(void)
{
    pfa_lock(PFA_LOCK_EXTENTS);
    int err = pfa_extents_head != NULL ? 0 : pfa_extents_open(NULL);
    pfa_unlock(PFA_LOCK_EXTENTS);
    return err;
}

int pfa_extents_add(pfa_extent_kind_t kind, uint32_t index, size_t size, void *at, void **memory, uint32_t *number)
{
    int err = pfa_extents_head != NULL ? 0 : table.lost ? ENOMEM : open_in_memory();
    bool full = pfa_extents_full();
    if (err == 0 && full && kind == PFA_EXTENT_FOLDS) {
        /* Totals are kept all the same; they go with the process if it is killed. */
        *number = NOT_IN_FILE;
        return -pfa_sys_map(NULL, size, PROT_READ | PROT_WRITE, 0, memory);
    }
    err = err != 0 ? err : full ? ENOSPC : pfa_extents_place(kind, index, size, &at, number);
    if (err == 0 && memory != NULL) {
        *memory = at;
    }
    return err;
}

int pfa_extents_make_room(uint32_t number, uint64_t offset, uint64_t size)
{
    if (!table.shared || number == NOT_IN_FILE) {
        return 0;
    }
    const pfa_live_extent_t *extent = &pfa_extents_head->extents[number];
    pfa_tablefile_t *file = file_of(extent);
    void *at = (char *)table.at[number] + offset;
    return no_room(file, pfa_tablefile_make_room(file, (extent->offset & ~PFA_LIVE_MORE) + offset, size, at));
}

bool pfa_extents_full(void)
{
    return pfa_load_relaxed(&table.more.full) || (pfa_load_relaxed(&table.first.full) && is_last(&table.first));
}

void pfa_extents_drop(void *at, size_t size)
{
    (void)pfa_sys_advise(at, size, table.shared ? MADV_REMOVE : MADV_DONTNEED);
}

pfa_extent_kind_t pfa_extents_kind(uint32_t number)
{
    return (pfa_extent_kind_t)__atomic_load_n(&pfa_extents_head->extents[number].kind, __ATOMIC_ACQUIRE);
}

void *pfa_extents_at(uint32_t number)
{
    return table.at[number];
}

bool pfa_extents_next_data(uint32_t number, uint64_t *start, uint64_t *end)
{
    const pfa_live_extent_t *extent = &pfa_extents_head->extents[number];
    *end = extent->size;
    if (!table.shared) {
        return *start < extent->size;
    }
    if (!pfa_tablefile_is_reachable(file_of(extent))) { /* reading all of it would fill its holes with memory */
        return pfa_sys_next_resident(table.at[number], start, end, extent->size);
    }
    uint64_t offset = extent->offset & ~PFA_LIVE_MORE;
    uint64_t from = offset + *start;
    bool found = pfa_tablefile_next_data(file_of(extent), &from, end, offset + extent->size);
    *start = from - offset;
    *end -= offset;
    return found;
}

void pfa_extents_unlink(void)
{
    if (!table.shared) {
        return;
    }
    pfa_tablefile_remove(&table.first);
    pfa_tablefile_remove(&table.more);
    table.removed = true;
    if (table.linked) {
        (void)pfa_sys_unlink(table.name);
        table.linked = false;
    }
}

static void rename_more(void)
{
    char path[PFA_TABLEFILE_PATH];
    pfa_text_t text = {path, sizeof path, 0};
    pfa_text_add(&text, "%s" PFA_LIVE_MORE_SUFFIX, table.name);
    if (pfa_load_relaxed(&table.more.open)) {
        (void)pfa_tablefile_rename(&table.more, path);
    }
}

void pfa_extents_rename(const char *path)
{
    size_t length = strlen(path);
    if (!pfa_extents_outlive() || length + sizeof PFA_LIVE_MORE_SUFFIX > sizeof table.name) {
        return;
    }
    if (table.linked) {
        (void)pfa_sys_unlink(table.name);
    }
    /* A link also where the new name is on another file system. */
    table.linked = (table.first.on_shelf || pfa_tablefile_rename(&table.first, path) != 0) &&
                   pfa_sys_symlink(table.first.path, path) == 0;
    memcpy(table.name, path, length + 1);
    rename_more();
}

void pfa_extents_name_trace(const char *trace, uint64_t identity)
{
    size_t length = strlen(trace);
    if (length < sizeof pfa_extents_head->trace) {
        memcpy(pfa_extents_head->trace, trace, length + 1);
    }
    pfa_extents_head->trace_identity = identity;
}
