/* What the tests of libprofalloc_access.a share: the library's side of it, faked. The profiled range is an array here, without
 * slices, so that every access in it arrives at `rare`, which keeps it for the test to compare.
 *
 * A test that includes this is linked with the archive, with its functions wrapped, and compiled with -fno-builtin, as
 * profalloc-cc would: its own calls are what is tested. Between `watch` and `expect` there is nothing but them. */
#ifndef PFA_TESTS_ACCESSES_H
#define PFA_TESTS_ACCESSES_H

#include "hooks/access/access.h"
#include "tests/unit/unit.h"

#include <errno.h>

enum { ROOM = 4096, LOG_SIZE = 64, ERRNO_BEFORE = 77 };

/* An access: where in the range, how far, how often read and written. */
typedef struct access {
    size_t offset;
    size_t size;
    uint64_t counts;
} access_t;

static _Alignas(64) char memory[3 * ROOM];
static char *const range = memory + ROOM;          /* its middle is profiled */
static __attribute__((unused)) char outside[ROOM]; /* is not */

PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread = {.number = PFA_ACCESS_NOBODY};

static access_t access_log[LOG_SIZE];
static size_t logged;
static bool watching;

static void fake_rare(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread)
{
    if (!watching) {
        return;
    }
    must(thread == &pfa_access_thread);
    must(logged < LOG_SIZE);
    access_log[logged++] = (access_t){address - (uintptr_t)range, size, counts};
}

static size_t attached;

void profalloc_access_attach(pfa_access_view_t *view)
{
    must(view == &pfa_access_view && view->version == PFA_ACCESS_VERSION && view->size == sizeof *view);
    must(view->span == 0);
    view->base = (uintptr_t)range;
    view->rare = fake_rare;
    view->span = ROOM;
    attached++;
}

void profalloc_access_detach(pfa_access_view_t *view)
{
    must(view == &pfa_access_view);
    view->span = 0;
    attached--;
}

/* Compilers know that strcmp changes nothing, and would call it when they see fit; but not on the other side of this. */
#define IN_PLACE() __asm__ volatile("" ::: "memory")

/* Accesses from here on are noted. */
static inline void watch(void)
{
    logged = 0;
    pfa_access_thread.clock = 0;
    errno = ERRNO_BEFORE;
    watching = true;
    IN_PLACE();
}

#define R(offset, size)                                                                                                \
    {                                                                                                                  \
        offset, size, PFA_ACCESS_READ                                                                                  \
    }
#define W(offset, size)                                                                                                \
    {                                                                                                                  \
        offset, size, PFA_ACCESS_WRITE                                                                                 \
    }
#define RW(offset, size)                                                                                               \
    {                                                                                                                  \
        offset, size, PFA_ACCESS_READ + PFA_ACCESS_WRITE                                                               \
    }

static inline void compare_log(const access_t *wanted, size_t count, const char *file, int line)
{
    IN_PLACE();
    watching = false;
    bool same = logged == count;
    for (size_t i = 0; i < count && same; i++) {
        same = access_log[i].offset == wanted[i].offset && access_log[i].size == wanted[i].size &&
               access_log[i].counts == wanted[i].counts;
    }
    for (size_t i = 0; i < logged && !same; i++) {
        print_error("seen at %zu: %zu bytes, counts %#llx\n", access_log[i].offset, access_log[i].size,
                    (unsigned long long)access_log[i].counts);
    }
    if (!same) {
        print_error("%zu seen, %zu expected\n", logged, count);
        _fail(file, line);
    }
}

/* Exactly these accesses were made since `watch`, in this order. */
#define expect(...)                                                                                                    \
    do {                                                                                                               \
        const access_t wanted_[] = {__VA_ARGS__};                                                                      \
        compare_log(wanted_, sizeof wanted_ / sizeof wanted_[0], __FILE__, __LINE__);                                  \
    } while (0)
#define expect_nothing() compare_log(NULL, 0, __FILE__, __LINE__)

/* errno is as the program left it. */
#define expect_errno_kept() assert_int_equal(errno, ERRNO_BEFORE)

/* The thread has looked at the clock again; or not, since nothing can have taken long. */
#define expect_waited() assert_true(pfa_access_thread.clock != 0)
#define expect_not_waited() assert_true(pfa_access_thread.clock == 0)

/* A text at a place in the range. */
static inline char *put(size_t offset, const char *text)
{
    return strcpy(range + offset, text);
}

#endif
