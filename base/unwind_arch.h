/* What the two architectures' stacks look like to the unwinder (meta/unwind.h). Facts only, no state.
 *
 * Register numbers are DWARF's, from each psABI. A frame of a signal handler returns to code that makes the system call
 * rt_sigreturn, in the vdso (arm64) or in libc (x86-64): its first eight bytes are the same everywhere, and what the
 * kernel left on the stack lies at a fixed distance from the stack pointer that the handler returns with. */
#ifndef PFA_BASE_UNWIND_ARCH_H
#define PFA_BASE_UNWIND_ARCH_H

#include <stdint.h>
#include <ucontext.h>

/* User addresses have at most this many bits, unless a program asks for higher ones. */
#define PFA_UNWIND_PC_BITS 48

#if defined(__x86_64__)

enum {
    PFA_UNWIND_REG_FP = 6,
    PFA_UNWIND_REG_SP = 7,
    PFA_UNWIND_REG_PC = 16,
    PFA_UNWIND_REG_RA = 16,
    PFA_UNWIND_PC_ZEROS = 0,      /* low bits that are zero in every return address */
    PFA_UNWIND_RECORD_IS_TOP = 1, /* does the pair (saved fp, return address) end the frame? */
    PFA_UNWIND_SIGCONTEXT_AT = 0, /* of the ucontext_t, from the stack pointer in the restorer */
    PFA_UNWIND_RED_ZONE = 128,    /* bytes below the stack pointer that signals leave alone */
    PFA_UNWIND_SAVED_AT_TOP = 1,  /* are return address and fp saved at the top of a frame, or at its bottom? */
    PFA_UNWIND_SIZE_BITS = 19,    /* of the distances in a short rule (meta/unwind_rule.h) */
    PFA_UNWIND_RA_BITS = 0,       /* the call puts it into the topmost word */
    PFA_UNWIND_FP_BITS = 8,
};
/* mov $15, %rax; the first byte of syscall */
#define PFA_UNWIND_SIGRETURN UINT64_C(0x0f0000000fc0c748)

/* A return address as the program counter it stands for. */
static inline uintptr_t pfa_unwind_strip(uintptr_t pc)
{
    return pc;
}

/* Is it of the procedure linkage table, which is entered with all as it was at the call? (Here that has rules.) */
static inline int pfa_unwind_is_linkage(uint32_t instruction)
{
    (void)instruction;
    return 0;
}

#define PFA_UNWIND_CONTEXT_PC(context) ((uintptr_t)(context)->uc_mcontext.gregs[16]) /* REG_RIP */
#define PFA_UNWIND_CONTEXT_SP(context) ((uintptr_t)(context)->uc_mcontext.gregs[15]) /* REG_RSP */
#define PFA_UNWIND_CONTEXT_FP(context) ((uintptr_t)(context)->uc_mcontext.gregs[10]) /* REG_RBP */
#define PFA_UNWIND_CONTEXT_LR(context) ((uintptr_t)0 * sizeof(context))

#elif defined(__aarch64__)

enum {
    PFA_UNWIND_REG_FP = 29,
    PFA_UNWIND_REG_SP = 31,
    PFA_UNWIND_REG_PC = 32,
    PFA_UNWIND_REG_RA = 30,
    PFA_UNWIND_PC_ZEROS = 2,
    PFA_UNWIND_RECORD_IS_TOP = 0,
    PFA_UNWIND_SIGCONTEXT_AT = 128, /* behind a siginfo_t */
    PFA_UNWIND_RED_ZONE = 0,
    PFA_UNWIND_SAVED_AT_TOP = 0,
    PFA_UNWIND_SIZE_BITS = 10,
    PFA_UNWIND_RA_BITS = 9,
    PFA_UNWIND_FP_BITS = 8,
};
/* mov x8, #139; svc #0 */
#define PFA_UNWIND_SIGRETURN UINT64_C(0xd4000001d2801168)

/* Takes off the pointer authentication code that functions compiled with -mbranch-protection put into what they save. */
static inline uintptr_t pfa_unwind_strip(uintptr_t pc)
{
    return pc & (((uintptr_t)1 << PFA_UNWIND_PC_BITS) - 1);
}

/* Is it of the procedure linkage table, which linkers write without rules and which leaves all as it was at the call? */
static inline int pfa_unwind_is_linkage(uint32_t instruction)
{
    return (instruction & 0x9f00001f) == 0x90000010    /* adrp x16, ... */
           || (instruction & 0xffc003ff) == 0xf9400211 /* ldr x17, [x16, ...] */
           || (instruction & 0xffc003ff) == 0x91000210 /* add x16, x16, ... */
           || instruction == 0xd61f0220                /* br x17 */
           || instruction == 0xd503245f;               /* bti c */
}

#define PFA_UNWIND_CONTEXT_PC(context) ((uintptr_t)(context)->uc_mcontext.pc)
#define PFA_UNWIND_CONTEXT_SP(context) ((uintptr_t)(context)->uc_mcontext.sp)
#define PFA_UNWIND_CONTEXT_FP(context) ((uintptr_t)(context)->uc_mcontext.regs[29])
#define PFA_UNWIND_CONTEXT_LR(context) ((uintptr_t)(context)->uc_mcontext.regs[30])

#endif

/* Fills pc, sp and fp of a pfa_unwind_start_t with the state in the caller of the function it stands in, right after the
 * return to it. */
#if defined(__aarch64__) && defined(__clang__)
/* This compiler does not know where the caller's stack ends: it gives the function's own state, marked by an odd sp. */
#define PFA_UNWIND_HERE(start)                                                                                         \
    do {                                                                                                               \
        __asm__ volatile("adr %0, .\n\tmov %1, sp" : "=r"((start)->pc), "=r"((start)->sp));                            \
        (start)->pc += 1;                                                                                              \
        (start)->sp += 1;                                                                                              \
        (start)->fp = (uintptr_t)__builtin_frame_address(0);                                                           \
    } while (0)
#else
#define PFA_UNWIND_HERE(start)                                                                                         \
    do {                                                                                                               \
        (start)->pc = pfa_unwind_strip((uintptr_t)__builtin_return_address(0));                                        \
        (start)->sp = (uintptr_t)__builtin_dwarf_cfa();                                                                \
        (start)->fp = *(const uintptr_t *)__builtin_frame_address(0);                                                  \
    } while (0)
#endif

#endif
