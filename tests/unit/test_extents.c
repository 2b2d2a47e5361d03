/* The live table's memory: in a file or not, what is stored is there, in the file too, and after a change of files. */
#include "base/options.h"
#include "base/sys.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

static char path[64];

static void choose_path(void)
{
    (void)snprintf(path, sizeof path, "extents.%d.live", (int)getpid());
    (void)unlink(path);
    strcpy(pfa_options.live, "beside");
}

static void check_file_has(uint32_t number, uint64_t at, const char *text)
{
    char found[64] = "";
    int fd = open(path, O_RDONLY);
    must(fd >= 0);
    must(pread(fd, found, strlen(text), (off_t)(pfa_extents_head->extents[number].offset + at)) ==
         (ssize_t)strlen(text));
    must(strcmp(found, text) == 0);
    close(fd);
}

static void use_a_file(void)
{
    choose_path();
    must(pfa_extents_open("/nowhere/at/all") != 0);
    must(pfa_extents_open(path) == 0 && pfa_extents_shared());
    void *memory[20];
    uint32_t number[20];
    for (uint32_t i = 0; i < 20; i++) {
        must(pfa_extents_add(PFA_EXTENT_RECORDS, i, 2 * PFA_LIVE_PAGE, NULL, &memory[i], &number[i]) == 0);
        must(pfa_extents_make_room(number[i], 0, 4096) == 0);
        (void)snprintf(memory[i], 64, "this is extent %u", i);
    }
    for (uint32_t i = 0; i < 20; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "this is extent %u", i);
        check_file_has(number[i], 0, text);
        must(pfa_extents_at(number[i]) == memory[i] && pfa_extents_kind(number[i]) == PFA_EXTENT_RECORDS);
        uint64_t start = 0;
        uint64_t end;
        must(pfa_extents_next_data(number[i], &start, &end) && start == 0 && end >= 16);
    }
    pfa_extents_drop(memory[3], PFA_LIVE_PAGE);
    must(((char *)memory[3])[0] == '\0');
    pfa_extents_unlink();
    must(access(path, F_OK) != 0);
    ((char *)memory[4])[0] = 'T'; /* the memory stays */
}

static void a_file_has_what_was_stored(void **state)
{
    (void)state;
    in_child(use_a_file);
}

/* What a fork child does: other memory at the same places, nodes kept, rings gone, numbers the same. */
static void change_files(void)
{
    choose_path();
    void *records;
    void *ring;
    uint32_t number;
    uint32_t ring_number;
    must(pfa_extents_open(path) == 0 && pfa_depot_open() == 0);
    uint32_t node = pfa_depot_add(&pfa_tls, PFA_NODE_COMPLETE, 4711);
    must(pfa_extents_add(PFA_EXTENT_RING, 0, PFA_LIVE_PAGE, NULL, &ring, &ring_number) == 0);
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 9, PFA_LIVE_PAGE, NULL, &records, &number) == 0);
    strcpy(records, "before");
    pfa_extents_head->weights[5] = 99;
    (void)unlink(path);
    must(pfa_extents_reopen(path) == 0 && pfa_extents_shared());
    must(((char *)records)[0] == '\0');
    strcpy(records, "after");
    check_file_has(number, 0, "after");
    must(pfa_extents_head->weights[5] == 99 && pfa_extents_kind(ring_number) == PFA_EXTENT_NONE);
    must(pfa_depot_node(node)->pc == 4711 && pfa_depot_add(&pfa_tls, PFA_NODE_COMPLETE, 4711) == node);
    must(pfa_depot_add(&pfa_tls, PFA_NODE_COMPLETE, 4712) == node + 1);
    /* And once more, without a file. */
    must(pfa_extents_reopen(NULL) == 0 && !pfa_extents_shared());
    must(((char *)records)[0] == '\0' && pfa_depot_node(node + 1)->pc == 4712);
    must(pfa_extents_use(number, 0, PFA_LIVE_PAGE) == 0);
    strcpy(records, "later");
    (void)unlink(path);
}

static void a_change_of_files_keeps_what_it_should(void **state)
{
    (void)state;
    in_child(change_files);
}

static int fail_with;
static pfa_sys_call_t failing;

static int fail_call(pfa_sys_call_t call)
{
    return call == failing ? fail_with : 0;
}

