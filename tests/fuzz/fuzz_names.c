/* libFuzzer on what reads programs for the names of their functions and types: symbols, lines, inlined functions, types. An
 * input is an ELF file; the corpus is made of tests/fuzz/named.* by the compilers of the machine (tests/fuzz/run.sh).
 *
 * Most changes are made inside one section that has symbols or debug information and leave its size as it is: a file whose
 * headers are wrong is refused at once. */
#include "analyze/names/dwarf.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum {
    FIRST = 0,
    LAST = 0x1400, /* run.sh links the corpus so that its code is here */
    STEP = 12,
    FEWEST = 5,         /* functions and types of a whole file */
    MOST_TYPES = 20000, /* entries that are looked at for types */
    MOST_SYMBOLS = 1 << 20,
    HANGS = 120 /* seconds for all whole files: libFuzzer has not begun to watch the time */
};

static const char *path;
static uint64_t told; /* characters of names, of all that was found for the input */

/* A name is text of its own: reading it to its end tells AddressSanitizer where it is. */
static void hear(const char *text)
{
    if (text != NULL) {
        told += strlen(text);
    }
}

static void hear_symbol(void *to, const pfa_symbol_t *symbol)
{
    uint64_t *count = to;
    hear(symbol->function);
    hear(symbol->file);
    pfa_fuzz_expect(++*count <= MOST_SYMBOLS, "an address has no end of functions");
}

static void hear_type(void *to, const char *name, uint64_t size, bool record)
{
    uint64_t *count = to;
    (void)size;
    (void)record;
    hear(name);
    ++*count;
}

typedef struct asked {
    const char *path;
    uint64_t found; /* functions and types that were told */
} asked_t;

/* Asks for everything. Work with an arena. */
static void ask(void *to)
{
    asked_t *asked = to;
    const char *why = NULL;
    uint64_t types = 0;
    pfa_dwarf_t *dwarf = pfa_dwarf_open(asked->path, NULL, 0, NULL, &why);
    if (dwarf == NULL) {
        hear(why);
        return;
    }
    for (uint64_t address = FIRST; address < LAST; address += STEP) {
        uint64_t count = 0;
        pfa_dwarf_find(dwarf, address, hear_symbol, &count);
        asked->found += count;
    }
    uint64_t left = MOST_TYPES;
    (void)pfa_dwarf_types(dwarf, hear_type, &types, &left);
    pfa_dwarf_close(dwarf);
    asked->found += types;
}

/* Everything of a whole file can be told: otherwise changed ones are refused for that reason, and nothing is tested. */
static void try_corpus(const char *folder)
{
    DIR *files = folder != NULL ? opendir(folder) : NULL;
    unsigned count = 0;
    pfa_fuzz_expect(files != NULL, "PFA_FUZZ_CORPUS names no folder");
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        char whole[PATH_MAX];
        asked_t asked = {.path = whole};
        if (file->d_name[0] == '.') {
            continue;
        }
        snprintf(whole, sizeof whole, "%s/%s", folder, file->d_name);
        told = 0;
        pfa_fuzz_work(ask, &asked);
        pfa_fuzz_expect(asked.found >= FEWEST && told != 0, "%s: no names are found in it", whole);
        count++;
    }
    closedir(files);
    pfa_fuzz_expect(count != 0, "the corpus is empty");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask them */
    path = pfa_fuzz_path(".elf");
    alarm(HANGS);
    try_corpus(getenv("PFA_FUZZ_CORPUS"));
    alarm(0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    asked_t asked = {.path = path};
    told = 0;
    pfa_fuzz_write(path, data, size);
    pfa_fuzz_work(ask, &asked);
    return 0;
}

/* The n-th section of a kind that is read for names, inside of the file. NULL: there is none. */
static uint8_t *find_section(uint8_t *data, size_t size, unsigned number, size_t *length)
{
    Elf64_Ehdr head;
    unsigned found = 0;
    if (size < sizeof head) {
        return NULL;
    }
    memcpy(&head, data, sizeof head);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < head.e_shnum; i++) {
            Elf64_Shdr section;
            if (head.e_shoff > size || size - head.e_shoff < (i + 1) * sizeof section) {
                break;
            }
            memcpy(&section, data + head.e_shoff + i * sizeof section, sizeof section);
            bool read = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_STRTAB ||
                        (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC) == 0);
            if (!read || section.sh_size == 0 || section.sh_offset > size ||
                size - section.sh_offset < section.sh_size) {
                continue;
            }
            if (round == 1 && found-- == 0) {
                *length = section.sh_size;
                return data + section.sh_offset;
            }
            found += round == 0;
        }
        if (found == 0) {
            return NULL;
        }
        found = number % found;
    }
    return NULL;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t length;
    uint8_t *section = seed % 16 != 0 ? find_section(data, size, seed / 16, &length) : NULL;
    if (section == NULL) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    /* A window of it, so that most of the section stays what it was. */
    size_t at = seed / 1024 % length;
    size_t window = length - at < 16 ? length - at : 16;
    (void)LLVMFuzzerMutate(section + at, window, window);
    return size;
}
