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

#endif
