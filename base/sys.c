/* Owns every system call of the runtime. See base/sys.h for what callers may rely on. */
#include "base/sys.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/sys_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

pfa_sys_fault_fn *pfa_sys_fault;

static int injected(pfa_sys_call_t call)
{
    return PFA_UNLIKELY(pfa_sys_fault != NULL) ? pfa_sys_fault(call) : 0;
}

static long call(pfa_sys_call_t name, long number, long a, long b, long c, long d, long e, long f)
{
    int err = injected(name);
    return err != 0 ? -err : pfa_raw_syscall(number, a, b, c, d, e, f);
}

int pfa_sys_map(void *hint, size_t size, int prot, int flags, void **out)
{
    long got = call(PFA_SYS_MMAP, SYS_mmap, (long)hint, (long)size, prot, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got < 0 && got > -4096) {
        return (int)got;
    }
    *out = (void *)got;
    return 0;
}

int pfa_sys_unmap(void *addr, size_t size)
{
    return (int)call(PFA_SYS_MUNMAP, SYS_munmap, (long)addr, (long)size, 0, 0, 0, 0);
}

int pfa_sys_protect(void *addr, size_t size, int prot)
{
    return (int)call(PFA_SYS_MPROTECT, SYS_mprotect, (long)addr, (long)size, prot, 0, 0, 0);
}

int pfa_sys_advise(void *addr, size_t size, int advice)
{
    return (int)call(PFA_SYS_MADVISE, SYS_madvise, (long)addr, (long)size, advice, 0, 0, 0);
}

