/* Owns the standard thresholds of scores and inferences. See analyze/points/thresholds.def. */
#include "analyze/points/memoro.h"

pfa_thresholds_t pfa_thresholds_standard(void)
{
    return (pfa_thresholds_t){
#define PFA_THRESHOLD(name, option, standard, least, most, meaning) .name = (standard),
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
    };
}
