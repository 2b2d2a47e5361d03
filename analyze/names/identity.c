/* Owns the identity of allocation points across builds. See analyze/names/identity.h. */
#include "analyze/names/identity.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(uint64_t hash, const char *text, size_t size)
{
    return pfa_checksum_mix(hash, pfa_checksum(0, text, size));
}

/* "libfoo.so.1.2" and "libfoo-1.2.so" are "libfoo". */
static size_t plain_module(const char *name)
{
    const char *so = strstr(name, ".so");
    if (so == NULL || (so[3] != '.' && so[3] != '\0')) {
        return strlen(name);
    }
    size_t length = (size_t)(so - name);
    size_t at = length;
    while (at > 0 && (isdigit((unsigned char)name[at - 1]) || name[at - 1] == '.')) {
        at--;
    }
    return at > 1 && at < length && name[at - 1] == '-' ? at - 1 : length;
}

/* Functions that were made of others: "parse.constprop.0", "parse(int) [clone .cold]". */
static size_t plain_function(const char *name)
{
    static const char *const marks[] = {" [clone ", ".constprop.", ".isra.", ".part.",
                                        ".cold",    ".lto_priv.",  ".llvm.", ".localalias"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *mark = strstr(name, marks[i]);
        if (mark != NULL && mark != name && (size_t)(mark - name) < length) {
            length = (size_t)(mark - name);
        }
    }
    return length;
}

/* A lambda that was inlined has no name but this one, one that was not has its scope and its number, which changes. */
static bool is_lambda(const char *name)
{
    return strcmp(name, "operator()") == 0 || strstr(name, "{lambda(") != NULL;
}

/* Without arguments. */
static uint64_t hash_loosely(const char *name)
{
    char text[1024];
    size_t size = 0;
    size_t length = is_lambda(name) ? 0 : plain_function(name);
    unsigned depth = 0;
    for (size_t i = 0; i < length && size < sizeof text; i++) {
        depth += name[i] == '(';
        if (depth == 0) {
            text[size++] = name[i];
        }
        depth -= name[i] == ')' && depth != 0;
    }
    return pfa_checksum(1, text, size);
}

static uint64_t hash_line(uint64_t hash, const pfa_line_t *line)
{
    const char *module = pfa_place_base_name(line->module);
    hash = hash_text(hash, module, plain_module(module));
    if (line->symbol->function != NULL) {
        return hash_text(hash, line->symbol->function, plain_function(line->symbol->function));
    }
    hash = line->build != NULL && line->build[0] != '\0' ? hash_text(hash, line->build, strlen(line->build)) : hash;
    return pfa_checksum_mix(hash, line->address);
}

/* Those up to the outermost main; all without one. */
static size_t count_lines(const pfa_lines_t *lines)
{
    for (size_t i = lines->count; i > 0; i--) {
        const char *function = lines->list[i - 1].symbol->function;
        if (function != NULL && strcmp(function, "main") == 0) {
            return i;
        }
    }
    return lines->count;
}

uint64_t pfa_identity_of_lines(const pfa_lines_t *lines)
{
    size_t count = count_lines(lines);
    uint64_t hash = pfa_checksum_mix(3, count < lines->count ? PFA_NODE_COMPLETE : lines->root);
    for (size_t i = 0; i < count; i++) {
        hash = hash_line(hash, &lines->list[i]);
    }
    return hash;
}

uint64_t pfa_identity_of_places(const pfa_lines_t *lines)
{
    uint64_t hash = pfa_checksum_mix(6, lines->root);
    for (size_t i = 0; i < lines->count; i++) {
        const pfa_line_t *line = &lines->list[i];
        if (line->build == NULL || line->build[0] == '\0') {
            return 0;
        }
        if (!line->symbol->inlined) { /* without names it is not known which were */
            hash = pfa_checksum_mix(hash_text(hash, line->build, strlen(line->build)), line->address);
        }
    }
    return lines->count != 0 ? hash | 1 : 0;
}

bool pfa_identity_is_lasting(const pfa_lines_t *lines)
{
    size_t count = count_lines(lines);
    for (size_t i = 0; i < count; i++) {
        if (lines->list[i].symbol->function == NULL) {
            return false;
        }
    }
    return true;
}

uint64_t pfa_identity_of(pfa_stacks_t *stacks, uint32_t stack)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_stacks_lines(stacks, stack, &lines);
    uint64_t hash = pfa_identity_of_lines(&lines);
    pfa_lines_free(&lines);
    return hash;
}

uint64_t pfa_identity_of_name(const char *name)
{
    return hash_text(4, name, strlen(name));
}

uint64_t *pfa_identity_functions(const pfa_lines_t *lines, size_t *count)
{
    size_t all = count_lines(lines);
    uint64_t *list = pfa_memory_get(all, sizeof *list);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        const pfa_symbol_t *symbol = lines->list[i].symbol;
        if (symbol->function != NULL && !pfa_place_is_library(symbol)) {
            list[(*count)++] = hash_loosely(symbol->function);
        }
    }
    return list;
}

uint64_t pfa_identity_kin(const pfa_lines_t *lines)
{
    size_t count;
    pfa_line_t own;
    if (!pfa_place_own(lines, &own) || own.symbol->function == NULL) {
        return 0;
    }
    uint64_t *functions = pfa_identity_functions(lines, &count);
    uint64_t hash = 5;
    for (size_t i = 0; i < count; i++) {
        hash = pfa_checksum_mix(hash, functions[i]);
    }
    pfa_memory_free(functions);
    return count != 0 ? hash | 1 : 0;
}
