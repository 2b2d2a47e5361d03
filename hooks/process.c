/* Owns the start of the library in a process, and the switching of recording. Other libraries' constructors run before
 * ours and allocate: the first allocation starts us, our constructor only catches up with what was too early then. */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "base/wiped.h"
#include "export/background.h"
#include "export/session.h"
#include "export/triggers.h"
#include "alloc/life.h"
#include "hooks/hooks.h"
#include "include/profalloc.h"
#include "meta/extents.h"
#include "meta/fold.h"
#include "meta/ring.h"
#include "meta/stack.h"
#include "meta/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

PFA_EXPORT PFA_WEAK const char *profalloc_conf;

typedef enum stage { NOTHING, STARTING, ALLOCATING, CONFIGURING, READY } stage_t;

static _Atomic uint32_t stage; /* stage_t */

static bool claim(stage_t from, stage_t to)
{
    uint32_t expected = from;
    return pfa_cas_acq_rel(&stage, &expected, to);
}

static const char *environment_conf(void)
{
    return getauxval(AT_SECURE) != 0 ? NULL : getenv("PROFALLOC_CONF");
}

/* The live table and the trace are there before the first record. */
static int open_once(uint64_t period)
{
    static bool opened;
    if (pfa_range.blind) {
        return ENOMEM;
    }
    pfa_rcu_open(pfa_session_wanted());
    int err = pfa_range_open_profiled(pfa_options.region_range, pfa_options.large_range, pfa_accesses_wanted());
    if (err == 0 && !opened) {
        err = pfa_session_open(period);
        opened = err == 0;
        pfa_accesses_open();
    }
    return err;
}

static void note_periods(void)
{
    for (unsigned class = 0; class < PFA_LIVE_WEIGHTS; class ++) {
        pfa_extents_head->weights[class] = class == 0 ? 0 : pfa_sampler_period(class);
    }
}

static uint64_t last_period = 1; /* that recording was started with */

static int start_locked(uint64_t period)
{
    int err = open_once(period);
    if (err == 0) {
        last_period = period;
        err = pfa_sampler_set(period);
        note_periods();
        pfa_thread_list_interrupt(pfa_load_relaxed(&pfa_sampling.epoch));
    }
    return err;
}

/* Another trace, where there was one or where it could not be opened; the first of all is begun by starting. */
static void begin_again(uint64_t period)
{
    if (pfa_range.total_span != 0 && pfa_extents_head != NULL && !pfa_fork_ask() && pfa_session_may_reopen()) {
        pfa_session_reopen(period);
    }
}

uint64_t pfa_process_period(void)
{
    return last_period;
}

int pfa_process_start(uint64_t period)
{
    pfa_lock(PFA_LOCK_PROCESS);
    bool was_on = pfa_session_is_open();
    begin_again(period);
    int err = start_locked(period);
    if (was_on) {
        pfa_session_mark(PFA_MARK_STARTED);
    }
    pfa_unlock(PFA_LOCK_PROCESS);
    return err;
}

void pfa_process_stop(void)
{
    pfa_lock(PFA_LOCK_PROCESS);
    (void)pfa_sampler_set(0);
    pfa_thread_list_interrupt(pfa_load_relaxed(&pfa_sampling.epoch));
    pfa_session_mark(PFA_MARK_STOPPED);
    pfa_unlock(PFA_LOCK_PROCESS);
}

static bool is_preloaded(void)
{
    const char *preload = getauxval(AT_SECURE) == 0 ? getenv("LD_PRELOAD") : NULL;
    return preload != NULL && strstr(preload, "libprofalloc") != NULL;
}

void pfa_process_check_reach(void)
{
    static _Atomic bool said;
    if (!pfa_reach_is_ours()) {
        pfa_say_once(&said, is_preloaded()
                                ? "libprofalloc is preloaded, but this program has a malloc of its own built in, which "
                                  "no preload can replace: nothing is recorded; build it without that one (with "
                                  "-lprofalloc in its place)"
                                : "libprofalloc is loaded, but malloc of this program is another's: nothing is "
                                  "recorded; preload it (LD_PRELOAD=libprofalloc.so), use 'profalloc run', or link "
                                  "the program with -lprofalloc");
        pfa_session_lost("all chunks: malloc of the program was not libprofalloc's");
    }
}

/* Without a trace there is no thread but one that was made at the start: a program that has shut itself in may be killed for
 * making one. */
static void want_reclaim(void)
{
    enum { WORTH_WAKING = 1024, WORTH_A_LOOK = 256 }; /* a node is about 100 bytes, a wake-up two switches of threads */
    size_t retired = pfa_intervalmap_retired();
    if (pfa_session_wanted() || pfa_background_exists()) {
        if (retired >= WORTH_WAKING) {
            pfa_background_ask();
        }
    } else if (retired % WORTH_A_LOOK == WORTH_A_LOOK - 1) {
        (void)pfa_chunk_reclaim();
    }
}

static void reclaim(void)
{
    enum { WORTH_TRYING = 64, TRIES = 16 };
    for (int i = 0; i < TRIES && pfa_intervalmap_retired() >= WORTH_TRYING && !pfa_chunk_reclaim(); i++) {
        pfa_sys_yield(); /* a reader is in its section */
    }
}

static void work_in_background(void)
{
    reclaim();
    if (pfa_session_is_open()) {
        pfa_background_settle();
    }
    pfa_thread_list_remind(pfa_load_relaxed(&pfa_sampling.epoch));
    pfa_session_round();
    pfa_signals_act();
    pfa_session_remove_orphans();
    pfa_thread_end_if_deserted();
}