static void meet_trouble(void)
{
    static const struct {
        pfa_sys_call_t call;
        int error;
    } troubles[] = {{PFA_SYS_MAP_FILE, ENOMEM}, {PFA_SYS_PWRITE, ENOSPC}, {PFA_SYS_MMAP, ENOMEM}};
    struct stat before;
    struct stat after;
    choose_path();
    must(pfa_extents_open(path) == 0);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        void *memory = NULL;
        uint32_t number;
        failing = troubles[i].call;
        fail_with = troubles[i].error;
        pfa_sys_fault = fail_call;
        must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == fail_with);
        pfa_sys_fault = NULL;
        must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
        ((char *)memory)[0] = 1;
    }
    void *untouched = NULL;
    uint32_t number;
    must(pfa_extents_add(PFA_EXTENT_NODES, 0, 16 * PFA_LIVE_PAGE, NULL, &untouched, &number) == 0);
    failing = PFA_SYS_FALLOCATE;
    fail_with = ENOSPC;
    pfa_sys_fault = fail_call;
    must(pfa_extents_make_room(0, 0, 4096) == ENOSPC);
    fail_with = EOPNOTSUPP; /* a file system without that call: the pages are made as if they were stored to */
    must(stat(path, &before) == 0);
    must(pfa_extents_make_room(number, 8 * PFA_LIVE_PAGE, PFA_LIVE_PAGE) == 0);
    must(stat(path, &after) == 0);
    pfa_sys_fault = NULL;
    bool known = pfa_sys_advise(untouched, PFA_LIVE_PAGE, 23) != -EINVAL; /* Linux 5.14; makes pages itself */
    must(!known || after.st_blocks * 512 >= before.st_blocks * 512 + PFA_LIVE_PAGE);
    pfa_sys_fault = NULL;
    pfa_extents_unlink();
}

static void trouble_is_told_and_passes(void **state)
{
    (void)state;
    in_child(meet_trouble);
}

/* A daemon that closes all descriptors, and opens a file of its own under our number. */
static void lose_the_descriptor(void)
{
    choose_path();
    void *memory;
    uint32_t number;
    must(pfa_extents_open(path) == 0);
    for (int fd = 3; fd < 1100; fd++) {
        close(fd);
    }
    char own[80];
    (void)snprintf(own, sizeof own, "%s.own", path);
    int fd = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int high = 1000; high < 1010; high++) {
        must(dup2(fd, high) == high);
    }
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
    strcpy(memory, "ours");
    check_file_has(number, 0, "ours");
    struct stat info;
    must(fstat(fd, &info) == 0 && info.st_size == 0);
    (void)unlink(own);
    pfa_extents_unlink();
}

static void a_lost_descriptor_is_found_again(void **state)
{
    (void)state;
    in_child(lose_the_descriptor);
}

static void close_all(void)
{
    for (int fd = 3; fd < 1100; fd++) {
        close(fd);
    }
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 3; fd < 1100; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

enum { THREADS = 8, ROUNDS = 10 };
static pthread_barrier_t closed;
static uint32_t used_number;
static _Atomic int begun;

/* Who opens it again waits until the others are there, and then gives them time to come as far. */
static int wait_for_others(pfa_sys_call_t call)
{
    if (call == PFA_SYS_CREATE) {
        while (atomic_load(&begun) % THREADS != 0) {
            usleep(100);
        }
        usleep(20000);
    }
    return 0;
}

static void *make_room(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&closed);
        (void)atomic_fetch_add(&begun, 1);
        must(pfa_extents_make_room(used_number, 0, 4096) == 0);
        pthread_barrier_wait(&closed);
    }
    return arg;
}

/* Several threads find it lost at once: they have one again, not several. */
static void lose_it_together(void)
{
    pthread_t threads[THREADS];
    void *memory;
    choose_path();
    must(pfa_extents_open(path) == 0);
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PFA_LIVE_PAGE, NULL, &memory, &used_number) == 0);
    must(pthread_barrier_init(&closed, NULL, THREADS + 1) == 0);
    pfa_sys_fault = wait_for_others;
    for (int i = 0; i < THREADS; i++) {
        must(pthread_create(&threads[i], NULL, make_room, NULL) == 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        close_all();
        pthread_barrier_wait(&closed);
        pthread_barrier_wait(&closed);
        must(count_descriptors() == 1);
    }
    pfa_extents_unlink();
}

static void threads_share_one_descriptor(void **state)
{
    (void)state;
    in_child(lose_it_together);
}

/* Its descriptor is lost, and it was removed: what is in memory is found all the same, and holes are not read. */
static void lose_all(void)
{
    enum { PAGES = 4000, USED = 1500 };
    uint64_t page = pfa_sys_page_size();
    uint64_t start = 0;
    uint64_t end;
    void *memory;
    uint32_t number;
    choose_path();
    must(pfa_extents_open(path) == 0);
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PAGES * page, NULL, &memory, &number) == 0);
    memset((char *)memory + USED * page, 1, 2 * page);
    must(unlink(path) == 0);
    close_all();
    must(pfa_extents_next_data(number, &start, &end) && start == USED * page && end == (USED + 2) * page);
    start = end; /* and the last byte of all, by which the file was made longer */
    must(!pfa_extents_next_data(number, &start, &end) || start == (PAGES - 1) * page);
}

