/* What tests/analyze/failing.c shares with the files that stand in front of malloc. */
#ifndef PFA_TESTS_FAILING_H
#define PFA_TESTS_FAILING_H

#include <stdbool.h>

/* Whether this call is to fail. */
bool failing_now(void);
void failing_count(int change);

#ifdef FAILING_ALL
/* Others do without what they could not get, or tell it in their own way: a file is then read as if it were damaged or had no names. */
#define FAILING_STRICT false
#define FAILING_MAY(error) ((error) == ENODATA || (error) == EIO)
enum { FAILING_EACH = 300, FAILING_MOST = 300 };
#else
#define FAILING_STRICT true
#define FAILING_MAY(error) false
enum { FAILING_EACH = 3000, FAILING_MOST = 2000 };
#endif

#endif
