/* The live table's memory: in a file or not, what is stored is there, in the file too, and after a change of files. */
#include "base/sys.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char path[64];

static void choose_path(void)
{
    (void)snprintf(path, sizeof path, "extents.%d.live", (int)getpid());
    (void)unlink(path);
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
    failing = PFA_SYS_FALLOCATE;
    fail_with = ENOSPC;
    pfa_sys_fault = fail_call;
    must(pfa_extents_make_room(0, 0, 4096) == ENOSPC);
    fail_with = EOPNOTSUPP; /* a file system that cannot promise room */
    must(pfa_extents_make_room(0, 0, 4096) == 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_what_was_stored),
        cmocka_unit_test(a_change_of_files_keeps_what_it_should),
        cmocka_unit_test(trouble_is_told_and_passes),
        cmocka_unit_test(a_lost_descriptor_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
