/* The floor: that every call tells its name to the fault hook and fails as told, that errno stays out of it, and that the
 * calls with an idea of their own (can_read, identity, dup_high, abort) keep what base/sys.h promises. */
#define _GNU_SOURCE 1
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* --- failure injection ------------------------------------------------------------------------------------------- */

static pfa_sys_call_t asked[8];
static unsigned asked_count;

static int refuse_all(pfa_sys_call_t call)
{
    if (asked_count < sizeof asked / sizeof asked[0]) {
        asked[asked_count++] = call;
    }
    return ENOTTY; /* an error none of them would give by itself */
}

#define CHECK_INJECTED(name, call, failed)                                                                             \
    do {                                                                                                               \
        asked_count = 0;                                                                                               \
        errno = 777;                                                                                                   \
        pfa_sys_fault = refuse_all;                                                                                    \
        bool failed_ = failed(call);                                                                                   \
        pfa_sys_fault = NULL;                                                                                          \
        assert_true(failed_);                                                                                          \
        assert_true(asked_count >= 1);                                                                                 \
        assert_int_equal(asked[0], name);                                                                              \
        assert_int_equal(errno, 777);                                                                                  \
    } while (0)
#define AS_TOLD(result) ((result) == -ENOTTY)
#define ZERO(result) ((result) == 0)
#define IS_FALSE(result) (!(result))

static void every_call_can_be_made_to_fail(void **state)
{
    (void)state;
    char byte = 0;
    void *untouched = &byte;
    CHECK_INJECTED(PFA_SYS_MMAP, pfa_sys_map(NULL, 4096, PROT_READ, 0, &untouched), AS_TOLD);
    assert_ptr_equal(untouched, &byte);
    CHECK_INJECTED(PFA_SYS_MUNMAP, pfa_sys_unmap(NULL, 4096), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_MPROTECT, pfa_sys_protect(NULL, 4096, PROT_READ), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_MADVISE, pfa_sys_advise(NULL, 4096, MADV_DONTNEED), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_OPEN, pfa_sys_open_read("/dev/null"), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_READ, pfa_sys_read(0, &byte, 1), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_WRITE, pfa_sys_write(1, &byte, 1), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_CLOSE, pfa_sys_close(0), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_SYSINFO, pfa_sys_ram(), ZERO);
    CHECK_INJECTED(PFA_SYS_PRLIMIT, pfa_sys_address_limit(), ZERO);
    CHECK_INJECTED(PFA_SYS_GETRANDOM, pfa_sys_getrandom(&byte, 1), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_CLOCK, pfa_sys_nanoseconds(), ZERO);
    CHECK_INJECTED(PFA_SYS_ACCESS, pfa_sys_readable("/dev/null"), IS_FALSE);
    _Atomic uint32_t word = 0;
    CHECK_INJECTED(PFA_SYS_FUTEX, (pfa_sys_futex_wait(&word, 0, 0), 0), ZERO); /* fails instead of sleeping for ever */
    CHECK_INJECTED(PFA_SYS_FUTEX, (pfa_sys_futex_wake(&word, 1), 0), ZERO);
    CHECK_INJECTED(PFA_SYS_MEMBARRIER, (pfa_sys_fence_all(), 0), ZERO);
    assert_true(asked_count == 2 && asked[1] == PFA_SYS_FUTEX); /* waits instead */
    CHECK_INJECTED(PFA_SYS_CREATE, pfa_sys_create("/nowhere/at/all"), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_CREATE, pfa_sys_open_write("/nowhere/at/all"), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_TRUNCATE, pfa_sys_truncate(-1, 0), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_FALLOCATE, pfa_sys_make_room(-1, 0, 1), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_MAP_FILE, pfa_sys_map_file(NULL, 4096, -1, 0), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_PWRITE, pfa_sys_pwrite(-1, &byte, 1, 0), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_UNLINK, pfa_sys_unlink("/nowhere/at/all"), AS_TOLD);
    pfa_sys_space_t space;
    CHECK_INJECTED(PFA_SYS_SPACE, pfa_sys_space("/", &space), AS_TOLD);
    CHECK_INJECTED(PFA_SYS_CREATE, pfa_sys_create_private("/nowhere/at/all"), AS_TOLD);
    assert_int_equal(PFA_SYS_COUNT, 22); /* a call that is added to the list belongs here too */
}

