/* Owns operator new and delete in all their forms, written in C under their mangled names so that the library needs no
 * C++ runtime of its own (but for a catch: hooks/new_nothrow.cpp). What only that runtime can do (the new-handler, throwing bad_alloc) is asked of the one the
 * program has, through weak symbols. Compiled with unwind tables: an exception passes through these functions. */
#include "base/message.h"
#include "base/sys.h"
#include "hooks/hooks.h"

#include <stdlib.h>

typedef void handler_t(void);
typedef handler_t *get_handler_t(void);
typedef struct nothrow nothrow_t;

PFA_WEAK get_handler_t _ZSt15get_new_handlerv; /* std::get_new_handler() */
PFA_WEAK handler_t _ZSt17__throw_bad_allocv;   /* std::__throw_bad_alloc() */

/* Finds a function of a C++ runtime that came later, by dlopen, and is not seen by the weak symbols: hooks/new_late.c, in
 * the shared library only. A static program has its runtime from the start. */
PFA_WEAK void *pfa_new_late(const char *name);

/* Calls the handler; false if it threw. hooks/new_nothrow.cpp. */
bool pfa_new_ask_quietly(handler_t *handler);

static void *late(const char *name)
{
    return pfa_new_late != NULL ? pfa_new_late(name) : NULL;
}

#define CALLER __builtin_return_address(0)

static handler_t *current_handler(void)
{
    get_handler_t *get = _ZSt15get_new_handlerv;
    if (get == NULL) {
        *(void **)&get = late("_ZSt15get_new_handlerv");
    }
    return get != NULL ? get() : NULL;
}

static PFA_COLD void throw_bad_alloc(void)
{
    handler_t *throw = _ZSt17__throw_bad_allocv;
    if (throw == NULL) {
        *(void **)&throw = late("_ZSt17__throw_bad_allocv");
    }
    if (throw != NULL) {
        throw();
    }
    pfa_say("operator new: out of memory, and no C++ runtime that could throw bad_alloc");
    pfa_sys_abort();
}

/* As the standard says: ask the handler for memory until there is some, or it throws, or there is no handler. */
static PFA_COLD void *retry(size_t size, size_t align, uint64_t flags, bool may_throw)
{
    for (;;) {
        handler_t *handler = current_handler();
        if (handler == NULL) {
            if (may_throw) {
                throw_bad_alloc();
            }
            return NULL;
        }
        if (may_throw) {
            handler();
        } else if (!pfa_new_ask_quietly(handler)) {
            return NULL;
        }
        void *chunk = pfa_slow_alloc(size, align, flags);
        if (chunk != NULL) {
            return chunk;
        }
    }
}

PFA_INLINE void *allocate(size_t size, uint64_t flags, bool may_throw)
{
    void *chunk = PFA_LIKELY(pfa_fast_allowed(size)) ? pfa_backing_malloc(size) : pfa_slow_alloc(size, 0, flags);
    return PFA_LIKELY(chunk != NULL) ? chunk : retry(size, 0, flags, may_throw);
}

PFA_INLINE void *allocate_aligned(size_t size, size_t align, uint64_t flags, bool may_throw)
{
    flags |= PFA_FLAG_ALIGNED;
    if (align != 0 && (align & (align - 1)) == 0 && !pfa_too_big(size, align)) {
        void *chunk = PFA_LIKELY(pfa_fast_allowed(size)) ? pfa_backing_aligned_here(size, align)
                                                         : pfa_slow_alloc(size, align, flags);
        return PFA_LIKELY(chunk != NULL) ? chunk : retry(size, align, flags, may_throw);
    }
    if (may_throw) {
        throw_bad_alloc();
    }
    return NULL;
}

#define NEW(name, flags)                                                                                               \
    PFA_EXPORT void *name(size_t size);                                                                                \
    PFA_EXPORT void *name(size_t size)                                                                                 \
    {                                                                                                                  \
        return allocate(size, flags, true);                                                                            \
    }
#define NEW_NOTHROW(name, flags)                                                                                       \
    PFA_EXPORT void *name(size_t size, const nothrow_t *nothrow);                                                      \
    PFA_EXPORT void *name(size_t size, const nothrow_t *nothrow)                                                       \
    {                                                                                                                  \
        (void)nothrow;                                                                                                 \
        return allocate(size, flags, false);                                                                           \
    }
#define NEW_ALIGNED(name, flags)                                                                                       \
    PFA_EXPORT void *name(size_t size, size_t align);                                                                  \
    PFA_EXPORT void *name(size_t size, size_t align)                                                                   \
    {                                                                                                                  \
        return allocate_aligned(size, align, flags, true);                                                             \
    }
#define NEW_ALIGNED_NOTHROW(name, flags)                                                                               \
    PFA_EXPORT void *name(size_t size, size_t align, const nothrow_t *nothrow);                                        \
    PFA_EXPORT void *name(size_t size, size_t align, const nothrow_t *nothrow)                                         \
    {                                                                                                                  \
        (void)nothrow;                                                                                                 \
        return allocate_aligned(size, align, flags, false);                                                            \
    }

NEW(_Znwm, PFA_FLAG_NEW)
NEW(_Znam, PFA_FLAG_NEW | PFA_FLAG_ARRAY)
NEW_NOTHROW(_ZnwmRKSt9nothrow_t, PFA_FLAG_NEW)
NEW_NOTHROW(_ZnamRKSt9nothrow_t, PFA_FLAG_NEW | PFA_FLAG_ARRAY)
NEW_ALIGNED(_ZnwmSt11align_val_t, PFA_FLAG_NEW)
NEW_ALIGNED(_ZnamSt11align_val_t, PFA_FLAG_NEW | PFA_FLAG_ARRAY)
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, PFA_FLAG_NEW)
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, PFA_FLAG_NEW | PFA_FLAG_ARRAY)

/* The forms of delete differ in what they tell us besides the chunk; none of it is needed. */
#define DELETE(name, ...)                                                                                              \
    PFA_EXPORT void name(void *chunk, ##__VA_ARGS__);                                                                  \
    PFA_EXPORT PFA_FLATTEN void name(void *chunk, ##__VA_ARGS__)                                                       \
    {                                                                                                                  \
        pfa_fast_free(chunk);                                                                                          \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, size_t size)
DELETE(_ZdaPvm, size_t size)
DELETE(_ZdlPvRKSt9nothrow_t, const nothrow_t *nothrow)
DELETE(_ZdaPvRKSt9nothrow_t, const nothrow_t *nothrow)
DELETE(_ZdlPvSt11align_val_t, size_t align)
DELETE(_ZdaPvSt11align_val_t, size_t align)
DELETE(_ZdlPvmSt11align_val_t, size_t size, size_t align)
DELETE(_ZdaPvmSt11align_val_t, size_t size, size_t align)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, size_t align, const nothrow_t *nothrow)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, size_t align, const nothrow_t *nothrow)
