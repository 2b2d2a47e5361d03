/* A program with several kinds of data on the heap, each allocated by a function of its own, for comparison with DHAT: what is
 * touched in words of 8 bytes is touched as often as DHAT's bytes say; strings go through libc. See tests/access/dhat.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline))

typedef struct node {
    uint64_t key;
    uint64_t value;
    struct node *left;
    struct node *right;
} node_t;

typedef struct link {
    struct link *next;
    uint64_t payload;
} link_t;

enum { NODES = 1000, LINKS = 1000, SIDE = 60, SLOTS = 1 << 12, WORDS = 800 };

SITE static node_t *make_node(void)
{
    return malloc(sizeof(node_t));
}

SITE static link_t *make_link(void)
{
    return malloc(sizeof(link_t));
}

SITE static uint64_t *make_matrix(void)
{
    return malloc(SIDE * SIDE * sizeof(uint64_t));
}

SITE static uint64_t *make_table(void)
{
    return calloc(SLOTS, sizeof(uint64_t));
}

SITE static uint64_t *make_written_only(void)
{
    return malloc(1000 * sizeof(uint64_t));
}

SITE static uint64_t *make_untouched(void)
{
    return malloc(5000);
}

SITE static char *make_text(size_t size)
{
    return malloc(size);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void insert(node_t **root, uint64_t key)
{
    node_t **at = root;
    while (*at != NULL) {
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    }
    node_t *node = make_node();
    node->key = key;
    node->value = key / 3;
    node->left = NULL;
    node->right = NULL;
    *at = node;
}

static uint64_t sum_tree(const node_t *node)
{
    return node == NULL ? 0 : sum_tree(node->left) + node->value + sum_tree(node->right);
}

static void drop_tree(node_t *node)
{
    if (node != NULL) {
        drop_tree(node->left);
        drop_tree(node->right);
        free(node);
    }
}

static uint64_t lists(void)
{
    link_t *first = NULL;
    for (uint64_t i = 0; i < LINKS; i++) {
        link_t *link = make_link();
        link->next = first;
        link->payload = i;
        first = link;
    }
    uint64_t sum = 0;
    for (int round = 0; round < 4; round++) {
        for (link_t *link = first; link != NULL; link = link->next) {
            sum += link->payload;
        }
    }
    while (first != NULL) {
        link_t *next = first->next;
        free(first);
        first = next;
    }
    return sum;
}

static uint64_t matrices(void)
{
    uint64_t *a = make_matrix();
    uint64_t *b = make_matrix();
    uint64_t *c = make_matrix();
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (uint64_t)i;
        b[i] = (uint64_t)i * 7;
    }
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            c[i * SIDE + j] = 0;
            for (int k = 0; k < SIDE; k++) {
                c[i * SIDE + j] += a[i * SIDE + k] * b[k * SIDE + j];
            }
        }
    }
    uint64_t sum = c[17];
    free(a);
    free(b);
    free(c);
    return sum;
}

static uint64_t tables(uint64_t *state)
{
    uint64_t *table = make_table();
    for (int i = 0; i < 20000; i++) {
        table[next_random(state) % SLOTS]++;
    }
    uint64_t sum = table[5];
    free(table);
    return sum;
}

/* The work is libc's here. */
static uint64_t texts(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++) {
        char *text = make_text(64);
        char *copy = make_text(64);
        snprintf(text, 64, "word number %d", i);
        strcpy(copy, text);
        sum += strlen(copy);
        free(text);
        free(copy);
    }
    return sum;
}

int main(void)
{
    uint64_t state = 42;
    node_t *root = NULL;
    for (int i = 0; i < NODES; i++) {
        insert(&root, next_random(&state));
    }
    uint64_t sum = sum_tree(root) + lists() + matrices() + tables(&state) + texts();
    drop_tree(root);
    uint64_t *written = make_written_only();
    for (int i = 0; i < 1000; i++) {
        written[i] = sum;
    }
    free(make_untouched());
    free(written);
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