static void real_errors_come_as_negative_numbers(void **state)
{
    (void)state;
    void *memory;
    char byte;
    errno = 777;
    assert_int_equal(pfa_sys_map(NULL, 0, PROT_READ, 0, &memory), -EINVAL);
    assert_int_equal(pfa_sys_map(NULL, (size_t)1 << 60, PROT_READ, 0, &memory), -ENOMEM);
    assert_int_equal(pfa_sys_unmap((void *)1, 4096), -EINVAL);
    assert_int_equal(pfa_sys_protect((void *)1, 4096, PROT_READ), -EINVAL);
    assert_int_equal(pfa_sys_advise(NULL, page_size(), MADV_DONTNEED), -ENOMEM);
    assert_int_equal(pfa_sys_open_read("/nonexistent/file"), -ENOENT);
    assert_int_equal(pfa_sys_read(-1, &byte, 1), -EBADF);
    assert_int_equal(pfa_sys_write(-1, &byte, 1), -EBADF);
    assert_int_equal(pfa_sys_close(-1), -EBADF);
    assert_false(pfa_sys_readable("/nonexistent/file"));
    assert_true(pfa_sys_readable("/"));
    assert_int_equal(errno, 777);
}

static void memory_calls_do_their_work(void **state)
{
    (void)state;
    void *memory = NULL;
    size_t size = 4 * page_size();
    assert_int_equal(pfa_sys_map(NULL, size, PROT_NONE, MAP_NORESERVE, &memory), 0);
    assert_false(pfa_sys_can_read(memory));
    assert_int_equal(pfa_sys_protect(memory, size, PROT_READ | PROT_WRITE), 0);
    memset(memory, 0x5a, size);
    assert_int_equal(pfa_sys_advise(memory, size, MADV_DONTNEED), 0);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(((char *)memory)[i], 0);
    }
    assert_int_equal(pfa_sys_unmap(memory, size), 0);
    assert_false(pfa_sys_can_read(memory));
}

