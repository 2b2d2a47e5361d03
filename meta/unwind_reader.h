/* Inside the unwinder: a cursor over DWARF data that never passes its end. A read beyond it gives 0 and sets `bad`, which
 * callers look at once, at the end. */
#ifndef PFA_META_UNWIND_READER_H
#define PFA_META_UNWIND_READER_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pfa_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
} pfa_reader_t;

/* Encodings of addresses: the format in the low half, what it is relative to in the high half. */
enum {
    PFA_ENC_ABSOLUTE = 0x00,
    PFA_ENC_ULEB = 0x01,
    PFA_ENC_U2 = 0x02,
    PFA_ENC_U4 = 0x03,
    PFA_ENC_U8 = 0x04,
    PFA_ENC_SLEB = 0x09,
    PFA_ENC_S2 = 0x0a,
    PFA_ENC_S4 = 0x0b,
    PFA_ENC_S8 = 0x0c,
    PFA_ENC_FORMAT = 0x0f,
    PFA_ENC_FROM_PLACE = 0x10,
    PFA_ENC_FROM_DATA = 0x30,
    PFA_ENC_RELATIVE = 0x70,
    PFA_ENC_INDIRECT = 0x80,
    PFA_ENC_OMITTED = 0xff
};

static inline uint64_t pfa_reader_fixed(pfa_reader_t *r, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    for (size_t i = 0; i < size; i++) { /* both architectures are little-endian */
        value |= (uint64_t)r->at[i] << (8 * i);
    }
    r->at += size;
    return value;
}

static inline uint8_t pfa_reader_byte(pfa_reader_t *r)
{
    return (uint8_t)pfa_reader_fixed(r, 1);
}

static inline void pfa_reader_skip(pfa_reader_t *r, uint64_t size)
{
    if ((uint64_t)(r->end - r->at) < size) {
        r->bad = true;
        size = (uint64_t)(r->end - r->at);
    }
    r->at += size;
}

static inline uint64_t pfa_reader_leb(pfa_reader_t *r, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = pfa_reader_byte(r);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) {
        value |= ~(uint64_t)0 << shift;
    }
    return value;
}

static inline uint64_t pfa_reader_uleb(pfa_reader_t *r)
{
    return pfa_reader_leb(r, false);
}

static inline int64_t pfa_reader_sleb(pfa_reader_t *r)
{
    return (int64_t)pfa_reader_leb(r, true);
}

/* An address in the given encoding; data is what PFA_ENC_FROM_DATA counts from. Not followed if indirect. */
static inline uintptr_t pfa_reader_address(pfa_reader_t *r, uint8_t encoding, uintptr_t data)
{
    uintptr_t base = 0;
    switch (encoding & PFA_ENC_RELATIVE) {
    case 0:
        break;
    case PFA_ENC_FROM_PLACE:
        base = (uintptr_t)r->at;
        break;
    case PFA_ENC_FROM_DATA:
        base = data;
        break;
    default:
        r->bad = true;
    }
    switch (encoding & PFA_ENC_FORMAT) {
    case PFA_ENC_ABSOLUTE:
    case PFA_ENC_U8:
    case PFA_ENC_S8:
        return base + pfa_reader_fixed(r, 8);
    case PFA_ENC_U4:
        return base + pfa_reader_fixed(r, 4);
    case PFA_ENC_S4:
        return base + (uintptr_t)(int64_t)(int32_t)(uint32_t)pfa_reader_fixed(r, 4);
    case PFA_ENC_U2:
        return base + pfa_reader_fixed(r, 2);
    case PFA_ENC_S2:
        return base + (uintptr_t)(int64_t)(int16_t)(uint16_t)pfa_reader_fixed(r, 2);
    case PFA_ENC_ULEB:
        return base + pfa_reader_uleb(r);
    case PFA_ENC_SLEB:
        return base + (uintptr_t)pfa_reader_sleb(r);
    default:
        r->bad = true;
        return 0;
    }
}

#endif