static void holes_are_not_read(void **state)
{
    (void)state;
    in_child(lose_all);
}

static char folder[] = "/dev/shm/profalloc-test-XXXXXX";

static bool is_locked(const char *name)
{
    int fd = open(name, O_RDONLY);
    must(fd >= 0);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return locked;
}

/* A table in memory is locked while it is mapped, also when its process has closed its descriptors (meta/orphans.h). */
static void keep_the_lock(void)
{
    void *memory;
    uint32_t number;
    choose_path();
    must(mkdtemp(folder) != NULL);
    strcpy(pfa_options.live, folder);
    must(pfa_extents_open(path) == 0 && is_locked(path));
    close_all();
    must(is_locked(path));
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0 && is_locked(path));
    pfa_extents_unlink();
    must(rmdir(folder) == 0);
}

static void a_table_stays_locked(void **state)
{
    (void)state;
    in_child(keep_the_lock);
}

/* In memory, for nobody else, with a link beside the trace that moves with it; all of it goes. */
static void lie_in_memory(void)
{
    char target[256] = "";
    char other[80];
    struct stat status;
    void *memory;
    uint32_t number;
    choose_path();
    must(mkdtemp(folder) != NULL);
    strcpy(pfa_options.live, folder);
    must(pfa_extents_open(path) == 0 && pfa_extents_shared());
    must(readlink(path, target, sizeof target - 1) > 0 && strcmp(target, pfa_extents_path()) == 0);
    must(strncmp(target, folder, strlen(folder)) == 0);
    must(lstat(target, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0777) == 0600);
    must(status.st_blocks * 512 < 64 * 1024); /* not room for the entries of all extents there can be */
    must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
    strcpy(memory, "stored");
    check_file_has(number, 0, "stored");
    (void)snprintf(other, sizeof other, "%s.other", path);
    pfa_extents_rename(other);
    must(access(path, F_OK) != 0 && access(other, F_OK) == 0);
    pfa_extents_unlink();
    must(lstat(other, &status) != 0 && rmdir(folder) == 0);
}

static void a_table_in_memory_has_a_link_to_it(void **state)
{
    (void)state;
    in_child(lie_in_memory);
}

/* The place that was named does not exist: beside the trace then. */
static void find_no_place(void)
{
    struct stat status;
    choose_path();
    strcpy(pfa_options.live, "/nowhere/at/all");
    must(pfa_extents_open(path) == 0 && pfa_extents_shared());
    must(lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0777) == 0600);
    pfa_extents_unlink();
    must(lstat(path, &status) != 0);
}

static void without_a_place_in_memory_it_is_beside_the_trace(void **state)
{
    (void)state;
    in_child(find_no_place);
}

/* The count of extents is never beyond what there is room for, whoever reads it meanwhile; records leave some to others. */
static void use_up_entries(void)
{
    void *memory;
    uint32_t number;
    must(pfa_extents_open(NULL) == 0);
    atomic_store(&pfa_extents_head->extent_count, PFA_LIVE_EXTENTS / 2 - 1);
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
    must(pfa_extents_add(PFA_EXTENT_RECORDS, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == ENOSPC);
    must(!pfa_extents_full() && !pfa_extents_said_no_room());
    must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
    atomic_store(&pfa_extents_head->extent_count, PFA_LIVE_EXTENTS - 1);
    must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == 0);
    must(pfa_extents_add(PFA_EXTENT_NODES, 0, PFA_LIVE_PAGE, NULL, &memory, &number) == ENOSPC);
    must(atomic_load(&pfa_extents_head->extent_count) == PFA_LIVE_EXTENTS);
}

static void a_full_table_of_extents_fails_small(void **state)
{
    (void)state;
    in_child(use_up_entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_what_was_stored),
        cmocka_unit_test(a_change_of_files_keeps_what_it_should),
        cmocka_unit_test(trouble_is_told_and_passes),
        cmocka_unit_test(a_lost_descriptor_is_found_again),
        cmocka_unit_test(threads_share_one_descriptor),
        cmocka_unit_test(holes_are_not_read),
        cmocka_unit_test(a_table_stays_locked),
        cmocka_unit_test(a_table_in_memory_has_a_link_to_it),
        cmocka_unit_test(without_a_place_in_memory_it_is_beside_the_trace),
        cmocka_unit_test(a_full_table_of_extents_fails_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