static void files_are_read_and_closed_on_exec(void **state)
{
    (void)state;
    char got[16];
    int fd = pfa_sys_open_read("/dev/zero");
    assert_true(fd >= 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    memset(got, 1, sizeof got);
    assert_int_equal(pfa_sys_read(fd, got, sizeof got), sizeof got);
    assert_int_equal(got[15], 0);
    assert_int_equal(pfa_sys_close(fd), 0);
    assert_int_equal(pfa_sys_close(fd), -EBADF);
}

static unsigned interruptions;

static int interrupt_twice(pfa_sys_call_t call)
{
    return (call == PFA_SYS_READ || call == PFA_SYS_WRITE) && interruptions++ < 2 ? EINTR : 0;
}

static void interrupted_reads_and_writes_go_on(void **state)
{
    (void)state;
    int ends[2];
    char got = 0;
    assert_int_equal(pipe(ends), 0);
    pfa_sys_fault = interrupt_twice;
    interruptions = 0;
    long written = pfa_sys_write(ends[1], "x", 1);
    interruptions = 0;
    long read_count = pfa_sys_read(ends[0], &got, 1);
    pfa_sys_fault = NULL;
    assert_int_equal(written, 1);
    assert_int_equal(read_count, 1);
    assert_int_equal(got, 'x');
    close(ends[0]);
    close(ends[1]);
}

enum { MUCH = 300000 };

static void *drain(void *arg)
{
    uint64_t sum = 0;
    unsigned char buf[4096];
    ssize_t got;
    while ((got = read(*(int *)arg, buf, sizeof buf)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            sum += buf[i];
        }
        usleep(50); /* so that the pipe stays full */
    }
    return (void *)(uintptr_t)sum;
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* A write into a full pipe that a signal interrupts ends early with what it has done: the rest has to follow. */
static void a_long_write_is_completed(void **state)
{
    (void)state;
    static unsigned char text[MUCH];
    uint64_t sum = 0;
    for (size_t i = 0; i < MUCH; i++) {
        text[i] = (unsigned char)(i * 7);
        sum += text[i];
    }
    int ends[2];
    pthread_t reader;
    void *got;
    struct sigaction interrupt = {.sa_handler = do_nothing};
    struct sigaction before;
    sigset_t alarm_only;
    const struct itimerval often = {{0, 300}, {0, 300}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sigaction(SIGALRM, &interrupt, &before), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &alarm_only, NULL), 0); /* for the reader */
    assert_int_equal(pthread_create(&reader, NULL, drain, &ends[0]), 0);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    long written = pfa_sys_write(ends[1], text, MUCH);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    close(ends[1]);
    assert_int_equal(pthread_join(reader, &got), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(written, MUCH);
    assert_true((uint64_t)(uintptr_t)got == sum);
    close(ends[0]);
}

static void a_file_at_its_limit_sends_no_signal(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {4, 4};
        bool fine = setrlimit(RLIMIT_FSIZE, &limit) == 0 && pfa_sys_write(fileno(file), "12345678", 8) == -EFBIG;
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fclose(file);
}

/* --- can_read ---------------------------------------------------------------------------------------------------- */

static void can_read_tells_the_edges_of_memory(void **state)
{
    (void)state;
    size_t page = page_size();
    char *memory = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    char *middle = memory + page;
    assert_int_equal(mprotect(middle, page, PROT_READ), 0);
    for (size_t i = 0; i <= page - 8; i += 8) {
        assert_true(pfa_sys_can_read(middle + i));
    }
    for (size_t i = 1; i < 8; i++) {
        assert_false(pfa_sys_can_read(middle - i)); /* 8 bytes that begin in what cannot be read */
        assert_false(pfa_sys_can_read(middle + page - i));
    }
    assert_false(pfa_sys_can_read(memory));
    assert_false(pfa_sys_can_read(middle + page));
    munmap(memory, 3 * page);
    assert_false(pfa_sys_can_read(middle));
}

static void can_read_is_total(void **state)
{
    (void)state;
    int local = 0;
    uint64_t seed = 31;
    static const uint64_t bad[] = {0,
                                   1,
                                   8,
                                   4095,
                                   0x800000000000,
                                   0xffff800000000000,
                                   0xffffffff81000000,
                                   0x8000000000000000,
                                   UINT64_MAX,
                                   UINT64_MAX - 7,
                                   0xdeadbeefdeadbeef};
    sigset_t before;
    sigset_t after;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(pfa_sys_can_read((const void *)(uintptr_t)bad[i]));
    }
    assert_true(pfa_sys_can_read(&local));
    assert_true(pfa_sys_can_read(&asked));
    assert_true(pfa_sys_can_read((const void *)(uintptr_t)&can_read_is_total));
    for (int i = 0; i < 10000; i++) {
        (void)pfa_sys_can_read((const void *)(uintptr_t)random_next(&seed));
    }
    /* It is a question: the signal mask, which the call is about, stays. */
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int signal = 1; signal < NSIG; signal++) {
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    }
}

/* --- descriptors ------------------------------------------------------------------------------------------------- */

