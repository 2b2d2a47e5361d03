/* Owns the places in the maker itself that stand for the program's: functions whose names the tool must find, the stacks
 * made of them, and the module they are in. See tests/analyze/make_trace.h. */
#include "tests/analyze/make_trace.h"

#include <link.h>

static uint64_t inlined_pc;
static uint64_t plain_pc;

/* Sites whose names the report must find. */
__attribute__((noinline)) static void take_pc(uint64_t *pc)
{
    *pc = (uint64_t)__builtin_return_address(0);
    __asm__ volatile("" ::: "memory");
}

__attribute__((always_inline)) static inline void inlined_site(void)
{
    take_pc(&inlined_pc);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void outer_site(void)
{
    inlined_site();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void plain_site(void)
{
    take_pc(&plain_pc);
    __asm__ volatile("" ::: "memory");
}

void make_nodes(heap_t *heap)
{
    outer_site();
    plain_site();
    for (uint32_t i = PFA_NODE_FIRST; i < NODE_COUNT; i++) {
        heap->parents[i] = i < PFA_NODE_FIRST + 2 ? PFA_NODE_COMPLETE : i - 2;
        heap->pcs[i] = i % 2 == 0 ? plain_pc : inlined_pc;
    }
    heap->pcs[NODE_COUNT - 1] = 0x1234; /* in no module */
}

typedef struct module {
    uint64_t bias, start, end;
    uint8_t id[64];
    uint16_t id_size;
} module_t;

static void find_build_id(module_t *module, const uint8_t *note, const uint8_t *end)
{
    while (end - note >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *head = (const void *)note;
        const uint8_t *value = note + sizeof *head + (head->n_namesz + 3) / 4 * 4;
        if (head->n_type == NT_GNU_BUILD_ID && head->n_descsz <= sizeof module->id) {
            memcpy(module->id, value, head->n_descsz);
            module->id_size = (uint16_t)head->n_descsz;
        }
        note = value + (head->n_descsz + 3) / 4 * 4;
    }
}

/* The first one is the program itself. */
static int find_module(struct dl_phdr_info *info, size_t size, void *to)
{
    module_t *module = to;
    (void)size;
    *module = (module_t){.bias = info->dlpi_addr, .start = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + head->p_vaddr;
        if (head->p_type == PT_LOAD) {
            module->start = start < module->start ? start : module->start;
            module->end = start + head->p_memsz > module->end ? start + head->p_memsz : module->end;
        } else if (head->p_type == PT_NOTE) {
            find_build_id(module, (const uint8_t *)start, (const uint8_t *)start + head->p_filesz);
        }
    }
    return 1;
}

static size_t put_module(char *to, const module_t *from, uint32_t flags, const char *path)
{
    pfa_trace_module_t module = {.bias = from->bias,
                                 .start = from->start,
                                 .end = from->end,
                                 .build_id_size = from->id_size,
                                 .path_size = (uint16_t)strlen(path),
                                 .flags = flags};
    memcpy(to, &module, sizeof module);
    memcpy(to + sizeof module, from->id, from->id_size);
    memcpy(to + sizeof module + from->id_size, path, module.path_size);
    return sizeof module + from->id_size + module.path_size;
}

/* What lies around plain_site's call is said to be of a library that is not instrumented, the rest to be. */
static size_t put_told(char *to, const module_t *found, const char *path)
{
    module_t before = *found;
    module_t other = {.bias = found->bias, .start = plain_pc - 1, .end = plain_pc + 1};
    module_t behind = *found;
    before.end = other.start;
    behind.start = other.end;
    size_t size = put_module(to, &before, PFA_MODULE_TOLD | PFA_MODULE_INSTRUMENTED, path);
    size += put_module(to + size, &other, PFA_MODULE_TOLD, "/nowhere/libother.so");
    return size + put_module(to + size, &behind, PFA_MODULE_TOLD | PFA_MODULE_INSTRUMENTED, path);
}

void write_modules(made_t *made, uint64_t time)
{
    module_t found;
    char path[4096] = "";
    struct {
        pfa_trace_modules_t modules;
        char rest[16384];
    } payload = {.modules = {.first_node = PFA_NODE_FIRST, .count = made->told ? 3 : 1}};
    must(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    must(dl_iterate_phdr(find_module, &found) == 1);
    size_t size = made->told ? put_told(payload.rest, &found, path) : put_module(payload.rest, &found, 0, path);
    pfa_tracefile_block(&made->writer, PFA_BLOCK_MODULES, time, &payload, sizeof payload.modules + size);
}