int pfa_sys_open_read(const char *path)
{
    return (int)call(PFA_SYS_OPEN, SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static int open_high(const char *path, int flags, int mode)
{
    int fd = (int)call(PFA_SYS_CREATE, SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode, 0, 0);
    int high = fd < 0 ? fd : pfa_sys_dup_high(fd);
    if (high < 0) {
        return fd;
    }
    (void)pfa_sys_close(fd);
    return high;
}

int pfa_sys_create(const char *path)
{
    return open_high(path, O_RDWR | O_CREAT | O_EXCL, 0644);
}

int pfa_sys_create_private(const char *path)
{
    return open_high(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

int pfa_sys_open_write(const char *path)
{
    return open_high(path, O_RDWR, 0);
}

/* A call of ours that fails is nothing the program should be told by a signal: blocks it, and takes it back if it came and
 * was not waiting before. */
typedef struct silence {
    uint64_t signal;
    uint64_t before;
    uint64_t waiting;
} silence_t;

/* Whether it was waiting before is asked only where that can matter: a program may be shut in and not allowed to. */
static silence_t silence(int signal, bool ask)
{
    silence_t silence = {.signal = (uint64_t)1 << (signal - 1)};
    (void)pfa_raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&silence.signal, (long)&silence.before,
                          sizeof silence.signal, 0, 0);
    if (ask) {
        (void)pfa_raw_syscall(SYS_rt_sigpending, (long)&silence.waiting, sizeof silence.waiting, 0, 0, 0, 0);
    }
    return silence;
}

static void end_silence(const silence_t *silence, bool came)
{
    const struct timespec at_once = {0, 0};
    if (came && (silence->waiting & silence->signal) == 0) {
        (void)pfa_raw_syscall(SYS_rt_sigtimedwait, (long)&silence->signal, 0, (long)&at_once, sizeof silence->signal, 0,
                              0);
    }
    (void)pfa_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&silence->before, 0, sizeof silence->before, 0, 0);
}

/* A call that may make a file longer than RLIMIT_FSIZE allows. */
static long call_for_file(pfa_sys_call_t name, long number, long a, long b, long c, long d)
{
    silence_t quiet = silence(SIGXFSZ, false);
    long got = call(name, number, a, b, c, d, 0, 0);
    end_silence(&quiet, got == -EFBIG);
    return got;
}

int pfa_sys_truncate(int fd, uint64_t size)
{
    return (int)call_for_file(PFA_SYS_TRUNCATE, SYS_ftruncate, fd, (long)size, 0, 0);
}

int pfa_sys_make_room(int fd, uint64_t offset, uint64_t size)
{
    long err;
    do {
        err = call(PFA_SYS_FALLOCATE, SYS_fallocate, fd, 0, (long)offset, (long)size, 0, 0);
    } while (err == -EINTR);
    return err == -ENOSYS ? -EOPNOTSUPP : (int)err;
}

int pfa_sys_populate(void *at, size_t size)
{
    enum { POPULATE_WRITE = 23 };
    int err = pfa_sys_advise(at, size, POPULATE_WRITE);
    return err == -EINVAL || err == -ENOSYS ? 0 : err == -EFAULT ? -ENOSPC : err;
}

static int map_file(void *at, size_t size, int flags, int fd, uint64_t offset)
{
    long got = call(PFA_SYS_MAP_FILE, SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd,
                    (long)offset);
    return got < 0 && got > -4096 ? (int)got : 0;
}

int pfa_sys_map_file(void *at, size_t size, int fd, uint64_t offset)
{
    return map_file(at, size, MAP_SHARED, fd, offset);
}

int pfa_sys_map_copy(void *at, size_t size, int fd, uint64_t offset)
{
    return map_file(at, size, MAP_PRIVATE, fd, offset);
}

long pfa_sys_pwrite(int fd, const void *buf, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        long got = call_for_file(PFA_SYS_PWRITE, SYS_pwrite64, fd, (long)((const char *)buf + done),
                                 (long)(size - done), (long)(offset + done));
        if (got == -EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? -EIO : got;
        }
        done += (size_t)got;
    }
    return (long)done;
}

bool pfa_sys_next_data(int fd, uint64_t *start, uint64_t *end, uint64_t limit)
{
    enum { DATA = 3, HOLE = 4 };
    if (*start >= limit) {
        return false;
    }
    long data = pfa_raw_syscall(SYS_lseek, fd, (long)*start, DATA, 0, 0, 0);
    if (data == -ENXIO || data >= (long)limit) {
        return false;
    }
    long hole = data < 0 ? data : pfa_raw_syscall(SYS_lseek, fd, data, HOLE, 0, 0, 0);
    *start = data < 0 ? *start : (uint64_t)data;
    *end = hole < 0 || hole > (long)limit ? limit : (uint64_t)hole;
    return true;
}

bool pfa_sys_next_resident(const void *memory, uint64_t *start, uint64_t *end, uint64_t limit)
{
    enum { AT_ONCE = 1024 };
    unsigned char pages[AT_ONCE];
    uint64_t page = pfa_sys_page_size();
    bool found = false;
    *end = limit;
    for (uint64_t at = *start & ~(page - 1); at < limit; at += AT_ONCE * page) {
        uint64_t count = (limit - at + page - 1) / page;
        count = count < AT_ONCE ? count : AT_ONCE;
        if (pfa_raw_syscall(SYS_mincore, (long)memory + (long)at, (long)(count * page), (long)pages, 0, 0, 0) != 0) {
            return false;
        }
        for (uint64_t i = 0; i < count; i++) {
            bool is_there = (pages[i] & 1) != 0;
            if (found && !is_there) {
                *end = at + i * page;
                return true;
            }
            if (!found && is_there) {
                *start = at + i * page > *start ? at + i * page : *start;
                found = true;
            }
        }
    }
    return found;
}

int pfa_sys_unlink(const char *path)
{
    return (int)call(PFA_SYS_UNLINK, SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static int tell_space(long err, const struct statfs *info, pfa_sys_space_t *space)
{
    if (err == 0) {
        uint64_t block = (uint64_t)info->f_bsize;
        space->in_memory = info->f_type == TMPFS_MAGIC || info->f_type == RAMFS_MAGIC;
        space->total = (uint64_t)info->f_blocks * block;
        space->free = info->f_blocks != 0 ? (uint64_t)info->f_bavail * block : UINT64_MAX;
    }
    return (int)err;
}

int pfa_sys_space(const char *path, pfa_sys_space_t *space)
{
    struct statfs info;
    return tell_space(call(PFA_SYS_SPACE, SYS_statfs, (long)path, (long)&info, 0, 0, 0, 0), &info, space);
}

int pfa_sys_fd_space(int fd, pfa_sys_space_t *space)
{
    struct statfs info;
    return tell_space(call(PFA_SYS_SPACE, SYS_fstatfs, fd, (long)&info, 0, 0, 0, 0), &info, space);
}

uint64_t pfa_sys_file_bytes(int fd)
{
    struct stat info;
    return pfa_raw_syscall(SYS_fstat, fd, (long)&info, 0, 0, 0, 0) == 0 ? (uint64_t)info.st_blocks * 512 : 0;
}

int pfa_sys_open_own(const char *path)
{
    struct stat info;
    int fd = (int)call(PFA_SYS_OPEN, SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                       0, 0, 0);
    if (fd >= 0 && (pfa_raw_syscall(SYS_fstat, fd, (long)&info, 0, 0, 0, 0) != 0 || !S_ISREG(info.st_mode) ||
                    info.st_uid != (uid_t)pfa_raw_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0))) {
        (void)pfa_sys_close(fd);
        return -EPERM;
    }
    return fd;
}

uint64_t pfa_sys_file_changed(int fd)
{
    struct stat info;
    if (pfa_raw_syscall(SYS_fstat, fd, (long)&info, 0, 0, 0, 0) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
}

bool pfa_sys_lock_file(int fd, bool alone)
{
    return pfa_raw_syscall(SYS_flock, fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB, 0, 0, 0, 0) == 0;
}

long pfa_sys_pread(int fd, void *buf, size_t size, uint64_t offset)
{
    return pfa_raw_syscall(SYS_pread64, fd, (long)buf, (long)size, (long)offset, 0, 0);
}

void pfa_sys_each_name(const char *folder, void (*visit)(void *to, const char *name), void *to)
{
    /* As the kernel has it; the name goes on to the end. */
    typedef struct entry {
        uint64_t inode;
        int64_t next;
        uint16_t size;
        uint8_t type;
        char name[];
    } entry_t;
    _Alignas(entry_t) char buf[4096];
    int fd = (int)call(PFA_SYS_OPEN, SYS_openat, AT_FDCWD, (long)folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0, 0, 0);
    long got = 0;
    while (fd >= 0 && (got = pfa_raw_syscall(SYS_getdents64, fd, (long)buf, sizeof buf, 0, 0, 0)) > 0) {
        for (long at = 0; at < got;) {
            const entry_t *entry = (const entry_t *)(const void *)(buf + at);
            visit(to, entry->name);
            at += entry->size;
        }
    }
    if (fd >= 0) {
        (void)pfa_sys_close(fd);
    }
}

size_t pfa_sys_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int pfa_sys_rename(const char *from, const char *to)
{
    return (int)pfa_raw_syscall(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0, 0);
}

int pfa_sys_symlink(const char *target, const char *path)
{
    return (int)pfa_raw_syscall(SYS_symlinkat, (long)target, AT_FDCWD, (long)path, 0, 0, 0);
}

long pfa_sys_readlink(const char *path, char *buf, size_t size)
{
    return pfa_raw_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)buf, (long)size, 0, 0);
}

long pfa_sys_cwd(char *buf, size_t size)
{
    return pfa_raw_syscall(SYS_getcwd, (long)buf, (long)size, 0, 0, 0, 0);
}

void pfa_sys_thread_name(char *name)
{
    (void)pfa_raw_syscall(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
}

long pfa_sys_read(int fd, void *buf, size_t size)
{
    long got;
    do {
        got = call(PFA_SYS_READ, SYS_read, fd, (long)buf, (long)size, 0, 0, 0);
    } while (got == -EINTR);
    return got;
}

static long write_all(int fd, const char *buf, size_t size)
{
    size_t done = 0;
    while (done < size) {
        long got = call(PFA_SYS_WRITE, SYS_write, fd, (long)(buf + done), (long)(size - done), 0, 0, 0);
        if (got == -EINTR) {
            continue;
        }
        if (got <= 0) {
            return got;
        }
        done += (size_t)got;
    }
    return (long)done;
}

long pfa_sys_write(int fd, const void *buf, size_t size)
{
    silence_t pipe = silence(SIGPIPE, true);
    silence_t limit = silence(SIGXFSZ, false); /* standard error may be a file */
    long got = write_all(fd, buf, size);
    end_silence(&limit, got == -EFBIG);
    end_silence(&pipe, got == -EPIPE);
    return got;
}

int pfa_sys_close(int fd)
{
    return (int)call(PFA_SYS_CLOSE, SYS_close, fd, 0, 0, 0, 0, 0);
}

bool pfa_sys_readable(const char *path)
{
    return call(PFA_SYS_ACCESS, SYS_faccessat, AT_FDCWD, (long)path, R_OK, 0, 0, 0) == 0;
}

bool pfa_sys_executable(const char *path)
{
    return call(PFA_SYS_ACCESS, SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0, 0) == 0;
}

int pfa_sys_execute(const char *path, char *const arguments[], char *const environment[])
{
    return (int)pfa_raw_syscall(SYS_execve, (long)path, (long)arguments, (long)environment, 0, 0, 0);
}

bool pfa_sys_read_text(const char *path, char *text, size_t size)
{
    int fd = pfa_sys_open_read(path);
    if (fd < 0) {
        return false;
    }
    long got = pfa_sys_read(fd, text, size - 1);
    (void)pfa_sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

uint64_t pfa_sys_resident(void)
{
    char text[128];
    uint64_t pages = 0;
    if (!pfa_sys_read_text("/proc/self/statm", text, sizeof text)) {
        return 0;
    }
    const char *at = text;
    while (*at != ' ' && *at != '\0') {
        at++;
    }
    for (at += *at == ' '; *at >= '0' && *at <= '9'; at++) {
        pages = pages * 10 + (uint64_t)(*at - '0');
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t pfa_sys_ram(void)
{
    struct sysinfo info;
    if (call(PFA_SYS_SYSINFO, SYS_sysinfo, (long)&info, 0, 0, 0, 0, 0) != 0) {
        return 0;
    }
    return (uint64_t)info.totalram * info.mem_unit;
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (call(PFA_SYS_PRLIMIT, SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) != 0) {
        return 0;
    }
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t pfa_sys_address_limit(void)
{
    return limit_of(RLIMIT_AS);
}

uint64_t pfa_sys_file_limit(void)
{
    return limit_of(RLIMIT_FSIZE);
}

uint64_t pfa_sys_data_limit(void)
{
    return limit_of(RLIMIT_DATA);
}

long pfa_sys_getrandom(void *buf, size_t size)
{
    enum { NONBLOCK = 1 };
    return call(PFA_SYS_GETRANDOM, SYS_getrandom, (long)buf, (long)size, NONBLOCK, 0, 0, 0);
}

uint64_t pfa_sys_random(void)
{
    uint64_t value = 0;
    if (pfa_sys_getrandom(&value, sizeof value) != (long)sizeof value) {
        value = pfa_sys_nanoseconds() ^ ((uint64_t)pfa_sys_tid() << 32) ^ (uint64_t)(uintptr_t)&value;
    }
    return value;
}

int pfa_sys_pid(void)
{
    return (int)pfa_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

int pfa_sys_parent_pid(void)
{
    return (int)pfa_raw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

unsigned long pfa_sys_threads(void)
{
    struct stat task; /* a folder for each, and two names of itself */
    return pfa_raw_syscall(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&task, 0, 0, 0) == 0
               ? (unsigned long)task.st_nlink - 2
               : 0;
}

int pfa_sys_tid(void)
{
    return (int)pfa_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

bool pfa_sys_is_gone(int tid)
{
    return pfa_raw_syscall(SYS_tgkill, pfa_sys_pid(), tid, 0, 0, 0, 0) == -ESRCH;
}

static uint64_t clock_nanoseconds(int clock)
{
    struct timespec now = {0, 0};
    (void)call(PFA_SYS_CLOCK, SYS_clock_gettime, clock, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t pfa_sys_nanoseconds(void)
{
    return clock_nanoseconds(CLOCK_MONOTONIC);
}

uint64_t pfa_sys_unix_nanoseconds(void)
{
    return clock_nanoseconds(CLOCK_REALTIME);
}

void pfa_sys_futex_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec limit = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    (void)call(PFA_SYS_FUTEX, SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)expected,
               timeout_ns == 0 ? 0 : (long)&limit, 0, 0);
}

void pfa_sys_futex_wake(const _Atomic uint32_t *word, int count)
{
    (void)call(PFA_SYS_FUTEX, SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

const char *pfa_sys_why(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case ENOENT:
    case ENOTDIR:
        return "no such folder";
    case ENOSPC:
    case EDQUOT:
        return "no space left on the disk";
    case EFBIG:
        return "file size limit";
    case EROFS:
        return "read-only file system";
    case ENAMETOOLONG:
        return "the name is too long";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    case ENOMEM:
        return "no memory";
    default:
        return "input/output error";
    }
}

static bool frugal;

void pfa_sys_be_frugal(void)
{
    frugal = true;
}

bool pfa_sys_is_frugal(void)
{
    return frugal;
}

void pfa_sys_yield(void)
{
    enum { INSTEAD_NS = 10000 };
    if (frugal) {
        pfa_sys_pause(INSTEAD_NS);
        return;
    }
    (void)pfa_raw_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

size_t pfa_sys_processors(void *set, size_t size)
{
    long used = pfa_raw_syscall(SYS_sched_getaffinity, 0, (long)size, (long)set, 0, 0, 0);
    return used > 0 ? (size_t)used : 0;
}

void pfa_sys_schedule_normally(void)
{
    struct sched_param none = {.sched_priority = 0};
    long policy = pfa_raw_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        (void)pfa_raw_syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&none, 0, 0, 0);
    }
}

bool pfa_sys_is_filtered(void)
{
    return pfa_raw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

bool pfa_sys_is_shut_in(void)
{
    enum { UNKNOWN, OPEN, FILTERED };
    static _Atomic uint8_t at_start = UNKNOWN;
    bool filtered = pfa_sys_is_filtered();
    if (pfa_load_relaxed(&at_start) == UNKNOWN) {
        pfa_store_relaxed(&at_start, (uint8_t)(filtered ? FILTERED : OPEN));
    }
    return filtered && pfa_load_relaxed(&at_start) == OPEN;
}

void pfa_sys_set_processors(const void *set, size_t size)
{
    (void)pfa_raw_syscall(SYS_sched_setaffinity, 0, (long)size, (long)set, 0, 0, 0);
}

void pfa_sys_pause(uint64_t nanoseconds)
{
    static const _Atomic uint32_t never = 0;
    pfa_sys_futex_wait(&never, 0, nanoseconds);
}

static long membarrier(int command)
{
    return call(PFA_SYS_MEMBARRIER, SYS_membarrier, command, 0, 0, 0, 0, 0);
}

bool pfa_sys_try_fence_all(void)
{
    long err = frugal ? -ENOSYS : membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (err == -EPERM) { /* not registered yet */
        (void)membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        err = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    }
    pfa_fence_seq_cst();
    return err == 0;
}

void pfa_sys_fence_all(void)
{
    enum { LONG_ENOUGH_NS = 1000000 };
    if (!pfa_sys_try_fence_all()) {
        pfa_sys_pause(LONG_ENOUGH_NS);
        pfa_fence_seq_cst();
    }
}

_Noreturn void pfa_sys_exit(int status)
{
    for (;;) {
        (void)pfa_raw_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
    }
}

bool pfa_sys_on_alternate_stack(void)
{
    stack_t stack = {.ss_flags = 0};
    return pfa_raw_syscall(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

uint64_t pfa_sys_hold_signals(void)
{
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 32, 33};
    uint64_t held = UINT64_MAX;
    uint64_t before = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        held &= ~((uint64_t)1 << (kept[i] - 1));
    }
    (void)pfa_raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&held, (long)&before, sizeof held, 0, 0);
    return before;
}

void pfa_sys_let_signals(uint64_t before)
{
    (void)pfa_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

_Noreturn void pfa_sys_abort(void)
{
    /* First with the program's own handler, if it has one; then, should that return, with the default action. */
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } by_default = {NULL, 0, NULL, 0};
    uint64_t none = 0;
    (void)pfa_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof none, 0, 0);
    (void)pfa_raw_syscall(SYS_tgkill, pfa_sys_pid(), pfa_sys_tid(), SIGABRT, 0, 0, 0);
    (void)pfa_raw_syscall(SYS_rt_sigaction, SIGABRT, (long)&by_default, 0, sizeof none, 0, 0);
    (void)pfa_raw_syscall(SYS_tgkill, pfa_sys_pid(), pfa_sys_tid(), SIGABRT, 0, 0, 0);
    pfa_sys_exit(134);
}

static uint64_t identity_of(const struct stat *info)
{
    uint64_t identity = (uint64_t)info->st_dev * 0x9e3779b97f4a7c15ull ^ (uint64_t)info->st_ino;
    return identity != 0 ? identity : 1;
}

uint64_t pfa_sys_fd_identity(int fd)
{
    struct stat info;
    return pfa_raw_syscall(SYS_fstat, fd, (long)&info, 0, 0, 0, 0) == 0 ? identity_of(&info) : 0;
}

int pfa_sys_path_identity(const char *path, uint64_t *identity)
{
    struct stat info;
    int err = (int)call(PFA_SYS_OPEN, SYS_newfstatat, AT_FDCWD, (long)path, (long)&info, 0, 0, 0);
    *identity = err == 0 && S_ISREG(info.st_mode) ? identity_of(&info) : 0;
    return err;
}

int pfa_sys_dup_high(int fd)
{
    long copy = -EINVAL;
    for (long lowest = 1000; copy < 0 && lowest >= 10; lowest /= 2) {
        copy = pfa_raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest, 0, 0, 0);
    }
    return (int)copy;
}

/* A futex, since a program that has shut itself in has to allow that: the kernel reads the word to compare it, and comes back
 * at once, whatever it is. */
static bool can_read_word(uintptr_t address)
{
    const struct timespec at_once = {0, 0};
    long err = pfa_raw_syscall(SYS_futex, (long)(address & ~(uintptr_t)3), FUTEX_WAIT_PRIVATE, 0, (long)&at_once, 0, 0);
    return err == -EAGAIN || err == -ETIMEDOUT || err == -EINTR || err == 0;
}

bool pfa_sys_can_read(const void *address)
{
    enum { LEAST_PAGE = 4096, LAST = 7 };
    uintptr_t first = (uintptr_t)address;
    return can_read_word(first) && ((first ^ (first + LAST)) < LEAST_PAGE || can_read_word(first + LAST));
}

int pfa_sys_cpu_node(unsigned *cpu, unsigned *node)
{
    return (int)pfa_raw_syscall(SYS_getcpu, (long)cpu, (long)node, 0, 0, 0, 0);
}
