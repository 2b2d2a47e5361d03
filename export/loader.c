/* Owns the reading of the loader's list. See export/loader.h. */
#define _GNU_SOURCE 1
#include "export/loader.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "base/tls.h"
#include "export/background.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* Not there in static programs. */
extern struct r_debug _r_debug __attribute__((weak));

/* Where the thread that reads the list is: in the call, and then with the loader's lock in its hands. */
typedef enum place { OUTSIDE, CALLING, INSIDE } place_t;

enum { STEP_NS = 20000, STEPS_FORKING = 500, STEPS_CALLING = 50, STEPS_INSIDE = 5000 };

static _Atomic uint32_t place; /* place_t */
static _Atomic(const pfa_tls_t *) reader;
static _Atomic uint32_t forks; /* under way */
static _Atomic bool was_alone; /* had the process one thread beside ours when it forked? */
static bool in_doubt;          /* may the loader's lock be nobody's? */

typedef struct walk {
    pfa_loader_fn *take;
    void *context;
} walk_t;

static int take_one(struct dl_phdr_info *info, size_t size, void *context)
{
    walk_t *walk = context;
    pfa_store_relaxed(&place, (uint32_t)INSIDE);
    return walk->take(info, size, walk->context);
}

static void wait_for_forks(void)
{
    for (int i = 0; i < STEPS_FORKING && pfa_load_relaxed(&forks) != 0; i++) {
        pfa_sys_pause(STEP_NS);
    }
}

/* Partner: pfa_loader_before_fork. Either we see that somebody forks, or it sees us. */
static bool ask_loader(walk_t *walk)
{
    wait_for_forks();
    pfa_store_relaxed(&reader, &pfa_tls);
    pfa_store_relaxed(&place, (uint32_t)CALLING);
    pfa_fence_seq_cst();
    bool may = pfa_load_relaxed(&forks) == 0;
    if (may) {
        (void)dl_iterate_phdr(take_one, walk);
    }
    pfa_store_release(&place, (uint32_t)OUTSIDE);
    return may;
}

static bool is_head(const ElfW(Ehdr) * head)
{
    return head != NULL && pfa_sys_can_read(head) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_phentsize == sizeof(ElfW(Phdr));
}

/* Where nearly all modules begin; of one that is not linked for the address 0, where the segment does that it is found by. */
static const ElfW(Ehdr) * find_head(const struct link_map *module)
{
    struct dl_find_object object;
    const ElfW(Ehdr) *head = (const void *)module->l_addr;
    if (is_head(head)) {
        return head;
    }
    head = _dl_find_object((void *)module->l_ld, &object) == 0 ? object.dlfo_map_start : NULL;
    return is_head(head) ? head : NULL;
}

/* The program headers of a module, from its first page. */
static bool find_headers(const struct link_map *module, bool is_program, struct dl_phdr_info *info)
{
    if (is_program) {
        info->dlpi_phdr = (const void *)getauxval(AT_PHDR);
        info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
        return info->dlpi_phdr != NULL;
    }
    const ElfW(Ehdr) *head = find_head(module);
    if (head == NULL) {
        return false;
    }
    info->dlpi_phdr = (const void *)((const char *)head + head->e_phoff);
    info->dlpi_phnum = head->e_phnum;
    return true;
}

/* Stands for the numbers of modules loaded and unloaded, which are the loader's secret. */
static unsigned long long sum_of_list(void)
{
    unsigned long long sum = 1;
    for (const struct link_map *module = _r_debug.r_map; module != NULL; module = module->l_next) {
        sum = (sum ^ (uintptr_t)module->l_ld) * 0x9e3779b97f4a7c15u;
    }
    return sum;
}

static bool has_links(void)
{
    unsigned long others = pfa_background_exists() ? 1 : 0;
    return &_r_debug != NULL && _r_debug.r_map != NULL && pfa_sys_threads() == 1 + others;
}

bool pfa_loader_is_readable(void)
{
    return !in_doubt || has_links();
}

static bool walk_links(const walk_t *walk)
{
    if (pfa_background_is_me() || !has_links()) {
        return false;
    }
    struct dl_phdr_info info = {.dlpi_adds = sum_of_list()};
    for (const struct link_map *module = _r_debug.r_map; module != NULL; module = module->l_next) {
        info.dlpi_addr = module->l_addr;
        info.dlpi_name = module->l_name;
        if (find_headers(module, module == _r_debug.r_map, &info) &&
            walk->take(&info, sizeof info, walk->context) != 0) {
            break;
        }
    }
    return true;
}

bool pfa_loader_walk(pfa_loader_fn *take, void *context)
{
    walk_t walk = {take, context};
    return in_doubt ? walk_links(&walk) : ask_loader(&walk);
}

void pfa_loader_before_fork(bool counts)
{
    pfa_add_relaxed(&forks, 1);
    pfa_fence_seq_cst();
    for (int i = 0; i < STEPS_INSIDE; i++) {
        uint32_t now = pfa_load_acquire(&place);
        /* It may be this very thread: in a signal handler, or in a callback of the loader's. */
        if (now == OUTSIDE || pfa_load_relaxed(&reader) == &pfa_tls || (now == CALLING && i >= STEPS_CALLING)) {
            break;
        }
        pfa_sys_pause(STEP_NS);
    }
    unsigned long others = pfa_background_exists() ? 1 : 0;
    pfa_store_relaxed(&was_alone,
                      counts && !in_doubt && pfa_load_acquire(&place) == OUTSIDE && pfa_sys_threads() == 1 + others);
}

void pfa_loader_after_fork_parent(void)
{
    pfa_store_relaxed(&was_alone, false);
    pfa_sub_relaxed(&forks, 1);
}

void pfa_loader_after_fork_child(void)
{
    in_doubt = !pfa_load_relaxed(&was_alone);
    pfa_store_relaxed(&was_alone, false);
    pfa_store_relaxed(&forks, 0);
    pfa_store_relaxed(&place, (uint32_t)OUTSIDE);
}
