/* What is said about options that cannot be, that the default is then used, and that strict:true ends the program.
 *
 * run: modes=off conf=bogus:1 says="PROFALLOC_CONF: unknown option 'bogus'; known are prof, sample, .*"
 * run: modes=full conf=bogus:1,wrong:2 arg=1 says=".*'bogus'.*" says=".*'wrong'.*"
 * run: modes=off conf=prof:yes says="PROFALLOC_CONF: prof: 'yes' is not accepted; use true or false.*"
 * run: modes=off conf=prof says="PROFALLOC_CONF: 'prof' has no value; write key:value"
 * run: modes=off conf=prof: says="PROFALLOC_CONF: prof: '' is not accepted.*"
 * run: modes=off conf=prof:true,sample:0 arg=524288 says="PROFALLOC_CONF: sample: '0' is not accepted; .* from 1 to .*"
 * run: modes=off conf=prof:true,sample:12Q arg=524288 says=".*sample: '12Q' is not accepted.*"
 * run: modes=off conf=prof:true,sample:-1 arg=524288 says=".*sample: '-1' is not accepted.*"
 * run: modes=off conf=prof:true,sample:99999999999999999999 arg=524288 says=".* is not accepted.*"
 * run: modes=off conf=prof:true,sample:17179869184G arg=524288 says=".* is not accepted.*"
 * run: modes=off conf=prof:true,sample:K arg=524288 says=".*sample: 'K' is not accepted.*"
 * run: modes=off conf=prof:true arg=524288
 * run: modes=off conf=prof:true,sample:1K arg=1024
 * run: modes=off conf=prof:true,sample:3k arg=3072
 * run: modes=off conf=prof:true,sample:2M arg=2097152
 * run: modes=off conf=prof:true,sample:1G arg=1073741824
 * run: modes=off conf="  prof : true , sample : 64K ,, " arg=65536
 * run: modes=off conf=sample:7,prof:true,sample:9 arg=9
 * run: modes=off conf=strict:true,bogus:1 expect=exit:1 says=".*'bogus'.*" says="strict:true is set.*"
 * run: modes=off conf=bogus:1,sample:x,strict:true expect=exit:1 says=".*" says=".*"
 *      says="strict:true .* options above"
 * run: modes=full conf=strict:true arg=1
 * run: modes=off etc_conf=prof:true,sample:4K arg=4096
 * run: modes=off etc_conf="# one per line\nprof:true # yes\n\n sample:8K" arg=8192
 * run: modes=off etc_conf=prof:true,sample:4K conf=sample:16K arg=16384
 * run: modes=off etc_conf=bogus:1 says="/etc/profalloc.conf: unknown option 'bogus'.*"
 * run: modes=off etc_conf=strict:true conf=bogus:1 expect=exit:1 says=".*" says="strict:true .*" */
#include "trap.h"

/* e to the minus x, for small x; not worth a library. */
static double exp_minus(double x)
{
    double sum = 1;
    double term = 1;
    for (int i = 1; i < 60; i++) {
        term *= -x / i;
        sum += term;
    }
    return sum;
}

/* The period in force shows in what one sampled chunk is said to stand for: size / (1 - exp(-size / period)) bytes. */
static void check_period(size_t period)
{
    size_t size = period / 4 < 16 ? 16 : period / 4;
    double expected = period == 1 ? (double)size : (double)size / (1 - exp_minus((double)size / (double)period));
    uint64_t before = counters().bytes_allocated;
    uint64_t after = before;
    for (int i = 0; i < 1000 && after == before; i++) {
        free(malloc(size));
        after = counters().bytes_allocated;
    }
    double off = (double)(after - before) - expected;
    CHECK(off > -1 - expected / 1000 && off < 1 + expected / 1000, "one sample stands for %lu bytes, not %lu",
          (unsigned long)(after - before), (unsigned long)expected);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        check_period(strtoul(argv[1], NULL, 10));
    } else {
        void *chunk = malloc(1 << 20);
        CHECK(counters().allocations == 0, "recording is on");
        free(chunk);
    }
    return 0;
}
