/* The floor: every system call the runtime makes, raw. Nothing here touches errno or allocates, all of it may be called
 * at any time from any thread, also from a signal handler. Calls return 0 or a value on success and a negative error
 * number on failure. Tests set pfa_sys_fault to make chosen calls fail (STYLE, habits 6 and 10). */
#ifndef PFA_BASE_SYS_H
#define PFA_BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The calls by name, for failure injection: a test sets pfa_sys_fault and is asked before each call. */
typedef enum pfa_sys_call {
    PFA_SYS_MMAP,
    PFA_SYS_MUNMAP,
    PFA_SYS_MPROTECT,
    PFA_SYS_MADVISE,
    PFA_SYS_OPEN,
    PFA_SYS_READ,
    PFA_SYS_WRITE,
    PFA_SYS_CLOSE,
    PFA_SYS_SYSINFO,
    PFA_SYS_PRLIMIT,
    PFA_SYS_GETRANDOM,
    PFA_SYS_CLOCK,
    PFA_SYS_FUTEX,
    PFA_SYS_ACCESS,
    PFA_SYS_MEMBARRIER,
    PFA_SYS_CREATE,
    PFA_SYS_TRUNCATE,
    PFA_SYS_FALLOCATE,
    PFA_SYS_MAP_FILE,
    PFA_SYS_PWRITE,
    PFA_SYS_UNLINK,
    PFA_SYS_SPACE,
    PFA_SYS_COUNT
} pfa_sys_call_t;

/* Returns 0 to let the call through, or the error number it shall fail with. NULL (always, outside tests) asks nobody. */
typedef int pfa_sys_fault_fn(pfa_sys_call_t call);
extern pfa_sys_fault_fn *pfa_sys_fault;

/* mmap of anonymous private memory; *out is untouched on failure. hint may be NULL. */
int pfa_sys_map(void *hint, size_t size, int prot, int flags, void **out);
int pfa_sys_unmap(void *addr, size_t size);
int pfa_sys_protect(void *addr, size_t size, int prot);
int pfa_sys_advise(void *addr, size_t size, int advice);

int pfa_sys_open_read(const char *path);
/* A new file for reading and writing, with a descriptor that programs do not expect to get; fails if there is one. */
int pfa_sys_create(const char *path);
/* The same for the owner alone, and not where a link points to. */
int pfa_sys_create_private(const char *path);
/* One that is there, for reading and writing; the descriptor as above. */
int pfa_sys_open_write(const char *path);
int pfa_sys_truncate(int fd, uint64_t size);
/* Room on the disk for these bytes of the file, which is as long as that already (making it longer may send a signal), so that
 * storing there through a mapping cannot fail. -EOPNOTSUPP where the file system does not offer that. */
int pfa_sys_make_room(int fd, uint64_t offset, uint64_t size);
/* The same for such a file system, of whole pages that are mapped: as if each were stored to. Linux before 5.14 has no such call;
 * 0 then, and a store may fail with SIGBUS if the disk is full. */
int pfa_sys_populate(void *at, size_t size);
/* Maps a piece of the file, shared, over what is at `at`. */
/* Memory at an address, shared with a file; or that begins as a copy of it. */
int pfa_sys_map_copy(void *at, size_t size, int fd, uint64_t offset);
int pfa_sys_map_file(void *at, size_t size, int fd, uint64_t offset);
/* All of it, or a negative error number. */
long pfa_sys_pwrite(int fd, const void *buf, size_t size, uint64_t offset);
/* The next bytes of the file that are not a hole, at or behind *start and before limit: from *start to before *end. False:
 * there are none. Where the file system cannot say, all are. */
bool pfa_sys_next_data(int fd, uint64_t *start, uint64_t *end, uint64_t limit);
/* The same of pages that are mapped at `memory` and are in memory: reading one that is not may make it. */
bool pfa_sys_next_resident(const void *memory, uint64_t *start, uint64_t *end, uint64_t limit);
int pfa_sys_unlink(const char *path);
/* What a file system is and has, in bytes. */
typedef struct pfa_sys_space {
    bool in_memory; /* tmpfs or ramfs: no store to a file of it waits for a disk, unless it was swapped out */
    uint64_t total; /* 0: without a limit */
    uint64_t free;
} pfa_sys_space_t;
int pfa_sys_space(const char *path, pfa_sys_space_t *space);
int pfa_sys_fd_space(int fd, pfa_sys_space_t *space);
/* Bytes that the file takes, holes not counted. */
uint64_t pfa_sys_file_bytes(int fd);
size_t pfa_sys_page_size(void);
/* A regular file of our own user, no link to one, for reading; a negative error number if it is another's. */
int pfa_sys_open_own(const char *path);
/* When it was last changed, in nanoseconds since 1970; UINT64_MAX if that cannot be told. */
uint64_t pfa_sys_file_changed(int fd);
/* Locks it, for as long as the descriptor is open: for ourselves alone, or with others who do not want it for themselves
 * alone. False if another process has it locked. */
