/* Owns the birth and death of threads as the allocator sees them. A thread is born at its first allocation, or when it has
 * freed more than a few chunks, and dies in a destructor of thread-specific data. Other destructors may run after ours and allocate: the thread is then born again,
 * with another destructor to come, as often as the C library has rounds of destructors left. What comes after those is
 * served without counting. */
#include "base/clock.h"
#include "base/message.h"
#include "base/sys.h"
#include "base/wiped.h"
#include "hooks/hooks.h"
#include "meta/clock.h"
#include "meta/measure.h"
#include "meta/names.h"
#include "meta/ring.h"
#include "meta/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key;
static _Atomic bool has_key;

static void leave(void *arg)
{
    pfa_tls_t *tls = arg;
    pfa_thread_t *thread = tls->thread;
    pfa_wiped_check();
    if (thread == NULL) {
        return; /* the C library has taken this memory from a thread that freed when its destructors had run */
    }
    bool has_heaps = thread->tls != NULL;
    /* Neither here nor there: a signal handler that allocates meanwhile is turned away. */
    tls->state = PFA_THREAD_ENTERING;
    pfa_fence_compiler();
    /* In the last round nothing would call us again. */
    bool is_last = ++tls->leaves >= PTHREAD_DESTRUCTOR_ITERATIONS - 1;
    pfa_measure_leave(tls);
    tls->clock_may_skip = false;
    pfa_clock_stop_skipping(tls);
    pfa_store_relaxed(&tls->epoch, 0);
    pfa_live_settle(tls);
    pfa_names_thread_again(thread->number);
    pfa_ring_leave(tls);
    pfa_fence_compiler();
    tls->thread = NULL;
    pfa_fence_compiler();
    /* A handler that freed until then has taken another ring, and made the next free go the short way, which looks at the thread. */
    tls->short_free = NULL;
    pfa_ring_leave(tls);
    pfa_chunk_thread_end(tls);
    /* Off the list first: nobody may write the countdown of a thread whose memory goes away. */
    pfa_thread_list_leave(thread);
    tls->countdown = is_last ? PFA_COUNTDOWN_OFF : -1;
    /* The main thread's heap stays: giving up its heaps would put recorded regions into its default heap, which lives
     * on. */
    if (!tls->is_main && has_heaps) {
        pfa_backing_thread_end();
    }
    pfa_fence_compiler();
    tls->state = is_last ? PFA_THREAD_GONE : PFA_THREAD_NEW;
}

void pfa_thread_say_name(pfa_tls_t *tls)
{
    if (pfa_ring_is_open() && tls->thread != NULL) {
        pfa_names_thread(tls->thread->number, pfa_clock_read(tls));
    }
}

int pfa_thread_make_key(void)
{
    int err = pthread_key_create(&key, leave);
    pfa_store_release(&has_key, err == 0);
    return err;
}

/* By system calls only until that one was met, which is at the start of the process. */
static bool is_main(const pfa_tls_t *tls)
{
    static _Atomic(const pfa_tls_t *) known;
    const pfa_tls_t *found = pfa_load_relaxed(&known);
    if (found == NULL && pfa_sys_tid() == pfa_sys_pid()) {
        found = tls;
        pfa_store_relaxed(&known, tls);
    }
    return found == tls;
}

/* The kernel is asked for the first, and what differs between threads and times is mixed into it. Never 0. */
static uint64_t seed(const pfa_tls_t *tls)
{
    static _Atomic uint64_t first;
    uint64_t mixed = pfa_load_relaxed(&first);
    if (mixed == 0) {
        mixed = pfa_sys_random() | 1;
        pfa_store_relaxed(&first, mixed);
    }
    mixed = (mixed ^ (uintptr_t)tls ^ pfa_counter() << 32 ^ tls->thread->number) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 32) * 0xbf58476d1ce4e5b9u;
    return (mixed ^ mixed >> 29) | 1;
}

static void set_up(pfa_tls_t *tls)
{
    tls->record_tail = pfa_record_tail(tls->thread->number, 0);
    tls->is_main = is_main(tls);
    tls->random = seed(tls);
    pfa_measure_enter(tls);
}

bool pfa_thread_enter(pfa_tls_t *tls)
{
    if (tls->state != PFA_THREAD_NEW) {
        return tls->state == PFA_THREAD_READY;
    }
    tls->state = PFA_THREAD_ENTERING;
    if (tls->thread != NULL) { /* it has freed before */
        pfa_thread_list_stay(tls->thread, tls);
        tls->state = PFA_THREAD_READY;
        return true;
    }
    if (!pfa_process_enter() || (tls->thread = pfa_thread_list_join(tls)) == NULL) {
        tls->state = PFA_THREAD_NEW;
        return false;
    }
    set_up(tls);
    /* May allocate: it then comes back here and is turned away above. */
    if (!pfa_load_acquire(&has_key) || pthread_setspecific(key, tls) != 0) {
        /* Nobody would tell us when it ends, and its block would outlive its memory. */
        pfa_thread_list_leave(tls->thread);
        tls->thread = NULL;
        tls->state = PFA_THREAD_GONE;
        return false;
    }
    tls->state = PFA_THREAD_READY;
    return true;
}

/* It may be past its destructors already, where the C library frees what it had for it. Then nobody tells us of its end: so it
 * takes more than that frees, nobody else touches its memory, and its block is taken back when the thread is seen to be gone
 * (meta/thread.c). A key beyond those for which a thread has room would take memory that then nobody frees. */
void pfa_thread_enter_to_free(pfa_tls_t *tls)
{
    enum { A_FEW = 16, KEYS_AT_HAND = 32 };
    if (tls->state != PFA_THREAD_NEW || tls->leaves != 0 || tls->thread != NULL) {
        return;
    }
    if (tls->freed < A_FEW) {
        tls->freed++;
        return;
    }
    if (!pfa_load_acquire(&has_key) || key >= KEYS_AT_HAND) {
        return;
    }
    tls->freed = 0;
    tls->state = PFA_THREAD_ENTERING;
    tls->thread = pfa_thread_list_join_to_free(tls);
    if (tls->thread != NULL) {
        set_up(tls);
        pfa_thread_say_name(tls);
        (void)pthread_setspecific(key, tls);
    }
    tls->state = PFA_THREAD_NEW;
}

/* The number behind a word of /proc/self/status. */
static unsigned long number_of(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at != NULL ? strtoul(at + strlen(word), NULL, 10) : 0;
}

static bool main_thread_has_ended(void)
{
    char path[64];
    char text[512];
    pfa_text_t name = {path, sizeof path, 0};
    pfa_text_add(&name, "/proc/self/task/%d/stat", pfa_sys_pid());
    if (!pfa_sys_read_text(path, text, sizeof text)) {
        return false;
    }
    const char *behind = strrchr(text, ')');
    return behind != NULL && behind[1] == ' ' && behind[2] == 'Z';
}

void pfa_thread_end_if_deserted(void)
{
    char text[4096];
    if (!pfa_thread_list_empty() || !main_thread_has_ended() ||
        !pfa_sys_read_text("/proc/self/status", text, sizeof text)) {
        return;
    }
    if (number_of(text, "Threads:") == 2) { /* the main thread's remains, and we */
        exit(0);
    }
}
