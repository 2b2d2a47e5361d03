/* Every way in C to get and give back a chunk, and some that the C library has of its own. What it does is the same in each
 * run, so that what two tools count of it can be compared. */
#define _GNU_SOURCE 1
#include <locale.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[16];

static void get_and_give(void)
{
    for (size_t size = 0; size < 3000000; size = size * 5 / 4 + 1) {
        void *chunk = malloc(size);
        kept[size % 16] = calloc(size / 8 + 1, 8);
        free(chunk);
        free(kept[size % 16]);
    }
    free(NULL);
}

static void grow_and_shrink(void)
{
    char *chunk = NULL;
    for (size_t size = 1; size < 2000000; size = size * 3 / 2 + 1) {
        chunk = realloc(chunk, size);
        chunk[0] = 1;
    }
    for (size_t size = 2000000; size > 1; size /= 3) {
        chunk = realloc(chunk, size);
        chunk[0] = 1;
    }
    kept[0] = reallocarray(chunk, 100, 20);
}

static void align(void)
{
    void *chunk;
    for (size_t alignment = 16; alignment <= 65536; alignment *= 4) {
        if (posix_memalign(&chunk, alignment, 1000) == 0) {
            free(chunk);
        }
        free(aligned_alloc(alignment, alignment * 2));
        free(memalign(alignment, 300000));
    }
    kept[1] = memalign(4096, 100);
}

static void use_the_library(void)
{
    char *text = strdup("a text");
    char *more = NULL;
    char *line = NULL;
    size_t room = 0;
    if (asprintf(&more, "%s and %d more", text, 1000) < 0) {
        exit(1);
    }
    setlocale(LC_ALL, "C.UTF-8");
    FILE *file = tmpfile();
    for (int i = 0; i < 1000; i++) {
        fprintf(file, "%s %d %.20f\n", more, i, i / 3.0);
    }
    rewind(file);
    while (getline(&line, &room, file) > 0) {
    }
    fclose(file);
    free(line);
    free(text);
    kept[2] = more;
    setenv("CHUNKS", "a value", 1);
}

int main(void)
{
    get_and_give();
    grow_and_shrink();
    align();
    use_the_library();
    for (int i = 0; i < 1000; i++) {
        kept[3] = malloc(100); /* lost, but for the last */
    }
    puts("done");
    return 0;
}
