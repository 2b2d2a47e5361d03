/* Owns the way from a program counter to its function's entry in .eh_frame (Linux Standard Base, "Exception Frames").
 *
 * Reads only memory of a loaded module, which the caller has found pc in. Keeps nothing; any number of threads at once. */
#include "meta/unwind_cfi.h"
#include "base/unwind_arch.h"
#include "meta/unwind_reader.h"

/* No entry is read beyond this: one longer is none of a compiler's. */
#define ENTRY_MAX ((size_t)1 << 20)
#define HEADER_MAX ((size_t)32)

/* .eh_frame_hdr's table, as linkers make it: pairs of 32-bit distances from the header, sorted by the first. */
typedef struct pair {
    int32_t begin;
    int32_t entry;
} pair_t;

/* The last pair that begins at or below pc: the function is this one or none. */
static const uint8_t *search(uintptr_t header, const pair_t *table, uint64_t count, uintptr_t pc)
{
    int64_t wanted = (int64_t)(pc - header);
    uint64_t low = 0;
    uint64_t high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (table[middle].begin <= wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? NULL : (const uint8_t *)header + table[low - 1].entry;
}

static const uint8_t *find_entry(const void *header, uintptr_t pc)
{
    pfa_reader_t r = {.at = header, .end = (const uint8_t *)header + HEADER_MAX};
    uint8_t version = pfa_reader_byte(&r);
    uint8_t frame_encoding = pfa_reader_byte(&r);
    uint8_t count_encoding = pfa_reader_byte(&r);
    uint8_t table_encoding = pfa_reader_byte(&r);
    if (version != 1 || count_encoding == PFA_ENC_OMITTED || table_encoding != (PFA_ENC_FROM_DATA | PFA_ENC_S4)) {
        return NULL;
    }
    (void)pfa_reader_address(&r, frame_encoding, (uintptr_t)header);
    uint64_t count = pfa_reader_address(&r, count_encoding, (uintptr_t)header);
    if (r.bad || (uintptr_t)r.at % sizeof(int32_t) != 0) {
        return NULL;
    }
    return search((uintptr_t)header, (const pair_t *)(const void *)r.at, count, pc);
}

/* A cursor over the body of a CIE or FDE that begins with its length. */
static pfa_reader_t open_entry(const uint8_t *at)
{
    pfa_reader_t r = {.at = at, .end = at + 12};
    uint64_t length = pfa_reader_fixed(&r, 4);
    if (length == 0xffffffff) {
        length = pfa_reader_fixed(&r, 8);
    }
    r.bad = length < 4 || length > ENTRY_MAX;
    r.end = r.at + (r.bad ? 0 : length);
    return r;
}

/* What the letters of the augmentation say, each with its data. False for letters that are not known. */
static bool read_augmentation(pfa_reader_t *r, const char *letters, pfa_cfi_function_t *f, bool *has_data)
{
    *has_data = *letters == 'z';
    if (!*has_data) {
        return *letters == '\0';
    }
    uint64_t size = pfa_reader_uleb(r);
    const uint8_t *data = r->at;
    for (letters++; *letters != '\0' && !r->bad; letters++) {
        switch (*letters) {
        case 'R':
            f->encoding = pfa_reader_byte(r);
            break;
        case 'L':
            (void)pfa_reader_byte(r);
            break;
        case 'P': {
            uint8_t encoding = pfa_reader_byte(r);
            (void)pfa_reader_address(r, encoding & (PFA_ENC_FORMAT | PFA_ENC_FROM_PLACE), 0);
            break;
        }
        case 'S':
            f->is_signal_frame = true;
            break;
        case 'B': /* which key signs return addresses */
        case 'G': /* tagged stack memory */
            break;
        default:
            return false;
        }
    }
    r->at = data;
    pfa_reader_skip(r, size);
    return !r->bad;
}

/* The part that functions share (CIE). */
static bool read_common(const uint8_t *at, pfa_cfi_function_t *f, bool *has_data)
{
    pfa_reader_t r = open_entry(at);
    uint64_t id = pfa_reader_fixed(&r, 4);
    uint8_t version = pfa_reader_byte(&r);
    if (r.bad || id != 0 || (version != 1 && version != 3)) {
        return false;
    }
    const char *letters = (const char *)r.at;
    while (pfa_reader_byte(&r) != 0 && !r.bad) {
    }
    f->code_align = pfa_reader_uleb(&r);
    f->data_align = pfa_reader_sleb(&r);
    uint64_t ra = version == 1 ? pfa_reader_byte(&r) : pfa_reader_uleb(&r);
    if (r.bad || ra != PFA_UNWIND_REG_RA || !read_augmentation(&r, letters, f, has_data)) {
        return false;
    }
    f->initial = r.at;
    f->initial_end = r.end;
    return true;
}

bool pfa_cfi_find(const void *header, uintptr_t pc, pfa_cfi_function_t *f)
{
    const uint8_t *entry = find_entry(header, pc);
    if (entry == NULL) {
        return false;
    }
    *f = (pfa_cfi_function_t){.encoding = PFA_ENC_ABSOLUTE};
    pfa_reader_t r = open_entry(entry);
    const uint8_t *place = r.at;
    uint64_t distance = pfa_reader_fixed(&r, 4);
    bool has_data = false;
    if (r.bad || distance == 0 || !read_common(place - distance, f, &has_data)) {
        return false;
    }
    f->begin = pfa_reader_address(&r, f->encoding, 0);
    f->end = f->begin + pfa_reader_address(&r, f->encoding & PFA_ENC_FORMAT, 0);
    if (has_data) {
        pfa_reader_skip(&r, pfa_reader_uleb(&r));
    }
    f->own = r.at;
    f->own_end = r.end;
    return !r.bad && f->begin <= pc && pc < f->end;
}
