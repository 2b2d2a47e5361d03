/* Owns the wrapped system calls that carry data (wraps.h tells what wrapping means): what the kernel wrote for the program
 * counts as written, what it took as read, and that is what the call says was transferred, nothing where it failed.
 * Addresses of sockets, message headers and vectors themselves are not counted. All of them may have waited. */
#include "hooks/access/wraps.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Of a buffer. A datagram's length may be told though it was cut off to fit. */
PFA_INLINE ssize_t received(void *buffer, size_t size, ssize_t result)
{
    note_wait();
    if (result > 0) {
        note_write(buffer, least((size_t)result, size));
    }
    return result;
}

PFA_INLINE ssize_t sent(const void *buffer, ssize_t result)
{
    note_wait();
    if (result > 0) {
        note_read(buffer, (size_t)result);
    }
    return result;
}

/* Of several, which are filled one after the other. */
static PFA_NOINLINE ssize_t shared_out(const struct iovec *parts, size_t count, ssize_t result, uint64_t counts)
{
    note_wait();
    size_t left = result > 0 ? (size_t)result : 0;
    for (size_t i = 0; i < count && left != 0; i++) {
        size_t size = least(left, parts[i].iov_len);
        if (concerns(parts[i].iov_base)) {
            pfa_wraps_note(parts[i].iov_base, size, counts);
        }
        left -= size;
    }
    return result;
}

PFA_WRAPPED(ssize_t, read, int fd, void *buffer, size_t size)
{
    return received(buffer, size, __real_read(fd, buffer, size));
}

PFA_WRAPPED(ssize_t, __read_chk, int fd, void *buffer, size_t size, size_t room)
{
    return received(buffer, size, __real___read_chk(fd, buffer, size, room));
}

PFA_WRAPPED(ssize_t, write, int fd, const void *buffer, size_t size)
{
    return sent(buffer, __real_write(fd, buffer, size));
}

#define DEFINE_AT(suffix)                                                                                              \
    PFA_WRAPPED(ssize_t, pread##suffix, int fd, void *buffer, size_t size, int64_t offset)                             \
    {                                                                                                                  \
        return received(buffer, size, __real_pread##suffix(fd, buffer, size, offset));                                 \
    }                                                                                                                  \
    PFA_WRAPPED(ssize_t, __pread##suffix##_chk, int fd, void *buffer, size_t size, int64_t offset, size_t room)        \
    {                                                                                                                  \
        return received(buffer, size, __real___pread##suffix##_chk(fd, buffer, size, offset, room));                   \
    }                                                                                                                  \
    PFA_WRAPPED(ssize_t, pwrite##suffix, int fd, const void *buffer, size_t size, int64_t offset)                      \
    {                                                                                                                  \
        return sent(buffer, __real_pwrite##suffix(fd, buffer, size, offset));                                          \
    }                                                                                                                  \
    PFA_WRAPPED(ssize_t, preadv##suffix, int fd, const struct iovec *parts, int count, int64_t offset)                 \
    {                                                                                                                  \
        ssize_t result = __real_preadv##suffix(fd, parts, count, offset);                                              \
        return shared_out(parts, (size_t)count, result, PFA_ACCESS_WRITE);                                             \
    }                                                                                                                  \
    PFA_WRAPPED(ssize_t, pwritev##suffix, int fd, const struct iovec *parts, int count, int64_t offset)                \
    {                                                                                                                  \
        ssize_t result = __real_pwritev##suffix(fd, parts, count, offset);                                             \
        return shared_out(parts, (size_t)count, result, PFA_ACCESS_READ);                                              \
    }
DEFINE_AT()
DEFINE_AT(64)

PFA_WRAPPED(ssize_t, readv, int fd, const struct iovec *parts, int count)
{
    return shared_out(parts, (size_t)count, __real_readv(fd, parts, count), PFA_ACCESS_WRITE);
}

PFA_WRAPPED(ssize_t, writev, int fd, const struct iovec *parts, int count)
{
    return shared_out(parts, (size_t)count, __real_writev(fd, parts, count), PFA_ACCESS_READ);
}

PFA_WRAPPED(ssize_t, recv, int fd, void *buffer, size_t size, int flags)
{
    return received(buffer, size, __real_recv(fd, buffer, size, flags));
}

PFA_WRAPPED(ssize_t, __recv_chk, int fd, void *buffer, size_t size, size_t room, int flags)
{
    return received(buffer, size, __real___recv_chk(fd, buffer, size, room, flags));
}

PFA_WRAPPED(ssize_t, recvfrom, int fd, void *buffer, size_t size, int flags, struct sockaddr *from, socklen_t *length)
{
    return received(buffer, size, __real_recvfrom(fd, buffer, size, flags, from, length));
}

PFA_WRAPPED(ssize_t, __recvfrom_chk, int fd, void *buffer, size_t size, size_t room, int flags, struct sockaddr *from,
            socklen_t *length)
{
    return received(buffer, size, __real___recvfrom_chk(fd, buffer, size, room, flags, from, length));
}

PFA_WRAPPED(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
    ssize_t result = __real_recvmsg(fd, message, flags);
    return result > 0 ? shared_out(message->msg_iov, message->msg_iovlen, result, PFA_ACCESS_WRITE)
                      : shared_out(NULL, 0, result, 0);
}

PFA_WRAPPED(ssize_t, send, int fd, const void *buffer, size_t size, int flags)
{
    return sent(buffer, __real_send(fd, buffer, size, flags));
}

PFA_WRAPPED(ssize_t, sendto, int fd, const void *buffer, size_t size, int flags, const struct sockaddr *to,
            socklen_t length)
{
    return sent(buffer, __real_sendto(fd, buffer, size, flags, to, length));
}

PFA_WRAPPED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    ssize_t result = __real_sendmsg(fd, message, flags);
    return result > 0 ? shared_out(message->msg_iov, message->msg_iovlen, result, PFA_ACCESS_READ)
                      : shared_out(NULL, 0, result, 0);
}

/* The kernel reads what is waited for and writes what happened, in the same places. */
PFA_INLINE int polled(struct pollfd *files, nfds_t count, int result)
{
    note_wait();
    if (result >= 0 && concerns(files)) {
        pfa_wraps_note(files, count * sizeof *files, PFA_ACCESS_READ + PFA_ACCESS_WRITE);
    }
    return result;
}

PFA_WRAPPED(int, poll, struct pollfd *files, nfds_t count, int timeout)
{
    return polled(files, count, __real_poll(files, count, timeout));
}

PFA_WRAPPED(int, __poll_chk, struct pollfd *files, nfds_t count, int timeout, size_t room)
{
    return polled(files, count, __real___poll_chk(files, count, timeout, room));
}

struct timespec;

PFA_WRAPPED(int, ppoll, struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    return polled(files, count, __real_ppoll(files, count, timeout, mask));
}

PFA_WRAPPED(int, __ppoll_chk, struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
            size_t room)
{
    return polled(files, count, __real___ppoll_chk(files, count, timeout, mask, room));
}

PFA_INLINE int told(struct epoll_event *events, int result)
{
    note_wait();
    if (result > 0) {
        note_write(events, (size_t)result * sizeof *events);
    }
    return result;
}

PFA_WRAPPED(int, epoll_wait, int fd, struct epoll_event *events, int count, int timeout)
{
    return told(events, __real_epoll_wait(fd, events, count, timeout));
}

PFA_WRAPPED(int, epoll_pwait, int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask)
{
    return told(events, __real_epoll_pwait(fd, events, count, timeout, mask));
}
