/* Owns the session: when a trace begins, what a round does, when it ends. See export/session.h. */
#define _GNU_SOURCE 1
#include "export/session.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "export/background.h"
#include "export/block.h"
#include "export/modules.h"
#include "export/names.h"
#include "export/triggers.h"
#include "export/writer.h"
#include "meta/depot.h"
#include "meta/accesses.h"
#include "meta/extents.h"
#include "meta/fold.h"
#include "meta/orphans.h"
#include "meta/ring.h"

#include <errno.h>
#include <string.h>

enum { WORTH_A_BLOCK = 16384 };

static struct {
    _Atomic bool open;
    bool lost;          /* it was told what */
    pfa_end_t last_end; /* how the one before ended */
    uint64_t looked_ns; /* when all rings were looked at last */
    char trace[PFA_NAMES_SIZE];
    char live[PFA_NAMES_SIZE];
} session;

/* Marks that found the writer at work: see pfa_session_mark. One thread leaves them and one writes them. */
enum { MARKS = 16 };
static struct {
    pfa_trace_mark_t mark[MARKS];
    _Atomic uint32_t left;
    _Atomic uint32_t written;
} marks;

void pfa_session_init(const char *pattern)
{
    pfa_names_init(pattern);
}

bool pfa_session_is_open(void)
{
    return pfa_load_acquire(&session.open);
}

bool pfa_session_wanted(void)
{
    return pfa_names_wanted();
}

static int write_start(pfa_trace_origin_t origin, uint64_t sample)
{
    char *payload = pfa_block_scratch();
    pfa_trace_start_t start = {.version = PFA_TRACE_VERSION,
                               .arch = pfa_counter_arch(),
                               .session = pfa_extents_head->session,
                               .pid = (uint32_t)pfa_sys_pid(),
                               .parent_pid = (uint32_t)pfa_sys_parent_pid(),
                               .counter = pfa_extents_head->start_counter,
                               .monotonic_ns = pfa_extents_head->last_monotonic_ns,
                               .unix_ns = pfa_sys_unix_nanoseconds(),
                               .counter_hz = pfa_counter_hz(),
                               .record_size = pfa_extents_head->record_size,
                               .stack_depth = (uint32_t)pfa_options.stack_depth,
                               .sample = sample,
                               .origin = origin,
                               .run = pfa_options.run};
    size_t at = sizeof start;
    start.program_size = (uint32_t)pfa_names_program(payload + at, PFA_NAMES_SIZE);
    at += start.program_size;
    start.command_size = (uint32_t)pfa_names_command(payload + at, PFA_NAMES_SIZE);
    at += start.command_size;
    start.options_size = (uint32_t)pfa_options_text(payload + at, PFA_NAMES_SIZE);
    at += start.options_size;
    memcpy(payload, &start, sizeof start);
    return pfa_block_write(PFA_BLOCK_START, payload, at);
}

/* Finds a name that is free and makes the trace under it. */
static int open_trace(void)
{
    int err = EEXIST;
    for (unsigned attempt = 0; attempt < 1000 && err == EEXIST; attempt++) {
        err = pfa_names_expand(session.trace, attempt);
        err = err != 0 ? err : pfa_block_open(session.trace);
    }
    if (err == 0) {
        memcpy(session.live, session.trace, sizeof session.live);
        strcat(session.live, PFA_LIVE_SUFFIX);
        (void)pfa_sys_unlink(session.live); /* of a trace that is gone */
    }
    return err;
}

static void say_no_trace(int err)
{
    pfa_say("no trace can be written to '%s' (%s): chunks are counted and nothing more", session.trace,
            pfa_sys_why(err));
}

static void close_trace(void)
{
    pfa_block_forget();
    (void)pfa_sys_unlink(session.trace);
    session.live[0] = '\0'; /* the name is anybody's from now on */
}

/* Writes the first block, without which a file is no trace. */
static int begin_trace(pfa_trace_origin_t origin, uint64_t sample)
{
    pfa_extents_head->session = pfa_sys_random();
    __atomic_store_n(&pfa_extents_head->start_counter, pfa_counter(), __ATOMIC_RELAXED);
    pfa_extents_head->ended = PFA_LIVE_RUNNING;
    pfa_extents_head->record_size = pfa_accesses_kept ? 64 : 32;
    pfa_writer_clock();
    pfa_extents_name_trace(session.trace, pfa_block_identity());
    int err = write_start(origin, sample);
    const char *table = pfa_extents_path();
    bool beside = table[0] == '\0' || strcmp(table, session.live) == 0;
    return err != 0 || beside ? err : pfa_block_write(PFA_BLOCK_TABLE, table, strlen(table));
}

