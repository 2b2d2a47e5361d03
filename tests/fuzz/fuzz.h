/* What the fuzz targets share: files for inputs, arenas, and how sessions are opened. */
#ifndef PFA_TESTS_FUZZ_FUZZ_H
#define PFA_TESTS_FUZZ_FUZZ_H

#include "analyze/query/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file of this process that ends so, where files are quickest. It stays, and the file is removed at the end. There are a few
 * of them. */
const char *pfa_fuzz_path(const char *suffix);
void pfa_fuzz_write(const char *path, const void *bytes, size_t size);
/* All of a file, with a 0 behind; the caller calls free. */
uint8_t *pfa_fuzz_read(const char *path, size_t *size);
/* Makes the checksums of all blocks right, so that what they hold is read. */
void pfa_fuzz_mend(uint8_t *bytes, size_t size);

/* Ends the process with this text unless it holds. */
__attribute__((format(printf, 2, 3))) void pfa_fuzz_expect(bool holds, const char *format, ...);
/* Likewise unless work ended well, or with an error number that the headers of the library name and an input may be to blame for. */
void pfa_fuzz_expect_end(int error, const char *what);
/* Runs `work` with an arena of its own, which is deleted then. There is memory, and nobody gives it up: work that is left is a fault. */
void pfa_fuzz_work(void (*work)(void *to), void *to);
/* Reads a text to its end, so that AddressSanitizer sees where that is. NULL is none. */
void pfa_fuzz_hear(const char *text);
/* How sessions are opened: what they say is heard, and work is given up after *patience tellings of how far it is. */
pfa_session_options_t pfa_fuzz_options(size_t *patience);
/* Where texts go that nobody reads. */
FILE *pfa_fuzz_nowhere(void);

#endif
