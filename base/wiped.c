/* Owns the word that is cleared in fork children. See base/wiped.h. */
#define _GNU_SOURCE 1
#include "base/wiped.h"
#include "base/sys.h"

#include <stddef.h>
#include <sys/mman.h>

pfa_wiped_page_t pfa_wiped;
static void (*to_do)(void);

void pfa_wiped_open(void (*notice)(void))
{
    if (to_do == NULL && pfa_sys_advise(&pfa_wiped, sizeof pfa_wiped, MADV_WIPEONFORK) == 0) {
        to_do = notice;
    }
}

bool pfa_wiped_works(void)
{
    return to_do != NULL;
}

void pfa_wiped_found(void)
{
    if (to_do != NULL) {
        to_do();
    }
}