static void begin(pfa_trace_origin_t origin)
{
    if (origin == PFA_ORIGIN_FORK) {
        pfa_writer_modules_again();
    } else {
        pfa_writer_modules();
    }
    session.lost = false;
    pfa_triggers_reset();
    pfa_fold_prepare();
    if (origin == PFA_ORIGIN_NEXT) { /* chunks that were born since the last one have no stacks: they are of neither */
        __atomic_store_n(&pfa_extents_head->start_counter, pfa_counter(), __ATOMIC_RELAXED);
    }
    pfa_store_relaxed(&marks.written, pfa_load_relaxed(&marks.left)); /* of a trace before this */
    pfa_store_release(&session.open, true);
    pfa_ring_set_open(true);
}

int pfa_session_open(uint64_t sample)
{
    bool wanted = pfa_names_wanted();
    pfa_lock(PFA_LOCK_WRITER);
    int err = wanted ? open_trace() : ENOENT;
    if (err == 0) {
        err = pfa_extents_open(session.live);
        err = err != 0 ? err : pfa_writer_reset();
        err = err != 0 ? err : begin_trace(PFA_ORIGIN_FIRST, sample);
        err = err != 0 ? err : pfa_depot_open();
        if (err != 0) {
            pfa_extents_unlink();
            close_trace();
        }
    }
    if (wanted && err != 0) {
        say_no_trace(err);
    }
    int failed = err != 0 ? pfa_extents_open(NULL) : 0;
    failed = failed != 0 || err == 0 ? failed : pfa_depot_open();
    if (err == 0) {
        begin(PFA_ORIGIN_FIRST);
    } else if (failed == 0) {
        pfa_extents_head->ended = PFA_LIVE_ENDED; /* another may be begun, under another name */
    }
    pfa_unlock(PFA_LOCK_WRITER);
    return failed;
}

static void remove_live(void)
{
    pfa_extents_unlink();
    if (session.live[0] != '\0') { /* another name for it, perhaps */
        (void)pfa_sys_unlink(session.live);
    }
}

/* The final picture while other threads may go on. What they free meanwhile is told from it by whole times. */
static int final_picture(void)
{
    pfa_writer_drain_before_final();
    int err = pfa_writer_picture("", PFA_LIVE_FINAL, true);
    pfa_writer_drain(PFA_BATCH_AFTER_LIVE);
    return err;
}

/* The same where there are none, for a third of the size; somebody who frees nevertheless undoes it. */
static int final_picture_alone(void)
{
    bool urgent;
    pfa_writer_drain(0);
    if (!pfa_ring_settle()) { /* threads whose destructors have run are not known, and may free */
        return final_picture();
    }
    int err = pfa_writer_picture("", PFA_LIVE_FINAL, false);
    return pfa_ring_backlog(&urgent) == 0 ? err : final_picture();
}

static void write_marks(void)
{
    uint32_t left = pfa_load_acquire(&marks.left);
    for (uint32_t at = pfa_load_relaxed(&marks.written); at != left; at++) {
        (void)pfa_writer_block(PFA_BLOCK_MARK, &marks.mark[at % MARKS], sizeof marks.mark[0]);
        pfa_store_release(&marks.written, at + 1); /* partner: leave_mark */
    }
}

static void end_locked(pfa_end_t how)
{
    write_marks();
    pfa_writer_modules();
    session.last_end = how;
    bool is_last = how == PFA_END_EXIT || how == PFA_END_EXEC;
    int err = is_last ? final_picture_alone() : final_picture();
    pfa_writer_particulars();
    pfa_ring_set_open(false);
    pfa_store_release(&session.open, false);
    err = pfa_block_end(how) != 0 ? EIO : err;
    if (err == 0) { /* else the live table has what the trace has not */
        pfa_extents_head->ended = PFA_LIVE_ENDED;
        if (is_last) {
            remove_live();
        }
    }
}

