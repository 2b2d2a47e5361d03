/* For tests/analyze/asking.c. */
#ifndef TESTS_ANALYZE_ASKING_H
#define TESTS_ANALYZE_ASKING_H

/* Its forms `lists`, `facts`, `ask` and `compare`: the status to end with; -1: it is none of these. */
int asking_run(int argc, char **argv);

#endif
