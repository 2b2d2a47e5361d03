/* mallinfo and its kin: figures that are possible, well-formed XML, values of mallopt that programs insist on.
 *
 * run: says="held [0-9]+ bytes; this thread uses [0-9]+ bytes in [0-9]+ chunks" */
#include "trap.h"

#include <fcntl.h>

static void check_malloc_info(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    CHECK(malloc_info(0, stream) == 0);
    errno = 0;
    CHECK(malloc_info(1, stream) == -1 && errno == EINVAL);
    fclose(stream);
    CHECK(strncmp(text, "<malloc version=\"1\">", 20) == 0 && strstr(text, "</malloc>\n") + 10 == text + size, "%s",
          text);
    free(text);
}

/* To what is standard error by now, which a program may have made a pipe. */
static void check_malloc_stats(void)
{
    int ends[2];
    char text[256];
    int kept = dup(2);
    CHECK(kept >= 0 && pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && dup2(ends[1], 2) == 2);
    malloc_stats();
    CHECK(dup2(kept, 2) == 2);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    CHECK(got > 0, "malloc_stats wrote nothing");
    text[got] = '\0';
    CHECK(strstr(text, " this thread uses ") != NULL, "%s", text);
    close(kept);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    enum { COUNT = 1000, SIZE = 3000 };
    static void *chunks[COUNT];
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < COUNT; i++) {
        chunks[i] = malloc(SIZE);
        fill(chunks[i], SIZE, (unsigned)i);
    }
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks >= before.uordblks + (size_t)COUNT * SIZE, "%zu, before %zu", after.uordblks, before.uordblks);
    CHECK(after.uordblks <= before.uordblks + (size_t)COUNT * SIZE * 2);
    CHECK(after.arena >= after.uordblks && after.arena >= after.fordblks);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    CHECK((size_t)mallinfo().uordblks == mallinfo2().uordblks);
    for (int i = 0; i < COUNT; i++) {
        CHECK(verify(chunks[i], SIZE, (unsigned)i));
        free(chunks[i]);
    }
    CHECK(mallinfo2().uordblks < before.uordblks + 10 * SIZE);
    int trimmed = malloc_trim(0);
    CHECK(trimmed == 0 || trimmed == 1);
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1 &&
          mallopt(M_ARENA_MAX, 1) == 1);
    CHECK(mallopt(12345, 1) == 0);
    check_malloc_info();
    check_malloc_stats();
    malloc_stats();
    return 0;
}