void pfa_session_forget(void)
{
    pfa_lock(PFA_LOCK_WRITER);
    if (!pfa_session_is_open() && pfa_extents_head != NULL && pfa_extents_head->ended == PFA_LIVE_ENDED) {
        remove_live();
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

void pfa_session_end(pfa_end_t how)
{
    pfa_lock(PFA_LOCK_WRITER);
    if (pfa_session_is_open()) {
        end_locked(how);
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

void pfa_session_abandon(void)
{
    if (pfa_session_is_open()) {
        pfa_extents_head->ended = PFA_LIVE_LEFT;
    }
}

void pfa_session_flush(void)
{
    pfa_lock(PFA_LOCK_WRITER);
    if (pfa_session_is_open()) {
        write_marks();
        pfa_writer_modules();
        pfa_writer_drain(0);
        pfa_writer_particulars();
        pfa_extents_head->ended = PFA_LIVE_LEFT;
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

static void picture_locked(const char *name, int *err)
{
    pfa_writer_modules();
    pfa_writer_drain(0);
    *err = pfa_writer_picture(name, 0, false);
    pfa_writer_particulars();
}

int pfa_session_picture(const char *name)
{
    int err = EBADF;
    pfa_lock(PFA_LOCK_WRITER);
    if (pfa_session_is_open()) {
        picture_locked(name, &err);
    }
    pfa_unlock(PFA_LOCK_WRITER);
    return err;
}

void pfa_session_pictures_every(uint64_t allocations)
{
    pfa_lock(PFA_LOCK_WRITER);
    pfa_triggers_every(allocations);
    pfa_unlock(PFA_LOCK_WRITER);
}

/* The background thread writes it, if there is one: it may be waiting for the disk. */
void pfa_session_modules(void)
{
    if (!pfa_session_is_open()) {
        return;
    }
    if (pfa_background_exists() && pfa_modules_note()) {
        pfa_background_wake();
    } else {
        pfa_lock(PFA_LOCK_WRITER);
        if (pfa_session_is_open()) {
            pfa_writer_modules();
        }
        pfa_unlock(PFA_LOCK_WRITER);
    }
}

/* Leaves it to whoever has the writer's lock, perhaps for a whole picture. Under PFA_LOCK_PROCESS. */
static bool leave_mark(const pfa_trace_mark_t *mark)
{
    uint32_t left = pfa_load_relaxed(&marks.left);
    if (left - pfa_load_acquire(&marks.written) == MARKS) {
        return false;
    }
    marks.mark[left % MARKS] = *mark;
    pfa_store_release(&marks.left, left + 1); /* partner: write_marks */
    pfa_background_ask();
    return true;
}

void pfa_session_mark(pfa_mark_t what)
{
    pfa_trace_mark_t mark = {.time = pfa_counter(), .what = (uint32_t)what};
    bool locked = pfa_try_lock(PFA_LOCK_WRITER);
    if (!locked && leave_mark(&mark)) {
        return;
    }
    if (!locked) {
        pfa_lock(PFA_LOCK_WRITER);
    }
    if (pfa_session_is_open()) {
        write_marks();
        (void)pfa_writer_block(PFA_BLOCK_MARK, &mark, sizeof mark);
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

void pfa_session_lost(const char *text)
{
    pfa_trace_mark_t mark = {.time = pfa_counter(), .what = PFA_MARK_LOST, .text_size = (uint32_t)strlen(text)};
    pfa_lock(PFA_LOCK_WRITER);
    if (pfa_session_is_open() && !session.lost) {
        char *payload = pfa_block_scratch();
        session.lost = true;
        memcpy(payload, &mark, sizeof mark);
        memcpy(payload + sizeof mark, text, mark.text_size);
        (void)pfa_writer_block(PFA_BLOCK_MARK, payload, sizeof mark + mark.text_size);
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

void pfa_session_unloaded(void)
{
    if (pfa_session_is_open()) {
        pfa_session_lost(
            "names of code: this child of a threaded process has threads itself, and has unloaded a library; "
            "what was loaded in its place may have its name");
    }
}

/* The path of our own table, if it is not beside the trace. */
static bool is_on_shelf(char *path, size_t size)
{
    pfa_lock(PFA_LOCK_WRITER);
    const char *table = pfa_extents_path();
    bool is_there = pfa_session_is_open() && table[0] != '\0' && strcmp(table, session.live) != 0;
    pfa_text_t text = {path, size, 0};
    pfa_text_add(&text, "%s", is_there ? table : "");
    pfa_unlock(PFA_LOCK_WRITER);
    return is_there;
}

void pfa_session_remove_orphans(void)
{
    static bool done;
    char path[PFA_NAMES_SIZE];
    if (done || !pfa_session_is_open()) {
        return;
    }
    done = true;
    if (!pfa_sys_is_filtered() && is_on_shelf(path, sizeof path)) {
        pfa_orphans_remove(path);
    }
}

/* Of thousands of rings, most of the time only those that ask for it are looked at. */
static void drain_some(void)
{
    enum { FEW = 256, ALL_AFTER_NS = 100000000 };
    bool urgent;
    uint64_t now = pfa_sys_nanoseconds();
    if (pfa_ring_count() > FEW && now - session.looked_ns < ALL_AFTER_NS) {
        pfa_writer_drain_urgent(0);
        return;
    }
    session.looked_ns = now;
    pfa_ring_forget_urgent();
    if (pfa_ring_backlog(&urgent) >= WORTH_A_BLOCK || urgent) {
        pfa_writer_drain(0);
    }
}

static void round_locked(void)
{
    const char *picture;
    if (pfa_session_is_open()) {
        drain_some();
        write_marks();
        pfa_writer_clock();
        pfa_writer_modules();
        picture = pfa_triggers_due();
        if (picture != NULL) {
            int err;
            picture_locked(picture, &err);
        }
    }
}

/* One drain for each time the lock is held: others want it too, for a fork or an exit, however much comes in. */
void pfa_session_round(void)
{
    enum { AT_MOST = 64 };
    bool more = true;
    for (int i = 0; i < AT_MOST && more; i++) {
        pfa_lock(PFA_LOCK_WRITER);
        round_locked();
        pfa_unlock(PFA_LOCK_WRITER);
        pfa_sys_yield();
        more = pfa_ring_any_urgent();
    }
}

bool pfa_session_try_round(void)
{
    if (!pfa_try_lock(PFA_LOCK_WRITER)) {
        return false;
    }
    round_locked();
    pfa_unlock(PFA_LOCK_WRITER);
    return true;
}

const char *pfa_session_new_path(void)
{
    if (!pfa_names_wanted()) {
        return NULL;
    }
    int err = open_trace();
    if (err != 0) {
        say_no_trace(err);
    }
    return err == 0 ? session.live : NULL;
}

bool pfa_session_may_reopen(void)
{
    return !pfa_session_is_open() && pfa_extents_head->ended == PFA_LIVE_ENDED;
}

/* The live table is the same: threads are at work on it. */
static void reopen_locked(const char *live, uint64_t sample)
{
    pfa_extents_rename(live);
    pfa_store_relaxed(&pfa_extents_head->unrecorded, 0);
    pfa_store_relaxed(&pfa_extents_head->inherited, 0);
    pfa_ring_begin_again();
    pfa_access_maps_begin_again();
    int err = pfa_writer_reset();
    err = err != 0 ? err : begin_trace(PFA_ORIGIN_NEXT, sample);
    if (err != 0) {
        say_no_trace(err);
        close_trace();
        pfa_extents_head->ended = PFA_LIVE_ENDED;
        return;
    }
    begin(PFA_ORIGIN_NEXT);
    if (!pfa_extents_outlive() && session.last_end != PFA_END_EXEC) { /* an exec that failed is nothing to tell of */
        pfa_say("'%s' has its live table in memory: should the process be killed, chunks alive then are lost",
                session.trace);
    }
}

void pfa_session_reopen(uint64_t sample)
{
    pfa_lock(PFA_LOCK_WRITER);
    const char *live = pfa_session_new_path();
    if (live != NULL) {
        reopen_locked(live, sample);
    }
    pfa_unlock(PFA_LOCK_WRITER);
}

bool pfa_session_leave(void)
{
    bool open = pfa_session_is_open();
    pfa_store_release(&session.open, false);
    pfa_block_after_fork();
    session.trace[0] = '\0';
    session.live[0] = '\0';
    return open;
}

void pfa_session_after_fork(int err, uint64_t sample)
{
    if (!pfa_block_is_open()) {
        return;
    }
    err = err != 0 ? err : pfa_writer_reset();
    err = err != 0 ? err : begin_trace(PFA_ORIGIN_FORK, sample);
    if (err == 0) {
        begin(PFA_ORIGIN_FORK);
    } else {
        say_no_trace(err);
        pfa_extents_unlink();
        close_trace();
    }
}
