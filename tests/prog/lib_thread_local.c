/* For tests/unit/test_backing.c: thread-local memory that is too much for the room that the C library has for that of modules
 * loaded late. */
static __thread char block[4096];

char *find_block(void);
char *find_block(void)
{
    return block;
}
