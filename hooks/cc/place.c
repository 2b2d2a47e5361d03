/* Owns where our libraries and lists are: PROFALLOC_LIBDIR, or found from the place of this program, which may be a build
 * folder (all side by side, some in lib/profalloc below) or an installed bin folder. */
#include "hooks/cc/cc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *folder, const char *name)
{
    char *path = pfa_text("%s/%s", folder, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static bool has_libraries(const char *folder)
{
    return exists(folder, "libprofalloc.so") || exists(folder, "libprofalloc.a");
}

/* Without "..", since it goes into the rpath of programs. */
static char *absolute(const char *folder)
{
    char *path = realpath(folder, NULL);
    return path == NULL ? pfa_text("%s", folder) : path;
}

static char *find_libraries(void)
{
    static const char *const around[] = {".", PFA_CC_BIN_TO_LIB, "../lib", "../lib64"};
    const char *given = getenv("PROFALLOC_LIBDIR");
    if (given != NULL && given[0] != 0) {
        if (!has_libraries(given)) {
            pfa_cc_fail("PROFALLOC_LIBDIR=%s: there is no libprofalloc.so in that folder", given);
        }
        return absolute(given);
    }
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) {
        pfa_cc_fail("its own place cannot be told from /proc/self/exe (%m); set PROFALLOC_LIBDIR to the folder of "
                    "libprofalloc.so");
    }
    self[length] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        char *folder = pfa_text("%s/%s", self, around[i]);
        if (has_libraries(folder)) {
            return absolute(folder);
        }
        free(folder);
    }
    pfa_cc_fail(
        "libprofalloc.so is neither beside %s nor in the lib folder next to it; install profalloc as a whole, or "
        "set PROFALLOC_LIBDIR to the folder of libprofalloc.so",
        self);
}

void pfa_place_find(pfa_place_t *place)
{
    place->libraries = find_libraries();
}

char *pfa_place_path(const pfa_place_t *place, const char *name)
{
    static const char *const folders[] = {"profalloc", "lib/profalloc", "."};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char *path = strcmp(folders[i], ".") == 0 ? pfa_text("%s/%s", place->libraries, name)
                                                  : pfa_text("%s/%s/%s", place->libraries, folders[i], name);
        if (access(path, R_OK) == 0) {
            return path;
        }
        free(path);
    }
    return NULL;
}

char *pfa_place_need(const pfa_place_t *place, const char *name)
{
    char *path = pfa_place_path(place, name);
    if (path == NULL) {
        pfa_cc_fail("there is no %s in %s or its folder profalloc: build and install profalloc as a whole, or set "
                    "PROFALLOC_LIBDIR to where it is",
                    name, place->libraries);
    }
    return path;
}

void pfa_place_list(const pfa_place_t *place, const char *name, pfa_words_t *words)
{
    char *path = pfa_place_need(place, name);
    char *text = pfa_file_read(path);
    if (text == NULL) {
        pfa_cc_fail("%s cannot be read (%m)", path);
    }
    free(path);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        line[strcspn(line, "#")] = 0;
        pfa_words_split(words, line);
    }
    free(text);
}
