/* Handlers of signals leave by siglongjmp, some on a stack of their own: the heap they leave behind is whole, and what
 * we keep per thread is not disturbed. */
#include "trap.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void leave(int number)
{
    if (number == SIGSEGV || may_jump) {
        may_jump = 0;
        siglongjmp(back, number);
    }
}

int main(void)
{
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    struct itimerval often = {{0, 500}, {0, 500}};
    CHECK(sigaltstack(&other, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (volatile unsigned i = 0; i < 300; i++) {
        void *volatile chunk = malloc(100 + 1000 * i);
        fill(chunk, 100 + 1000 * i, i);
        if (sigsetjmp(back, 1) == 0) {
            if (i % 2 == 0) {
                *(volatile int *)opaque(NULL) = 1;
            }
            may_jump = 1; /* only while no allocation is going on */
            for (;;) {
                __asm__ volatile("");
            }
        }
        CHECK(verify(chunk, 100 + 1000 * i, i));
        free(chunk);
    }
    return 0;
}
