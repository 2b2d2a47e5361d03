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
long pfa_sys_read(int fd, void *buf, size_t size);
long pfa_sys_write(int fd, const void *buf, size_t size);
int pfa_sys_close(int fd);
bool pfa_sys_readable(const char *path);
/* What a descriptor refers to, as one number that is the same only for the same file; 0 if it is closed. */
uint64_t pfa_sys_fd_identity(int fd);
/* A copy of the descriptor that exec closes, with a number that programs do not expect to get. */
int pfa_sys_dup_high(int fd);
/* Can the 8 bytes at this address be read without a fault? */
bool pfa_sys_can_read(const void *address);
int pfa_sys_cpu_node(unsigned *cpu, unsigned *node);

/* Bytes of RAM, or 0 if unknown. */
uint64_t pfa_sys_ram(void);
/* The address-space limit in bytes, UINT64_MAX when there is none, 0 if unknown. */
uint64_t pfa_sys_address_limit(void);
uint64_t pfa_sys_random(void);
long pfa_sys_getrandom(void *buf, size_t size);
int pfa_sys_pid(void);
int pfa_sys_tid(void);
uint64_t pfa_sys_nanoseconds(void);

/* Sleeps while *word == expected, at most timeout_ns (0: no limit). */
void pfa_sys_futex_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void pfa_sys_futex_wake(const _Atomic uint32_t *word, int count);
void pfa_sys_yield(void);
/* A full memory fence in every thread of the process, or where the system has none, long enough for all they stored
 * before to be seen. */
void pfa_sys_fence_all(void);
_Noreturn void pfa_sys_exit(int status);
/* Dies by SIGABRT: through the program's handler if there is one, by the default action in any case. */
_Noreturn void pfa_sys_abort(void);

#endif
