/* Blocks on their way into the trace. */
#define _GNU_SOURCE 1
#include "export/block.h"
#include "tests/unit/unit.h"

#include <fcntl.h>

static const char *const path = "test_block.pa";

/* The last block of the file, of `size` bytes of payload. */
static pfa_trace_end_t read_end(size_t size)
{
    struct {
        pfa_block_header_t header;
        pfa_trace_end_t end;
    } last;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && lseek(fd, -(off_t)(sizeof(pfa_block_header_t) + size), SEEK_END) > 0);
    must(read(fd, &last, sizeof last) == (ssize_t)sizeof last);
    close(fd);
    must(last.header.magic == PFA_BLOCK_MAGIC && last.header.kind == PFA_BLOCK_END);
    must(last.header.stored_size == size && (last.header.flags & PFA_BLOCK_COMPRESSED) == 0);
    return last.end;
}

static void write_blocks(uint32_t count)
{
    uint64_t payload = 7;
    (void)unlink(path);
    must(pfa_block_open(path) == 0);
    for (uint32_t i = 0; i < count; i++) {
        must(pfa_block_write(PFA_BLOCK_MARK, &payload, sizeof payload) == 0);
    }
    must(pfa_block_end(PFA_END_EXIT) == 0);
}

/* A reader compares the number with what it finds: blocks beyond the room of the index count too. */
static void every_block_is_counted(void **state)
{
    (void)state;
    enum { MORE_THAN_THE_INDEX = (1 << 20) + 1000 };
    write_blocks(MORE_THAN_THE_INDEX);
    pfa_trace_end_t end = read_end(sizeof end);
    assert_int_equal(end.blocks, MORE_THAN_THE_INDEX);
    assert_int_equal(end.how, PFA_END_EXIT);
    write_blocks(2);
    end = read_end(sizeof end + 2 * sizeof(pfa_trace_index_t));
    assert_int_equal(end.blocks, 2);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_block_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
