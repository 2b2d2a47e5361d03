/* Owns the wrapped functions that only wait: after them the thread's idea of the time is old. The list is wraps.def's.
 *
 * Cancellation points stay that: nothing is held while they wait, and the archive has unwind tables. */
#include "hooks/access/wraps.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#define PFA_WRAP_WAITS(name, result, parameters, arguments)                                                            \
    result __real_##name parameters;                                                                                   \
    result __wrap_##name parameters;                                                                                   \
    result __wrap_##name parameters                                                                                    \
    {                                                                                                                  \
        result value = __real_##name arguments;                                                                        \
        note_wait();                                                                                                   \
        return value;                                                                                                  \
    }
#include "hooks/access/wraps.def"
