/* Read by gcc before each source (-imacros: nothing of it but the macros stays, and preprocessed text is as without).
 *
 * -fno-builtin-memcpy makes gcc call memcpy, where it is seen. But libstdc++'s headers, and glibc's under _FORTIFY_SOURCE,
 * call __builtin_memcpy and __builtin___memcpy_chk, which gcc expands behind its instrumentation if it knows the size, or
 * knows that it fits. So the room, or the size, becomes a number that it does not know: it is and-ed with one that is all
 * ones, since no code lies in the upper half of the address space, but might be 0 for all gcc can tell. What is left is a
 * call of __memcpy_chk, or of memcmp, which are wrapped (hooks/access/wraps.def). */
#pragma GCC system_header
#ifndef __profalloc_any
#define __profalloc_any (((__SIZE_TYPE__)__builtin_return_address(0) >> (8 * sizeof(__SIZE_TYPE__) - 1)) - 1)

#define __builtin_memcpy(...) __builtin___memcpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_memmove(...) __builtin___memmove_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_mempcpy(...) __builtin___mempcpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_memset(...) __builtin___memset_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_strcpy(...) __builtin___strcpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_stpcpy(...) __builtin___stpcpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_strncpy(...) __builtin___strncpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_stpncpy(...) __builtin___stpncpy_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_strcat(...) __builtin___strcat_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_strncat(...) __builtin___strncat_chk(__VA_ARGS__, __profalloc_any)
#define __builtin_bzero(...) __builtin_bzero(__VA_ARGS__ &__profalloc_any)

#define __builtin___memcpy_chk(...) __builtin___memcpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___memmove_chk(...) __builtin___memmove_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___mempcpy_chk(...) __builtin___mempcpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___memset_chk(...) __builtin___memset_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___strcpy_chk(...) __builtin___strcpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___stpcpy_chk(...) __builtin___stpcpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___strncpy_chk(...) __builtin___strncpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___stpncpy_chk(...) __builtin___stpncpy_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___strcat_chk(...) __builtin___strcat_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___strncat_chk(...) __builtin___strncat_chk(__VA_ARGS__ &__profalloc_any)
#define __builtin___sprintf_chk(to, flag, room, ...)                                                                   \
    __builtin___sprintf_chk(to, flag, (room)&__profalloc_any, __VA_ARGS__)
#define __builtin___snprintf_chk(to, size, flag, room, ...)                                                            \
    __builtin___snprintf_chk(to, size, flag, (room)&__profalloc_any, __VA_ARGS__)
#define __builtin___vsprintf_chk(to, flag, room, format, list)                                                         \
    __builtin___vsprintf_chk(to, flag, (room)&__profalloc_any, format, list)
#define __builtin___vsnprintf_chk(to, size, flag, room, format, list)                                                  \
    __builtin___vsnprintf_chk(to, size, flag, (room)&__profalloc_any, format, list)

/* These may stand in constant expressions. */
#ifdef __cplusplus
#define __profalloc_unless(constant, call) (__builtin_is_constant_evaluated() ? (constant) : (call))
#else
#define __profalloc_unless(constant, call) __builtin_choose_expr(__builtin_constant_p(constant), (constant), (call))
#endif
#define __builtin_memcmp(...)                                                                                          \
    __profalloc_unless(__builtin_memcmp(__VA_ARGS__), __builtin_memcmp(__VA_ARGS__ &__profalloc_any))
#define __builtin_bcmp(...)                                                                                            \
    __profalloc_unless(__builtin_bcmp(__VA_ARGS__), __builtin_bcmp(__VA_ARGS__ &__profalloc_any))
#endif
