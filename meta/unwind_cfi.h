/* Inside the unwinder: .eh_frame, read. What comes out is the row of the unwind table for one instruction, reduced to the
 * registers that are followed: the frame's address, fp and the return address. */
#ifndef PFA_META_UNWIND_CFI_H
#define PFA_META_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

/* Where a register of the caller is to be found. */
typedef enum pfa_cfi_how {
    PFA_CFI_KEPT,   /* still in the register */
    PFA_CFI_AT_CFA, /* on the stack, offset bytes from the frame's address */
    PFA_CFI_AT_FP,  /* on the stack, offset bytes from fp */
    PFA_CFI_UNDEFINED,
    PFA_CFI_ELSEWHERE /* somewhere that is not followed */
} pfa_cfi_how_t;

typedef struct pfa_cfi_place {
    pfa_cfi_how_t how;
    int64_t offset;
} pfa_cfi_place_t;

typedef struct pfa_cfi_row {
    enum {
        PFA_CFA_NONE,  /* not told, or told by what is not followed */
        PFA_CFA_SP,    /* sp + cfa_offset */
        PFA_CFA_FP,    /* fp + cfa_offset */
        PFA_CFA_AT_FP, /* the word at fp + cfa_offset */
    } cfa_from;
    int64_t cfa_offset;
    pfa_cfi_place_t ra;
    pfa_cfi_place_t fp;
} pfa_cfi_row_t;

/* A function's instructions for the unwinder, as found in .eh_frame. */
typedef struct pfa_cfi_function {
    uintptr_t begin;
    uintptr_t end;
    uint64_t code_align;
    int64_t data_align;
    const uint8_t *initial; /* the instructions shared by functions, then those of this one */
    const uint8_t *initial_end;
    const uint8_t *own;
    const uint8_t *own_end;
    uint8_t encoding; /* of addresses */
    bool is_signal_frame;
} pfa_cfi_function_t;

/* Finds the function that pc lies in, by the table in .eh_frame_hdr at `header`. */
bool pfa_cfi_find(const void *header, uintptr_t pc, pfa_cfi_function_t *function);
/* Runs its instructions up to pc. False if they are malformed or unknown. */
bool pfa_cfi_row(const pfa_cfi_function_t *function, uintptr_t pc, pfa_cfi_row_t *row);

#endif