static void identity_follows_the_file_not_the_number(void **state)
{
    (void)state;
    FILE *first = tmpfile();
    FILE *second = tmpfile();
    assert_true(first != NULL && second != NULL);
    uint64_t one = pfa_sys_fd_identity(fileno(first));
    uint64_t two = pfa_sys_fd_identity(fileno(second));
    assert_true(one != 0 && two != 0 && one != two);
    int copy = dup(fileno(first));
    assert_true(pfa_sys_fd_identity(copy) == one);
    assert_int_equal(write(copy, "growing", 7), 7);
    assert_true(pfa_sys_fd_identity(copy) == one);
    assert_true(dup2(fileno(second), copy) == copy);
    assert_true(pfa_sys_fd_identity(copy) == two);
    close(copy);
    assert_true(pfa_sys_fd_identity(copy) == 0);
    assert_true(pfa_sys_fd_identity(-1) == 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(pfa_sys_fd_identity(ends[0]) == pfa_sys_fd_identity(ends[1])); /* one pipe */
    close(ends[0]);
    close(ends[1]);
    fclose(first);
    fclose(second);
}

/* Files made one after another have neighbouring inode numbers. */
static void neighbouring_files_have_different_identities(void **state)
{
    (void)state;
    enum { FILES = 64 };
    FILE *file[FILES];
    uint64_t identity[FILES];
    for (int i = 0; i < FILES; i++) {
        file[i] = tmpfile();
        assert_non_null(file[i]);
        identity[i] = pfa_sys_fd_identity(fileno(file[i]));
        for (int j = 0; j < i; j++) {
            assert_true(identity[i] != identity[j]);
        }
    }
    for (int i = 0; i < FILES; i++) {
        fclose(file[i]);
    }
}

static void dup_high_keeps_out_of_the_way(void **state)
{
    (void)state;
    int copy = pfa_sys_dup_high(STDOUT_FILENO);
    assert_true(copy >= 10);
    assert_true((fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true(pfa_sys_fd_identity(copy) == pfa_sys_fd_identity(STDOUT_FILENO));
    close(copy);
    assert_true(pfa_sys_dup_high(-1) < 0);
}

static void dup_under_a_low_limit(void)
{
    struct rlimit low = {64, 64};
    must(setrlimit(RLIMIT_NOFILE, &low) == 0);
    int copy = pfa_sys_dup_high(STDOUT_FILENO);
    must(copy >= 10 && copy < 64);
    low.rlim_cur = 5;
    must(setrlimit(RLIMIT_NOFILE, &low) == 0);
    must(pfa_sys_dup_high(STDOUT_FILENO) < 0);
}

static void dup_high_takes_what_a_limit_allows(void **state)
{
    (void)state;
    in_child(dup_under_a_low_limit);
}

/* --- facts of the machine ---------------------------------------------------------------------------------------- */

static void ram_is_what_the_system_says(void **state)
{
    (void)state;
    uint64_t expected = (uint64_t)sysconf(_SC_PHYS_PAGES) * page_size();
    uint64_t got = pfa_sys_ram();
    assert_true(got > expected / 2 && got < expected * 2);
}

static void limit_address_space(void)
{
    struct rlimit limit = {(rlim_t)5 << 40, RLIM_INFINITY};
    must(getrlimit(RLIMIT_AS, &limit) == 0);
    if (limit.rlim_cur == RLIM_INFINITY) {
        must(pfa_sys_address_limit() == UINT64_MAX);
    }
    limit.rlim_cur = (rlim_t)5 << 40;
    must(setrlimit(RLIMIT_AS, &limit) == 0);
    must(pfa_sys_address_limit() == (uint64_t)5 << 40);
}

static void address_limit_follows_setrlimit(void **state)
{
    (void)state;
    in_child(limit_address_space);
}

static int refuse_getrandom(pfa_sys_call_t call)
{
    return call == PFA_SYS_GETRANDOM ? ENOSYS : 0;
}

static void random_numbers_differ_with_and_without_getrandom(void **state)
{
    (void)state;
    assert_true(pfa_sys_random() != pfa_sys_random());
    pfa_sys_fault = refuse_getrandom;
    uint64_t first = pfa_sys_random();
    uint64_t second = pfa_sys_random();
    pfa_sys_fault = NULL;
    assert_true(first != second && first != 0);
}

static void *tell_tid(void *arg)
{
    *(int *)arg = pfa_sys_tid();
    must(pfa_sys_pid() == getpid());
    must(pfa_sys_tid() == (int)syscall(SYS_gettid));
    return NULL;
}

static void pid_and_tid_are_the_kernels(void **state)
{
    (void)state;
    pthread_t thread;
    int other = 0;
    assert_int_equal(pfa_sys_pid(), getpid());
    assert_int_equal(pfa_sys_tid(), getpid());
    assert_int_equal(pthread_create(&thread, NULL, tell_tid, &other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(other > 0 && other != getpid());
    unsigned cpu = UINT32_MAX;
    unsigned node = UINT32_MAX;
    assert_int_equal(pfa_sys_cpu_node(&cpu, &node), 0);
    assert_true(cpu < 100000 && node < 100000);
}

static void the_clock_is_monotonic(void **state)
{
    (void)state;
    struct timespec now;
    uint64_t first = pfa_sys_nanoseconds();
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    uint64_t middle = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t last = pfa_sys_nanoseconds();
    assert_true(first <= middle && middle <= last);
}

/* --- futexes ----------------------------------------------------------------------------------------------------- */

static void a_wait_ends_at_its_time_limit(void **state)
{
    (void)state;
    _Atomic uint32_t word = 5;
    uint64_t begin = pfa_sys_nanoseconds();
    pfa_sys_futex_wait(&word, 5, 30 * 1000000);
    assert_true(pfa_sys_nanoseconds() - begin >= 29 * 1000000u);
    pfa_sys_futex_wait(&word, 4, 0); /* another value: does not sleep */
}

static _Atomic uint32_t gate;
static _Atomic uint32_t passed;

static void *pass_gate(void *unused)
{
    while (atomic_load(&gate) == 0) {
        pfa_sys_futex_wait(&gate, 0, 0);
    }
    atomic_fetch_add(&passed, 1);
    return unused;
}

static void a_wake_wakes(void **state)
{
    (void)state;
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, pass_gate, NULL), 0);
    }
    usleep(20000);
    assert_int_equal(atomic_load(&passed), 0);
    atomic_store(&gate, 1);
    pfa_sys_futex_wake(&gate, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&passed), 3);
}

/* --- the end ----------------------------------------------------------------------------------------------------- */

static void exit_with_7(void)
{
    pfa_sys_exit(7);
}

static void just_abort(void)
{
    pfa_sys_abort();
}

static void abort_while_ignored_and_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    signal(SIGABRT, SIG_IGN);
    pfa_sys_abort();
}

