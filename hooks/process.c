/* Owns the start of the library in a process, and the switching of recording. Other libraries' constructors run before
 * ours and allocate: the first allocation starts us, our constructor only catches up with what was too early then. */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "export/background.h"
#include "hooks/hooks.h"
#include "include/profalloc.h"
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

static int start_locked(uint64_t period)
{
    int err = pfa_range_open_profiled(pfa_options.region_range, pfa_options.large_range, pfa_options.accesses != 0);
    if (err == 0) {
        err = pfa_sampler_set(period);
        pfa_thread_list_interrupt(pfa_load_relaxed(&pfa_sampling.epoch));
    }
    return err;
}

int pfa_process_start(uint64_t period)
{
    pfa_lock(PFA_LOCK_PROCESS);
    int err = start_locked(period);
    pfa_unlock(PFA_LOCK_PROCESS);
    return err;
}

void pfa_process_stop(void)
{
    pfa_lock(PFA_LOCK_PROCESS);
    (void)pfa_sampler_set(0);
    pfa_thread_list_interrupt(pfa_load_relaxed(&pfa_sampling.epoch));
    pfa_unlock(PFA_LOCK_PROCESS);
}

static void want_reclaim(void)
{
    enum { WORTH_WAKING = 1024 }; /* a node is about 100 bytes, a wake-up two switches of threads */
    if (pfa_intervalmap_retired() >= WORTH_WAKING) {
        pfa_background_wake();
    }
}

static void configure(void)
{
    pfa_options_load(profalloc_conf, environment_conf());
    if (pfa_options.summary != 0) {
        pfa_message_keep();
    }
    pfa_chunk_want_reclaim = want_reclaim;
    pfa_background_init(pfa_chunk_reclaim);
    if (pfa_options.prof != 0 && pfa_process_start(pfa_options.sample) == ENOMEM) {
        pfa_say("no address space for records (limit: %lu bytes): nothing is recorded",
                (unsigned long)pfa_sys_address_limit());
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

static __attribute__((constructor)) void catch_up(void)
{
    (void)pfa_process_enter();
    (void)pfa_thread_enter(&pfa_tls);
    pfa_fork_watch();
}

static __attribute__((destructor)) void finish(void)
{
    if (pfa_options.summary != 0) {
        pfa_summary_print();
    }
}
