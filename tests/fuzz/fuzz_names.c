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

static char path[PATH_MAX];
static uint64_t told; /* characters of names, of all that was found for the input */

static void remove_file(void)
{
    (void)unlink(path);
}

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
    if (++*count > MOST_SYMBOLS) {
        fprintf(stderr, "fuzz_names: an address has no end of functions\n");
        abort();
    }
}

static void hear_type(void *to, const char *name, uint64_t size, bool record)
{
    uint64_t *count = to;
    (void)size;
    (void)record;
    hear(name);
    ++*count;
}

/* Asks for everything; the number of functions and types that were told. */
static uint64_t ask(void)
{
    const char *why = NULL;
    uint64_t types = 0;
    uint64_t functions = 0;
    pfa_dwarf_t *dwarf = pfa_dwarf_open(path, NULL, 0, &why);
    if (dwarf == NULL) {
        hear(why);
        return 0;
    }
    for (uint64_t address = FIRST; address < LAST; address += STEP) {
        uint64_t count = 0;
        pfa_dwarf_find(dwarf, address, hear_symbol, &count);
        functions += count;
    }
    uint64_t left = MOST_TYPES;
    (void)pfa_dwarf_types(dwarf, hear_type, &types, &left);
    pfa_dwarf_close(dwarf);
    return functions + types;
}

/* Everything of a whole file can be told: otherwise changed ones are refused for that reason, and nothing is tested. */
static void try_corpus(const char *folder)
{
    DIR *files = folder != NULL ? opendir(folder) : NULL;
    unsigned count = 0;
    if (files == NULL) {
        abort();
    }
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        char whole[sizeof path];
        if (file->d_name[0] == '.') {
            continue;
        }
        memcpy(whole, path, sizeof whole);
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        if (ask() < FEWEST || told == 0) {
            fprintf(stderr, "fuzz_names: %s: no names are found in it\n", path);
            abort();
        }
        memcpy(path, whole, sizeof whole);
        count++;
    }
    closedir(files);
    if (count == 0) {
        abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    snprintf(path, sizeof path, "%s/profalloc-fuzz-%d.elf", fuzz_folder(), (int)getpid());
    atexit(remove_file);
    alarm(HANGS);
    try_corpus(getenv("PFA_FUZZ_CORPUS"));
    alarm(0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    told = 0;
    write_file(path, data, size);
    (void)ask();
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
