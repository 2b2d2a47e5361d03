/* Resident memory with many small chunks live.
 *
 *   live_chunks COUNT
 *
 * Each has 48 bytes and is written to. Prints rss_before, when there is one chunk, and rss_after, with all, in KiB. The
 * pointers are kept in memory of its own, all of it touched before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SIZE = 48 };

static void give_up(const char *what)
{
    fprintf(stderr, "live_chunks: %s\n", what);
    exit(1);
}

static long resident_kib(void)
{
    char line[256];
    long found = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmRSS: %ld", &found) == 1) {
            break;
        }
    }
    if (found < 0) {
        give_up("no VmRSS");
    }
    fclose(status);
    return found;
}

static char *make_chunk(size_t number)
{
    char *chunk = malloc(SIZE);
    if (chunk == NULL) {
        give_up("no memory");
    }
    memset(chunk, (int)(number & 0xff), SIZE);
    return chunk;
}

int main(int argc, char **argv)
{
    size_t count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (count == 0) {
        give_up("usage: live_chunks COUNT");
    }
    size_t span = (count + 1) * sizeof(char *);
    char **chunks = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunks == MAP_FAILED) {
        give_up("no memory");
    }
    memset(chunks, 0xff, span);
    chunks[count] = make_chunk(0);
    (void)resident_kib(); /* what reading it needs is there from now on */
    long before = resident_kib();
    for (size_t i = 0; i < count; i++) {
        chunks[i] = make_chunk(i);
    }
    long after = resident_kib();
    unsigned long sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (unsigned char)chunks[i][i % SIZE];
    }
    printf("chunks=%zu rss_before=%ld rss_after=%ld checksum=%lu\n", count, before, after, sum);
    return 0;
}
