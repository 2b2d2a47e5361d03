/* dlclose, profalloc_stop and profalloc_start do not wait for whoever writes the trace: while another thread holds
 * PFA_LOCK_WRITER, as the background thread does when it waits for the disk or takes a picture, they return. (If one waited, it
 * would be for ever: the test's time limit is what fails then.) The lists of modules before and after dlclose are kept
 * meanwhile, in that order. */
/* sources: hooks/accesses.c hooks/api.c hooks/fork.c hooks/introspect.c hooks/malloc.c hooks/process.c hooks/report.c hooks/resize.c hooks/signals.c hooks/slow.c hooks/summary.c hooks/thread.c hooks/unload.c */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "export/background.h"
#include "export/block.h"
#include "export/modules.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "include/profalloc.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <pthread.h>

const char *profalloc_conf = "prof:true,sample:1,out:test_unload.pa,summary:false";

/* There is no other malloc in this program. */
bool pfa_reach_is_ours(void)
{
    return true;
}

/* Of the C library's package, and loaded by nobody here. */
static const char library[] = "libBrokenLocale.so.1";

static pthread_barrier_t held;
static pthread_barrier_t done;

static void *hold_writer(void *arg)
{
    pfa_lock(PFA_LOCK_WRITER);
    pthread_barrier_wait(&held);
    pthread_barrier_wait(&done);
    pfa_unlock(PFA_LOCK_WRITER);
    return arg;
}

static bool is_in(const char *payload, size_t size)
{
    return memmem(payload, size, library, strlen(library)) != NULL;
}

static void unloading_does_not_wait(void **state)
{
    (void)state;
    static char payload[1 << 20];
    pthread_t holder;
    void *handle = dlopen(library, RTLD_NOW);
    must(handle != NULL);
    must(pfa_session_is_open());
    pfa_background_wake();
    must(pfa_background_exists());
    must(pthread_barrier_init(&held, NULL, 2) == 0 && pthread_barrier_init(&done, NULL, 2) == 0);
    pfa_session_modules(); /* whoever of the two was first, the list with the library is taken */
    must(pthread_create(&holder, NULL, hold_writer, NULL) == 0);
    pthread_barrier_wait(&held);
    while (pfa_modules_next_noted(payload, sizeof payload) != 0) {
    }
    void *again = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    must(again != NULL && dlclose(again) == 0); /* nothing has changed: no list */
    must(pfa_modules_next_noted(payload, sizeof payload) == 0);
    must(dlclose(handle) == 0);
    size_t size = pfa_modules_next_noted(payload, sizeof payload);
    must(size != 0 && !is_in(payload, size));
    must(pfa_modules_next_noted(payload, sizeof payload) == 0);

    handle = dlopen(library, RTLD_NOW); /* and now one that was loaded and unloaded meanwhile */
    must(handle != NULL && dlclose(handle) == 0);
    size = pfa_modules_next_noted(payload, sizeof payload);
    must(size != 0 && is_in(payload, size));
    size = pfa_modules_next_noted(payload, sizeof payload);
    must(size != 0 && !is_in(payload, size));
    pthread_barrier_wait(&done);
    must(pthread_join(holder, NULL) == 0);
}

static void stopping_and_starting_do_not_wait(void **state)
{
    (void)state;
    pthread_t holder;
    must(pthread_create(&holder, NULL, hold_writer, NULL) == 0);
    pthread_barrier_wait(&held);
    profalloc_stop();
    must(profalloc_start(1) == 0);
    pthread_barrier_wait(&done);
    must(pthread_join(holder, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unloading_does_not_wait),
                                       cmocka_unit_test(stopping_and_starting_do_not_wait)};
    (void)unlink("test_unload.pa");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink("test_unload.pa");
    return failed;
}
