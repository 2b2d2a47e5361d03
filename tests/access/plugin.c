/* A shared object for trouble.c to load and unload. */
#include "known.h"

void touch_in_plugin(char *chunk);

void touch_in_plugin(char *chunk)
{
    PUT(chunk[100], 1);
    USE(chunk[200]);
}
