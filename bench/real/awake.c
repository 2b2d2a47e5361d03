/* Loaded in front of a load generator that sleeps in epoll_wait: lets it ask again and again instead, as memload does by
 * itself, and for the same reason (memload.c). */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long milliseconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

int epoll_wait(int poll, struct epoll_event *events, int most, int timeout)
{
    long long until = timeout < 0 ? 0 : milliseconds() + timeout;
    int count;
    do {
        count = (int)syscall(SYS_epoll_pwait, poll, events, most, 0, NULL, (size_t)8);
    } while (count == 0 && (timeout < 0 || milliseconds() < until));
    return count;
}
