/* Numbers as batches have them: LEB128, and signed ones with their sign in the lowest bit. For the encoder and the decoder
 * of batches alone. */
#ifndef PFA_EXPORT_FORMAT_NUMBERS_H
#define PFA_EXPORT_FORMAT_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Writes it at out[at] and returns where the next one goes. */
static inline uint32_t pfa_number_put(uint8_t *out, uint32_t at, uint64_t value)
{
    while (value >= 0x80) {
        out[at++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[at++] = (uint8_t)value;
    return at;
}

/* Takes one off the front; false if none ends before `end`. */
static inline bool pfa_number_get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

static inline uint64_t pfa_zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t pfa_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

/* A length of time in few bits: exact below 32 ticks, then with five bits from the highest on, but never coarser than a step of
 * 1 << shift. So it is known to 1 in 32 or to half a step, whichever is less; a shift of 0 keeps it whole. Codes rise with
 * lengths, and all lengths of a code have the same number of whole steps. */
#define PFA_LENGTH_BITS 4u

static inline uint32_t pfa_length_cut(uint64_t length, uint32_t shift)
{
    uint32_t cut = length < 2u << PFA_LENGTH_BITS ? 0 : 63u - (uint32_t)__builtin_clzll(length) - PFA_LENGTH_BITS;
    return cut < shift ? cut : shift;
}

static inline uint64_t pfa_length_code(uint64_t length, uint32_t shift)
{
    uint32_t cut = pfa_length_cut(length, shift);
    return ((uint64_t)cut << PFA_LENGTH_BITS) + (length >> cut);
}

/* The least length of the code, and by how many bits it was cut; the greatest is less by 1 than that of the next code. */
static inline uint64_t pfa_length_least(uint64_t code, uint32_t shift, uint32_t *cut)
{
    uint64_t bits = code >> PFA_LENGTH_BITS;
    *cut = (uint32_t)(bits <= 1 ? 0 : bits - 1 < shift ? bits - 1 : shift);
    return (code - ((uint64_t)*cut << PFA_LENGTH_BITS)) << *cut;
}

/* The one in the middle. */
static inline uint64_t pfa_length_of(uint64_t code, uint32_t shift)
{
    uint32_t cut;
    uint64_t least = pfa_length_least(code, shift, &cut);
    return least + ((uint64_t)1 << cut >> 1);
}

/* The lowest code that a length can have between two times that were cut and are so many steps apart. */
static inline uint64_t pfa_length_base(uint64_t steps, uint32_t shift)
{
    return steps == 0 ? 0 : pfa_length_code((steps - 1) << shift, shift);
}

#endif
