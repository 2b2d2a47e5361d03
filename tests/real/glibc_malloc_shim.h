/* Put before each file of glibc's tests and their support: what glibc's own build says to its compiler, and installed headers do
 * not. */
#ifndef PFA_TESTS_GLIBC_MALLOC_SHIM_H
#define PFA_TESTS_GLIBC_MALLOC_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The environment gives the one that counts. */
#define TIMEOUTFACTOR 1

/* Marks of symbols inside of libc. */
#define attribute_hidden
#define libc_hidden_proto(name)
#define libc_hidden_def(name)

/* Defined for files of libc itself, once the headers have seen that it is not. */
#ifdef PFA_INSIDE_LIBC
#define _LIBC 1
#endif

/* Functions of libc by names that only libc itself can use. */
#define __snprintf snprintf
#define __set_errno(value) (errno = (value))
#define __libc_fatal(message) (fputs(message, stderr), abort())

/* Places of glibc's tree, which no test of malloc looks at. */
#define SRCDIR_PATH "/nonexistent"
#define OBJDIR_PATH "/nonexistent"
#define OBJDIR_ELF_LDSO_PATH "/nonexistent"
#define INSTDIR_PATH "/nonexistent"
#define LIBDIR_PATH "/nonexistent"
#define BINDIR_PATH "/nonexistent"
#define SBINDIR_PATH "/nonexistent"
#define SLIBDIR_PATH "/nonexistent"
#define ROOTSBINDIR_PATH "/nonexistent"
#define COMPLOCALEDIR_PATH "/nonexistent"

#endif
