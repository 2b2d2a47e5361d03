/* The wrapped functions that carry data in and out of the process, and those that only wait: noted is what was really
 * transferred, nothing where it failed, errno is libc's, and afterwards the thread asks for the time. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length);
int __poll_chk(struct pollfd *files, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room);

static int sockets[2]; /* of datagrams */
static int file;       /* "0123456789" */

static int prepare(void **state)
{
    (void)state;
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    file = memfd_create("test", 0);
    must(file >= 0 && write(file, "0123456789", 10) == 10 && lseek(file, 0, SEEK_SET) == 0);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    return close(sockets[0]) + close(sockets[1]) + close(file);
}

/* After a call, and its result. */
#define got(result, ...)                                                                                               \
    do {                                                                                                               \
        watch();                                                                                                       \
        assert_int_equal((result), got_bytes);                                                                         \
        expect(__VA_ARGS__);                                                                                           \
        expect_waited();                                                                                               \
        expect_errno_kept();                                                                                           \
    } while (0)

static void reading(void **state)
{
    (void)state;
    char *at = range + 20;
    const ssize_t got_bytes = 4;
    got(read(file, at, 4), W(20, 4));
    assert_memory_equal(at, "0123", 4);
    got(__read_chk(file, at, 4, ROOM), W(20, 4));
    assert_memory_equal(at, "4567", 4);
    got(pread(file, at, 100, 6), W(20, 4)); /* not what was asked for, but what there was */
    assert_memory_equal(at, "6789", 4);
    got(pread64(file, at, 4, 1), W(20, 4));
    got(__pread_chk(file, at, 4, 2, ROOM), W(20, 4));
    got(__pread64_chk(file, at, 4, 3, ROOM), W(20, 4));
    assert_memory_equal(at, "3456", 4);
    watch();
    assert_int_equal(pread(file, outside, 4, 0), 4);
    assert_int_equal(pread(file, at, 4, 100), 0);
    assert_int_equal(read(file, at, 0), 0);
    expect_nothing();
}

static void writing(void **state)
{
    (void)state;
    const char *at = put(20, "abcd");
    const ssize_t got_bytes = 3;
    got(write(file, at, 3), R(20, 3));
    got(pwrite(file, at + 1, 3, 0), R(21, 3));
    got(pwrite64(file, at, 3, 7), R(20, 3));
    char text[11] = "";
    assert_int_equal(pread(file, text, 10, 0), 10);
    assert_string_equal(text, "bcd3456abc");
    watch();
    assert_int_equal(pwrite(file, "out", 3, 0), 3);
    expect_nothing();
}

/* Nothing is noted, and errno is what the call left. */
static void failing(void **state)
{
    (void)state;
    struct iovec parts[] = {{range, 4}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
#define fails(call)                                                                                                    \
    watch();                                                                                                           \
    assert_int_equal((call), -1);                                                                                      \
    assert_int_equal(errno, EBADF);                                                                                    \
    expect_nothing();                                                                                                  \
    expect_waited();
    fails(read(-1, range, 4));
    fails(write(-1, range, 4));
    fails(pread(-1, range, 4, 0));
    fails(pwrite(-1, range, 4, 0));
    fails(readv(-1, parts, 1));
    fails(writev(-1, parts, 1));
    fails(recv(-1, range, 4, 0));
    fails(send(-1, range, 4, 0));
    fails(recvmsg(-1, &message, 0));
    fails(sendmsg(-1, &message, 0));
    fails(epoll_wait(-1, (struct epoll_event *)(void *)range, 1, 0));
    fails(accept4(-1, NULL, NULL, 0));
}

/* Filled in turn, the last only as far as it goes. */
static void vectors(void **state)
{
    (void)state;
    struct iovec parts[] = {{range + 10, 3}, {outside, 2}, {range + 30, 0}, {range + 50, 100}, {range + 200, 5}};
    const ssize_t got_bytes = 10;
    lseek(file, 0, SEEK_SET);
    got(readv(file, parts, 5), W(10, 3), W(50, 5));
    assert_memory_equal(range + 50, "56789", 5);
    got(preadv(file, parts, 5, 0), W(10, 3), W(50, 5));
    got(preadv64(file, parts, 5, 0), W(10, 3), W(50, 5));
    parts[3].iov_len = 1;
    parts[4].iov_len = 4;
    got(writev(file, parts, 5), R(10, 3), R(50, 1), R(200, 4));
    got(pwritev(file, parts, 5, 0), R(10, 3), R(50, 1), R(200, 4));
    got(pwritev64(file, parts, 5, 0), R(10, 3), R(50, 1), R(200, 4));
}

static void datagrams(void **state)
{
    (void)state;
    put(20, "packet");
    struct iovec parts[] = {{range + 20, 2}, {range + 22, 4}};
    struct iovec places[] = {{range + 60, 5}, {range + 100, 50}};
    struct msghdr out = {.msg_iov = parts, .msg_iovlen = 2};
    struct msghdr in = {.msg_iov = places, .msg_iovlen = 2};
    const ssize_t got_bytes = 6;
    got(send(sockets[0], range + 20, 6, 0), R(20, 6));
    got(recv(sockets[1], range + 60, 100, 0), W(60, 6));
    assert_memory_equal(range + 60, "packet", 6);
    got(sendto(sockets[0], range + 20, 6, 0, NULL, 0), R(20, 6));
    got(recvfrom(sockets[1], range + 60, 100, 0, NULL, NULL), W(60, 6));
    got(sendmsg(sockets[0], &out, 0), R(20, 2), R(22, 4));
    got(recvmsg(sockets[1], &in, 0), W(60, 5), W(100, 1));
    assert_int_equal(range[100], 't');
    send(sockets[0], range + 20, 6, 0);
    got(__recv_chk(sockets[1], range + 60, 100, ROOM, MSG_PEEK), W(60, 6));
    got(__recvfrom_chk(sockets[1], range + 60, 100, ROOM, 0, NULL, NULL), W(60, 6));
    /* Told is the length that it had, not what there was room for. */
    for (int i = 0; i < 3; i++) {
        send(sockets[0], range + 20, 6, 0);
    }
    places[1].iov_len = 0;
    got(recv(sockets[1], range + 60, 4, MSG_TRUNC), W(60, 4));
    got(recvfrom(sockets[1], range + 60, 3, MSG_TRUNC, NULL, NULL), W(60, 3));
    got(recvmsg(sockets[1], &in, MSG_TRUNC), W(60, 5));
}

static void polling(void **state)
{
    (void)state;
    struct pollfd *files = (struct pollfd *)(void *)(range + 64);
    struct epoll_event *events = (struct epoll_event *)(void *)(range + 256);
    struct timespec none = {0};
    files[0] = (struct pollfd){.fd = sockets[0], .events = POLLOUT};
    files[1] = (struct pollfd){.fd = sockets[1], .events = POLLIN};
    const int got_bytes = 1;
    got(poll(files, 2, 0), RW(64, 16));
    got(ppoll(files, 2, &none, NULL), RW(64, 16));
    got(__poll_chk(files, 2, 0, ROOM), RW(64, 16));
    got(__ppoll_chk(files, 2, &none, NULL, ROOM), RW(64, 16));
    assert_int_equal(files[0].revents, POLLOUT);
    int set = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLOUT, .data.fd = sockets[0]};
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, sockets[0], &wanted), 0);
    got(epoll_wait(set, events, 5, 0), W(256, sizeof *events));
    got(epoll_pwait(set, events, 5, 0, NULL), W(256, sizeof *events));
    assert_int_equal(events[0].data.fd, sockets[0]);
    close(set);
}

