/* Chunks of all kinds, with their addresses and types noted by the program itself:
 *     places NOTES THREADS STEPS exit|kill|fork
 * Each thread notes every life that ended and every chunk that it leaves, in the file NOTES: a kind, the address, the size, the
 * number of elements of its type and 1 (0: none was said). Pictures are taken meanwhile. With fork, a child goes on in the same way, with
 * chunks of its own, and notes them in NOTES.child. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 16, WINDOW = 200, PICTURES = 5, ELEMENT = 24 };

typedef struct chunk {
    char *at;
    size_t size;
    size_t elements;
} chunk_t;

typedef struct worker {
    pthread_t thread;
    uint64_t state;
    size_t steps;
    size_t noted;
    chunk_t window[WINDOW];
    chunk_t *dead; /* not malloc's memory: these are no chunks of the program */
} worker_t;

static worker_t workers[THREADS_MAX];
static unsigned (*number_type)(const char *, size_t);
static int (*set_type)(void *, unsigned);
static int (*snapshot)(const char *);
static unsigned type;

static uint64_t draw(worker_t *worker, uint64_t most)
{
    worker->state = worker->state * 6364136223846793005u + 1442695040888963407u;
    return (worker->state >> 33) % most;
}

static size_t draw_size(worker_t *worker)
{
    uint64_t kind = draw(worker, 64);
    return kind == 0 ? 130000 + draw(worker, 300000) : kind < 6 ? 1 + draw(worker, 60000) : 1 + draw(worker, 600);
}

static void note_death(worker_t *worker, const chunk_t *chunk)
{
    worker->dead[worker->noted++] = *chunk;
}

static void make(worker_t *worker, chunk_t *chunk)
{
    size_t size = draw_size(worker);
    size_t align = (size_t)64 << draw(worker, 5);
    chunk->at = draw(worker, 8) == 0 ? memalign(align, size) : malloc(size);
    chunk->size = size;
    chunk->elements = 0;
    if (chunk->at == NULL) {
        abort();
    }
    memset(chunk->at, 1, size < 64 ? size : 64);
    if (draw(worker, 3) == 0 && set_type(chunk->at, type) == 0) {
        chunk->elements = size / ELEMENT + 1;
    }
}

static void step(worker_t *worker)
{
    chunk_t *chunk = &worker->window[draw(worker, WINDOW)];
    if (chunk->at == NULL) {
        make(worker, chunk);
        return;
    }
    chunk_t old = *chunk;
    note_death(worker, &old);
    if (draw(worker, 4) != 0) {
        free(chunk->at);
        chunk->at = NULL;
        return;
    }
    size_t size = draw_size(worker);
    char *grown = realloc(chunk->at, size);
    if (grown == NULL) {
        abort();
    }
    chunk->at = grown;
    chunk->size = size;
    chunk->elements = old.elements != 0 ? size / ELEMENT + 1 : 0;
}

static void *work(void *arg)
{
    worker_t *worker = arg;
    for (size_t i = 0; i < worker->steps; i++) {
        step(worker);
    }
    return NULL;
}

static void note(const char *path, unsigned threads, size_t dead_from[THREADS_MAX], const chunk_t *inherited,
                 size_t count)
{
    FILE *notes = fopen(path, "w");
    if (notes == NULL) {
        abort();
    }
    for (unsigned i = 0; i < threads; i++) {
        for (size_t j = dead_from[i]; j < workers[i].noted; j++) {
            const chunk_t *chunk = &workers[i].dead[j];
            fprintf(notes, "dead %zu %zu %zu\n", (size_t)chunk->at, chunk->size, chunk->elements);
        }
        for (size_t j = 0; j < WINDOW; j++) {
            const chunk_t *chunk = &workers[i].window[j];
            if (chunk->at != NULL) {
                fprintf(notes, "live %zu %zu %zu\n", (size_t)chunk->at, chunk->size, chunk->elements);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(notes, "before %zu %zu %zu\n", (size_t)inherited[i].at, inherited[i].size, inherited[i].elements);
    }
    fclose(notes);
}

/* The chunks from before are another process's to tell; the child's own are those that it makes. */
static void go_on(const char *path)
{
    static chunk_t inherited[THREADS_MAX * WINDOW];
    size_t none[THREADS_MAX] = {0};
    size_t count = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        for (size_t j = 0; j < WINDOW; j++) {
            if (workers[i].window[j].at != NULL) {
                inherited[count++] = workers[i].window[j];
                workers[i].window[j].at = NULL;
            }
        }
        workers[i].noted = 0;
    }
    work(&workers[0]);
    note(path, 1, none, inherited, count);
}

static void *needed(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) {
        fprintf(stderr, "places: without the library: %s\n", name);
        exit(2);
    }
    return found;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 4 ? (unsigned)atoi(argv[2]) : 0;
    size_t steps = argc > 4 ? (size_t)atoi(argv[3]) : 0;
    size_t none[THREADS_MAX] = {0};
    char child[4096];
    if (threads == 0 || threads > THREADS_MAX) {
        return 2;
    }
    number_type = (unsigned (*)(const char *, size_t))needed("profalloc_type");
    set_type = (int (*)(void *, unsigned))needed("profalloc_set_type");
    snapshot = (int (*)(const char *))needed("profalloc_snapshot");
    free(malloc(1)); /* recording begins */
    type = number_type("struct places::element", ELEMENT);
    if (type == 0 || number_type("struct places::element", ELEMENT) != type || number_type("other", ELEMENT) == type ||
        set_type(argv, type) == 0 || set_type(NULL, 99999) == 0) {
        return 3;
    }
    for (unsigned i = 0; i < threads; i++) {
        workers[i].state = i + 1;
        workers[i].steps = steps;
        workers[i].dead =
            mmap(NULL, steps * sizeof(chunk_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (workers[i].dead == MAP_FAILED || pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            return 4;
        }
    }
    for (int i = 0; i < PICTURES; i++) {
        if (snapshot("meanwhile") != 0) {
            return 5;
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    note(argv[1], threads, none, NULL, 0);
    if (strcmp(argv[4], "fork") == 0) {
        snprintf(child, sizeof child, "%s.child", argv[1]);
        pid_t pid = fork();
        if (pid == 0) {
            go_on(child);
            return 0;
        }
        int status;
        return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 6;
    }
    if (strcmp(argv[4], "kill") == 0) {
        kill(getpid(), SIGKILL);
    }
    return 0;
}
