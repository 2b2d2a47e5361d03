/* Owns the signals that options may name: one that asks for a picture of the live heap, one that stops and starts
 * recording. Their handlers only set a flag; the background thread acts. */
#include "base/atomic.h"
#include "base/message.h"
#include "base/options.h"
#include "hooks/hooks.h"

#include <signal.h>
#include <stddef.h>

static _Atomic bool toggle;

static void ask_for_picture(int signal)
{
    (void)signal;
    pfa_process_ask_for_picture();
}

static void ask_for_toggle(int signal)
{
    (void)signal;
    pfa_store_relaxed(&toggle, true);
    pfa_process_ask_for_background_thread();
}

static void watch(uint64_t number, void (*handler)(int), const char *option)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    if (number != 0 && sigaction((int)number, &action, NULL) != 0) {
        pfa_say("%s: signal %lu cannot be handled", option, (unsigned long)number);
    }
}

void pfa_signals_watch(void)
{
    watch(pfa_options.dump_signal, ask_for_picture, "dump_signal");
    watch(pfa_options.toggle_signal, ask_for_toggle, "toggle_signal");
}

void pfa_signals_act(void)
{
    if (!pfa_load_relaxed(&toggle) || !atomic_exchange(&toggle, false)) {
        return;
    }
    if (pfa_load_relaxed(&pfa_sampling.mode) == PFA_MODE_OFF) {
        (void)pfa_process_start(pfa_options.sample);
    } else {
        pfa_process_stop();
    }
}