static void *return_argument(void *argument)
{
    return argument;
}

/* Each is called so that it returns at once, with a result that only it can have made. */
static void waiting(void **state)
{
    (void)state;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_barrier_t barrier;
    pthread_t thread;
    sem_t semaphore;
    void *result = NULL;
    int status;
    struct timespec none = {0};
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 1) + sem_init(&semaphore, 0, 2), 0);
#define waits(call, wanted)                                                                                            \
    watch();                                                                                                           \
    assert_int_equal((call), (wanted));                                                                                \
    expect_nothing();                                                                                                  \
    expect_waited();                                                                                                   \
    expect_errno_kept();
    waits(nanosleep(&none, NULL), 0);
    waits(clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL), 0);
    waits(usleep(1), 0);
    waits(pselect(0, NULL, NULL, NULL, &none, NULL), 0);
    waits(sem_wait(&semaphore), 0);
    waits(sem_timedwait(&semaphore, &none), 0);
    waits(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    pthread_mutex_lock(&mutex);
    waits(pthread_cond_timedwait(&condition, &mutex, &none), ETIMEDOUT);
    waits(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &none), ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    assert_int_equal(pthread_create(&thread, NULL, return_argument, outside), 0);
    waits(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, outside);
    pid_t child = fork();
    if (child == 0) {
        _exit(7);
    }
    status = 0;
    waits(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

static pthread_mutex_t signal_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_condition = PTHREAD_COND_INITIALIZER;
static bool signalled;

static void *send_signal(void *unused)
{
    pthread_mutex_lock(&signal_mutex);
    signalled = true;
    pthread_cond_signal(&signal_condition);
    pthread_mutex_unlock(&signal_mutex);
    return unused;
}

static void waiting_for_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    pthread_mutex_lock(&signal_mutex);
    must(pthread_create(&thread, NULL, send_signal, NULL) == 0);
    watch();
    while (!signalled) {
        assert_int_equal(pthread_cond_wait(&signal_condition, &signal_mutex), 0);
    }
    expect_waited();
    pthread_mutex_unlock(&signal_mutex);
    pthread_join(thread, NULL);
}

/* A thread that is cancelled while it waits in a wrapped function ends as it should. */
static void *wait_forever(void *unused)
{
    char byte;
    must(read(sockets[0], &byte, 1) == 1);
    return unused;
}

static void cancellation_passes_through(void **state)
{
    (void)state;
    pthread_t thread;
    void *result = NULL;
    must(pthread_create(&thread, NULL, wait_forever, NULL) == 0);
    must(pthread_cancel(thread) == 0);
    must(pthread_join(thread, &result) == 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reading, prepare, clean),
        cmocka_unit_test_setup_teardown(writing, prepare, clean),
        cmocka_unit_test(failing),
        cmocka_unit_test_setup_teardown(vectors, prepare, clean),
        cmocka_unit_test_setup_teardown(datagrams, prepare, clean),
        cmocka_unit_test_setup_teardown(polling, prepare, clean),
        cmocka_unit_test(waiting),
        cmocka_unit_test(waiting_for_another_thread),
        cmocka_unit_test_setup_teardown(cancellation_passes_through, prepare, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
