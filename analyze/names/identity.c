/* Owns the identity of allocation points across builds. See analyze/names/identity.h. */
#include "analyze/names/identity.h"
#include "analyze/names/place.h"

#include <string.h>

static uint64_t hash_text(uint64_t hash, const char *text, size_t size)
{
    return pfa_checksum_mix(hash, pfa_checksum(0, text, size));
}

/* "libfoo.so.1.2" is "libfoo.so". */
static size_t plain_length(const char *name)
{
    const char *so = strstr(name, ".so");
    return so != NULL && (so[3] == '.' || so[3] == '\0') ? (size_t)(so + 3 - name) : strlen(name);
}

static uint64_t hash_line(uint64_t hash, const pfa_line_t *line)
{
    const char *module = pfa_place_base_name(line->module);
    hash = hash_text(hash, module, plain_length(module));
    if (line->symbol->function != NULL) {
        return hash_text(hash, line->symbol->function, strlen(line->symbol->function));
    }
    return pfa_checksum_mix(hash, line->address);
}

uint64_t pfa_identity_of(pfa_stacks_t *stacks, uint32_t stack)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_stacks_lines(stacks, stack, &lines);
    uint64_t hash = pfa_checksum_mix(2, lines.root);
    for (size_t i = 0; i < lines.count; i++) {
        hash = hash_line(hash, &lines.list[i]);
    }
    pfa_lines_free(&lines);
    return hash;
}
