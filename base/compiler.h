/* What the code asks of the compiler, and the two architectures' differences, in one place. Macros only. */
#ifndef PFA_BASE_COMPILER_H
#define PFA_BASE_COMPILER_H

#define PFA_LIKELY(x) __builtin_expect(!!(x), 1)
#define PFA_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* The caller guarantees x. */
#define PFA_ASSUME(x) ((x) ? (void)0 : __builtin_unreachable())

/* Cold code is kept out of line and out of the hot pages, so that a hot function stays one screen of assembly. */
#define PFA_COLD __attribute__((cold, noinline))
#define PFA_NOINLINE __attribute__((noinline))
#define PFA_INLINE static inline __attribute__((always_inline))
/* Takes in all it calls that is not PFA_NOINLINE, across files with link-time optimisation. */
#define PFA_FLATTEN __attribute__((flatten))
#define PFA_EXPORT __attribute__((visibility("default")))
#define PFA_WEAK __attribute__((weak))
/* For functions that read the program's memory as it is: a stack holds AddressSanitizer's forbidden zones. */
#define PFA_NO_ASAN __attribute__((no_sanitize("address")))
/* Is this code watched by ThreadSanitizer? The compilers tell it in different ways. */
#if defined(__SANITIZE_THREAD__)
#define PFA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define PFA_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define PFA_THREAD_SANITIZER 0
#endif
#if PFA_THREAD_SANITIZER
#define PFA_NO_TSAN __attribute__((no_sanitize_thread))
#else
#define PFA_NO_TSAN
#endif
#define PFA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Initial-exec is the only TLS model that never allocates on first use; STYLE lists why that matters to a malloc. */
#define PFA_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local

#define PFA_CACHE_LINE 64

/* Set in the addresses of stacks, shared objects and position-independent programs, where Linux has 48 bits of them (47 of
 * the user's on x86-64); not set in the window of alloc/slice.h. */
#if defined(__x86_64__)
#define PFA_ADDRESS_USUAL_BIT (1ull << 46)
#define PFA_THREAD_WORD_MOVES 0 /* does the word that the thread pointer points to? */
#define PFA_PAGE_MAX 4096
#else
#define PFA_ADDRESS_USUAL_BIT (1ull << 47)
#define PFA_THREAD_WORD_MOVES 1
#define PFA_PAGE_MAX 65536 /* the biggest pages that a kernel may be built for */
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "profalloc supports x86-64 and arm64"
#endif

#endif