static int handled_pipe[2];

static void tell_and_return(int signal)
{
    (void)signal;
    must(write(handled_pipe[1], "h", 1) == 1);
}

static void abort_with_a_handler(void)
{
    signal(SIGABRT, tell_and_return);
    pfa_sys_abort();
}

static void abort_ends_the_process_in_any_case(void **state)
{
    (void)state;
    char got = 0;
    int status = status_of_child(exit_with_7);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    static void (*const ways[])(void) = {just_abort, abort_while_ignored_and_blocked, abort_with_a_handler};
    assert_int_equal(pipe2(handled_pipe, O_NONBLOCK), 0);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_int_equal(read(handled_pipe[0], &got, 1), -1); /* no handler ran so far */
        status = status_of_child(ways[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    assert_int_equal(read(handled_pipe[0], &got, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_can_be_made_to_fail),
        cmocka_unit_test(real_errors_come_as_negative_numbers),
        cmocka_unit_test(memory_calls_do_their_work),
        cmocka_unit_test(files_are_read_and_closed_on_exec),
        cmocka_unit_test(interrupted_reads_and_writes_go_on),
        cmocka_unit_test(a_long_write_is_completed),
        cmocka_unit_test(a_file_at_its_limit_sends_no_signal),
        cmocka_unit_test(can_read_tells_the_edges_of_memory),
        cmocka_unit_test(can_read_is_total),
        cmocka_unit_test(identity_follows_the_file_not_the_number),
        cmocka_unit_test(neighbouring_files_have_different_identities),
        cmocka_unit_test(dup_high_keeps_out_of_the_way),
        cmocka_unit_test(dup_high_takes_what_a_limit_allows),
        cmocka_unit_test(ram_is_what_the_system_says),
        cmocka_unit_test(address_limit_follows_setrlimit),
        cmocka_unit_test(random_numbers_differ_with_and_without_getrandom),
        cmocka_unit_test(pid_and_tid_are_the_kernels),
        cmocka_unit_test(the_clock_is_monotonic),
        cmocka_unit_test(a_wait_ends_at_its_time_limit),
        cmocka_unit_test(a_wake_wakes),
        cmocka_unit_test(abort_ends_the_process_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