bool pfa_sys_lock_file(int fd, bool alone);
long pfa_sys_pread(int fd, void *buf, size_t size, uint64_t offset);
/* Calls `visit` with the name of everything in a folder. */
void pfa_sys_each_name(const char *folder, void (*visit)(void *to, const char *name), void *to);
int pfa_sys_rename(const char *from, const char *to);
int pfa_sys_symlink(const char *target, const char *path);
long pfa_sys_readlink(const char *path, char *buf, size_t size);
/* With the terminating 0 counted. */
long pfa_sys_cwd(char *buf, size_t size);
/* The calling thread's name, 16 bytes. */
void pfa_sys_thread_name(char *name);
long pfa_sys_read(int fd, void *buf, size_t size);
long pfa_sys_write(int fd, const void *buf, size_t size);
int pfa_sys_close(int fd);
bool pfa_sys_readable(const char *path);
bool pfa_sys_executable(const char *path);
/* Becomes another program; returns only if that fails. */
int pfa_sys_execute(const char *path, char *const arguments[], char *const environment[]);
/* Blocks the calling thread's signals, but for those of faults and the C library's own, and returns what was blocked before: for
 * pfa_sys_let_signals, which undoes it, in a fork child as well. */
uint64_t pfa_sys_hold_signals(void);
void pfa_sys_let_signals(uint64_t before);
/* What a descriptor refers to, as one number that is the same only for the same file; 0 if it is closed. */
uint64_t pfa_sys_fd_identity(int fd);
/* The same of the file that a path leads to, which is not opened: it may be a pipe, and is 0 then. 0 or a negative number. */
int pfa_sys_path_identity(const char *path, uint64_t *identity);
/* A copy of the descriptor that exec closes, with a number that programs do not expect to get. */
int pfa_sys_dup_high(int fd);
/* Can the 8 bytes at this address be read without a fault? */
bool pfa_sys_can_read(const void *address);
int pfa_sys_cpu_node(unsigned *cpu, unsigned *node);

/* A short text file as a string; false if it cannot be read. */
bool pfa_sys_read_text(const char *path, char *text, size_t size);
/* Bytes of memory that the process has, or 0 if unknown. */
uint64_t pfa_sys_resident(void);
/* Bytes of RAM, or 0 if unknown. */
uint64_t pfa_sys_ram(void);
/* The address-space limit in bytes, UINT64_MAX when there is none, 0 if unknown. */
uint64_t pfa_sys_address_limit(void);
/* The same of the length of files, and of memory that can be written. */
uint64_t pfa_sys_file_limit(void);
uint64_t pfa_sys_data_limit(void);
uint64_t pfa_sys_random(void);
long pfa_sys_getrandom(void *buf, size_t size);
int pfa_sys_pid(void);
int pfa_sys_tid(void);
/* Is there no thread of this process with that number any more? */
bool pfa_sys_is_gone(int tid);
uint64_t pfa_sys_nanoseconds(void);
/* Since 1970. */
uint64_t pfa_sys_unix_nanoseconds(void);
int pfa_sys_parent_pid(void);
/* Threads of the process, 0 if unknown. */
unsigned long pfa_sys_threads(void);

/* What kept a file from being made or written, in words. */
const char *pfa_sys_why(int err);

/* Sleeps while *word == expected, at most timeout_ns (0: no limit). */
void pfa_sys_futex_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void pfa_sys_futex_wake(const _Atomic uint32_t *word, int count);
void pfa_sys_yield(void);
/* From here on no kinds of calls on the ways of malloc and free but those that every malloc makes: to map and to protect
 * memory, to give advice, and futexes. A program that has shut itself in may be killed for another. Once, at start. */
void pfa_sys_be_frugal(void);
bool pfa_sys_is_frugal(void);
/* The processors that the calling thread may run on, as a set of bits; its size in bytes, or 0 if it does not fit. */
size_t pfa_sys_processors(void *set, size_t size);
/* In place of a real-time policy, if it has one. */
void pfa_sys_schedule_normally(void);
/* Does the thread run behind a filter of system calls (seccomp)? */
bool pfa_sys_is_filtered(void);
/* Has the program shut itself in since the first call, which is made when recording begins? Then it allows what writing a file takes,
 * and no more. */
bool pfa_sys_is_shut_in(void);
void pfa_sys_set_processors(const void *set, size_t size);
void pfa_sys_pause(uint64_t nanoseconds);
/* A full memory fence in every thread of the process, or where the system has none, long enough for all they stored
 * before to be seen. */
void pfa_sys_fence_all(void);
/* The same where the system has one; false if it has none. */
bool pfa_sys_try_fence_all(void);
_Noreturn void pfa_sys_exit(int status);
/* Is this a signal handler on a stack of its own (sigaltstack)? */
bool pfa_sys_on_alternate_stack(void);
/* Dies by SIGABRT: through the program's handler if there is one, by the default action in any case. */
_Noreturn void pfa_sys_abort(void);

#endif