/* A thread whose ring is full writes it out itself, where no background thread does, or where it is that one: it runs the
 * program's exit handlers when it is the last that is left. */
static bool write_here(void)
{
    return (!pfa_background_exists() || pfa_background_is_me()) && pfa_session_try_round();
}

/* Many chunks will die: the thread that writes this is made while the program still allocates, since a free does not make it. */
static void expect_deaths(void)
{
    if (pfa_ring_is_open() && !pfa_background_exists()) {
        pfa_background_ask();
    }
}

static void share(uint64_t size_flags, uint64_t *chunks, uint64_t *bytes)
{
    pfa_share_t share = pfa_life_share(size_flags);
    *chunks = share.chunks;
    *bytes = share.bytes;
}

/* With `follow:false`, the tool names the one process that is meant. */
static bool is_followed(void)
{
    const char *leader = pfa_options.follow == 0 && getauxval(AT_SECURE) == 0 ? getenv("PROFALLOC_LEADER") : NULL;
    int pid = 0;
    for (; leader != NULL && *leader >= '0' && *leader <= '9'; leader++) {
        pid = pid * 10 + (*leader - '0');
    }
    return pid == 0 || pid == pfa_sys_pid();
}

static bool has_dumps(void)
{
    return (pfa_options.dump_bytes | pfa_options.dump_peak | pfa_options.dump_rss | pfa_options.dump_seconds |
            pfa_options.dump_signal | pfa_options.toggle_signal) != 0;
}

static void configure(void)
{
    pfa_options_load(profalloc_conf, environment_conf());
    if (pfa_options.summary != 0) {
        pfa_message_keep();
    }
    enum { PERIOD_NS = 250000000 };
    pfa_chunk_want_reclaim = want_reclaim;
    pfa_chunk_many_made = expect_deaths;
    pfa_ring_want_writer = pfa_background_ask;
    pfa_ring_write_here = write_here;
    pfa_fold_share = share;
    pfa_background_init(work_in_background);
    pfa_background_set_period(PERIOD_NS);
    pfa_stack_init(false);
    pfa_fork_watch();
    pfa_session_init(pfa_options.out);
    if (!pfa_session_wanted()) {
        pfa_sys_be_frugal();
    }
    if (pfa_options.prof != 0 && is_followed() && pfa_process_start(pfa_options.sample) == ENOMEM) {
        pfa_say("no address space for records (limit: %lu bytes): nothing is recorded",
                (unsigned long)pfa_sys_address_limit());
    }
    pfa_signals_watch();
    if (has_dumps()) {
        pfa_store_relaxed(&pfa_background_asked, true);
    }
    pfa_store_release(&stage, READY);
}

bool pfa_process_enter(void)
{
    if (PFA_LIKELY(pfa_load_acquire(&stage) == READY)) {
        return true;
    }
    if (claim(NOTHING, STARTING)) {
        pfa_message_init();
        pfa_backing_init();
        pfa_range_open_plain();
        (void)pfa_thread_make_key();
        pfa_store_release(&stage, ALLOCATING);
    }
    /* Very early the C library has not taken over the environment yet. */
    if (environ != NULL && claim(ALLOCATING, CONFIGURING)) {
        configure();
    }
    return pfa_load_acquire(&stage) >= ALLOCATING;
}

void pfa_process_ask_for_picture(void)
{
    pfa_triggers_ask();
    pfa_background_ask();
}

void pfa_process_ask_for_background_thread(void)
{
    pfa_background_ask();
}

void pfa_process_after_fork(void)
{
    if (has_dumps() || pfa_triggers_by_number()) {
        pfa_store_relaxed(&pfa_background_asked, true);
    }
}

void pfa_process_end_trace(void)
{
    pfa_lock(PFA_LOCK_PROCESS);
    pfa_fork_forget();
    pfa_session_end(PFA_END_STOPPED);
    pfa_unlock(PFA_LOCK_PROCESS);
}

void pfa_process_begin_trace(const char *pattern)
{
    pfa_lock(PFA_LOCK_PROCESS);
    if (pattern != NULL) {
        pfa_session_init(pattern);
    }
    begin_again(last_period);
    int err = start_locked(last_period);
    pfa_unlock(PFA_LOCK_PROCESS);
    if (err == ENOMEM) {
        pfa_say("no address space for records: nothing is recorded");
    }
}

void pfa_process_make_background_thread(void)
{
    if (pfa_tls.state == PFA_THREAD_READY) {
        pfa_background_make_if_asked();
    }
}

static __attribute__((constructor)) void catch_up(void)
{
    (void)pfa_process_enter();
    pfa_stack_init(true);
    (void)pfa_thread_enter(&pfa_tls);
    if (pfa_load_relaxed(&pfa_sampling.mode) != PFA_MODE_OFF || pfa_options.toggle_signal != 0) {
        pfa_process_check_reach();
    }
    pfa_background_make_if_asked(); /* for what goes by the clock or by signals */
}

static __attribute__((destructor)) void finish(void)
{
    pfa_wiped_check();
    /* Threads that exit() finds in the middle of things go on until the process is no more. The live table has all that
     * they do; an end would not. */
    if (pfa_locks_held()) { /* exit was called by a signal handler that came into the middle of our own doings */
        pfa_session_abandon();
        return;
    }
    if (pfa_options.end != 0 && pfa_thread_list_alone(pfa_tls.thread)) {
        pfa_session_end(PFA_END_EXIT);
    } else {
        pfa_session_flush();
    }
    pfa_session_forget();
    if (pfa_options.summary != 0) {
        pfa_summary_print();
    }
}
