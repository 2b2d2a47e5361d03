/* What fuzz targets share: files for inputs, commands as from a command line, and debug information that is not there, since it
 * would be of this machine's files. For one target each, which includes it once. */
#ifndef PFA_TESTS_FUZZ_H
#define PFA_TESTS_FUZZ_H

#include "analyze/names/dwarf.h"
#include "export/format/trace.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

pfa_dwarf_t *pfa_dwarf_open(const char *path, const uint8_t *build_id, size_t build_id_size, const char **why)
{
    (void)path;
    (void)build_id;
    (void)build_id_size;
    *why = "not here";
    return NULL;
}

void pfa_dwarf_close(pfa_dwarf_t *dwarf)
{
    (void)dwarf;
}

void pfa_dwarf_find(pfa_dwarf_t *dwarf, uint64_t address, void (*visit)(void *to, const pfa_symbol_t *symbol), void *to)
{
    (void)dwarf;
    (void)address;
    (void)visit;
    (void)to;
}

bool pfa_dwarf_types(pfa_dwarf_t *dwarf, pfa_dwarf_type_visit_t *visit, void *to, uint64_t *left)
{
    (void)dwarf;
    (void)visit;
    (void)to;
    (void)left;
    return true;
}

/* Where files are quickest. */
static const char *fuzz_folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
        abort();
    }
    close(fd);
}

static void mend_checksums(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(pfa_block_header_t);) {
        pfa_block_header_t header;
        memcpy(&header, bytes + at, sizeof header);
        if (header.magic != PFA_BLOCK_MAGIC || header.stored_size > size - at - sizeof header) {
            at++;
            continue;
        }
        header.checksum = pfa_block_checksum(&header, bytes + at + sizeof header);
        memcpy(bytes + at, &header, sizeof header);
        at += sizeof header + header.stored_size;
    }
}

/* As from the command line. */
static int run(int command(int argc, char **argv), const char *name, const char *option, const char *first,
               const char *second)
{
    char *arguments[8];
    int count = 0;
    const char *given[] = {name, option, first, second};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i] != NULL) {
            arguments[count++] = (char *)(uintptr_t)given[i];
        }
    }
    arguments[count] = NULL;
    optind = 0; /* getopt begins anew */
    return command(count, arguments);
}

#endif
