/* A program for a seed of the reader's corpus (tests/fuzz/make_corpus.py): few chunks with all that real recordings tell of them and made
 * ones do not, which is where they lie, what they hold, and what they are for. */
#include "include/profalloc.h"

#include <pthread.h>
#include <stdlib.h>

enum { CHUNKS = 24, LARGE = 200000 };

static void *volatile kept[CHUNKS];

static void *work(void *type)
{
    profalloc_tag_push("work");
    for (size_t i = 0; i < CHUNKS; i++) {
        kept[i] = malloc(16 + 40 * i);
        (void)profalloc_set_type(kept[i], *(unsigned *)type);
        if (i % 3 != 0) {
            free(kept[i]);
        }
    }
    profalloc_tag_pop();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char *volatile large = malloc(LARGE);
    unsigned type = profalloc_type("struct node", 24);
    (void)pthread_create(&thread, NULL, work, &type);
    (void)pthread_join(thread, NULL);
    (void)profalloc_snapshot("half");
    large = realloc(large, 2 * LARGE);
    free(kept[0]);
    return 0;
}
