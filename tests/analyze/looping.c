/* Programs for tests/analyze/looping.py, by the first word: what each of them makes besides is long-lived or rare.
 *   sizes  a loop allocates another random size each time
 *   one    it allocates the same size
 *   few    a few functions allocate and free at once, one of them most of the time
 *   grow   it makes a list longer again and again
 *   clean  it works in a local array */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS = 300, JOBS = 200, TURNS = 5000, MOST = 1024 };

static uint64_t state = 1;

static uint64_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

__attribute__((noinline)) static uint64_t fill(unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)next_random();
        sum += bytes[i];
    }
    return sum;
}

__attribute__((noinline)) static void *make_setting(size_t number)
{
    return calloc(1, 24 + 8 * (number % 40));
}

__attribute__((noinline)) static uint64_t grow_list(void)
{
    unsigned char *list = NULL;
    uint64_t sum = 0;
    for (size_t size = 16; size <= 128; size += 16) {
        unsigned char *longer = realloc(list, size);
        if (longer == NULL) {
            break;
        }
        list = longer;
        sum += fill(list, 1);
    }
    free(list);
    return sum;
}

__attribute__((noinline)) static uint64_t render(const char *way)
{
    unsigned char array[MOST];
    size_t size = 16 + next_random() % (MOST - 16 + 1);
    if (strcmp(way, "clean") == 0) {
        return fill(array, size / 16);
    }
    if (strcmp(way, "grow") == 0) {
        return grow_list();
    }
    unsigned char *bytes = malloc(strcmp(way, "one") == 0 ? 48 : size);
    uint64_t sum = bytes != NULL ? fill(bytes, 16) : 0;
    free(bytes);
    return sum;
}

__attribute__((noinline)) static uint64_t run_job(const char *way)
{
    uint64_t sum = 0;
    unsigned char *job = malloc(4096);
    for (unsigned i = 0; i < TURNS; i++) {
        sum += render(way);
    }
    sum += job != NULL ? fill(job, 4096) : 0;
    free(job);
    return sum;
}

/* Each is a function of its own, and all that lies between its calls is the same. */
#define FEW(name, size)                                                                                                \
    __attribute__((noinline)) static void name(void)                                                                   \
    {                                                                                                                  \
        void *chunk = malloc(size);                                                                                    \
        __asm__ volatile("" ::"r"(chunk) : "memory");                                                                  \
        free(chunk);                                                                                                   \
    }
FEW(few_16, 16)
FEW(few_32, 32)
FEW(few_48, 48)
FEW(few_64, 64)
FEW(few_128, 128)

static int run_few(void)
{
    static void (*const rare[])(void) = {few_16, few_32, few_48, few_64};
    for (unsigned i = 0; i < JOBS * TURNS; i++) {
        few_128();
        for (unsigned j = 0; j < 4 && i % (20 << j) == 0; j++) {
            rare[j]();
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    void *settings[SETTINGS];
    uint64_t sum = 0;
    if (argc > 1 && strcmp(argv[1], "few") == 0) {
        return run_few();
    }
    for (size_t i = 0; i < SETTINGS; i++) {
        settings[i] = make_setting(i);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        sum += run_job(argc > 1 ? argv[1] : "clean");
    }
    for (size_t i = 0; i < SETTINGS; i++) {
        free(settings[i]);
    }
    return sum == 1;
}
