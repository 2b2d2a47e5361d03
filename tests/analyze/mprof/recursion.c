/* Recursion of all kinds: a function that calls itself, two that call each other and allocate at every depth, and one that
 * recurses as deep as its argument says before it allocates. `recursion self|mutual|deep N`. */
#include <stdlib.h>
#include <string.h>

void *kept[64];
unsigned count;

void keep(size_t size)
{
    kept[count++ % 64] = malloc(size);
}

void itself(int n)
{
    if (n == 0) {
        keep(40);
        return;
    }
    itself(n - 1);
}

void odd(int n);

void even(int n)
{
    keep(10);
    if (n > 0) {
        odd(n - 1);
    }
}

void odd(int n)
{
    kept[count++ % 64] = malloc(1000);
    if (n > 0) {
        even(n - 1);
    }
}

int down(int n)
{
    if (n == 0) {
        keep(100);
        return 0;
    }
    return 1 + down(n - 1);
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (argc < 3) {
        return 2;
    }
    if (strcmp(argv[1], "self") == 0) {
        itself(n);
    } else if (strcmp(argv[1], "mutual") == 0) {
        even(n);
    } else {
        return down(n) != n;
    }
    return 0;
}
