/* Owns `profalloc run`: its command line, the library that is preloaded, and the environment it gets. */
#include "cli/run.h"
#include "analyze/base/memory.h"
#include "analyze/base/units.h"
#include "analyze/trace/livetable.h"
#include "analyze/trace/trace.h"
#include "cli/commands.h"
#include "cli/tool.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: profalloc run [-o PATTERN] [--sample N] [--depth N] [--follow|--no-follow] [--conf KEY:VALUE,...]\n"
    "                     [--list FILE] [--] COMMAND [ARGUMENT...]\n\n"
    "Runs the command on the allocator with chunks recorded, and tells where the trace is and what is in it.\n\n"
    "  -o PATTERN    the trace: %p stands for the process id, %e for the program, %t for the time; default %e.%p.pa\n"
    "  --sample N    mean bytes between two recorded chunks, K M G allowed; default 1, which records every chunk\n"
    "  --depth N     frames of stacks that are recorded\n"
    "  --follow      record fork children too, each in a trace of its own (the default); --no-follow: do not\n"
    "  --conf LIST   further options of the library, as in PROFALLOC_CONF; see profalloc options. Not prof, out, end and run,\n"
    "                which are for this command to set\n"
    "  --list FILE   write the names of the traces to FILE, the command's own first\n\n"
    "What PROFALLOC_CONF says goes before the defaults above, and what is given here before that.\n"
    "A trace of the same name is replaced if the pattern has no %, and else left: the new one gets a number.\n\n"
    "Exit status: that of the command, 128 and the signal's number if a signal ended it, 127 if it was not found, 126 if it\n"
    "could not be executed; 1 if the library is not there, 2 if the command line was wrong.\n";

typedef struct run {
    char *pattern;
    const char *sample; /* NULL: not given, as the next three */
    const char *depth;
    const char *follow;
    const char *conf;
    uint64_t number; /* that its traces have */
    const char *list;
    bool alone; /* nothing that the command begins is recorded */
} run_t;

static char *keep_if_there(char *path)
{
    if (path != NULL && access(path, R_OK) == 0) {
        return path;
    }
    pfa_memory_free(path);
    return NULL;
}

static char *glob_first(const char *pattern)
{
    glob_t found;
    char *path = NULL;
    if (glob(pattern, 0, NULL, &found) == 0) {
        path = found.gl_pathc != 0 ? pfa_memory_format("%s", found.gl_pathv[0]) : NULL;
        globfree(&found);
    }
    return keep_if_there(path);
}

/* Beside the tool in a build folder, or where it is installed with it. */
char *pfa_run_library(void)
{
    static const char *const places[] = {"libprofalloc.so", "../lib/libprofalloc.so", "../lib64/libprofalloc.so",
                                         "../lib/*/libprofalloc.so"};
    const char *given = getenv("PROFALLOC_LIB");
    char folder[4096];
    if (given != NULL && given[0] != '\0') {
        return realpath(given, folder) != NULL ? keep_if_there(pfa_memory_format("%s", folder)) : NULL;
    }
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0) {
        return NULL;
    }
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof places / sizeof places[0]; i++) {
        char *path = pfa_memory_format("%s/%s", folder, places[i]);
        found = strchr(places[i], '*') != NULL ? glob_first(path) : keep_if_there(pfa_memory_format("%s", path));
        pfa_memory_free(path);
    }
    return found;
}

/* What a list of options says of one of them, the last that it says; NULL for nothing. */
static const char *find_option(const char *conf, const char *key)
{
    const char *found = NULL;
    size_t length = strlen(key);
    while (conf != NULL && *conf != '\0') {
        const char *at = conf + strspn(conf, " \t\n,");
        if (strncmp(at, key, length) == 0) {
            const char *colon = at + length + strspn(at + length, " \t");
            found = *colon == ':' ? colon + 1 + strspn(colon + 1, " \t") : found;
        }
        conf = at + strcspn(at, ",\n");
    }
    return found;
}

static bool put_in_front(const char *name, const char *first)
{
    const char *before = getenv(name);
    bool had = before != NULL && before[0] != '\0';
    char *value = pfa_memory_format("%s%s%s", first, had ? ":" : "", had ? before : "");
    bool done = setenv(name, value, 1) == 0;
    pfa_memory_free(value);
    return done;
}

/* Of what is said twice the library takes the last: first our defaults, then what the caller has set, then the command line. */
static char *make_conf(const run_t *run)
{
    const char *set = getenv("PROFALLOC_CONF");
    bool has = set != NULL && set[0] != '\0';
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    /* A comment goes on to the end of its line. */
    fprintf(to, "sample:1,follow:true,%s%s", has ? set : "", !has ? "" : strchr(set, '#') != NULL ? "\n" : ",");
    fprintf(to, "prof:true,end:false,run:%" PRIu64 ",out:%s", run->number, run->pattern);
    const char *const given[][2] = {{"sample", run->sample}, {"stack_depth", run->depth}, {"follow", run->follow}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i][1] != NULL) {
            fprintf(to, ",%s:%s", given[i][0], given[i][1]);
        }
    }
    fprintf(to, "%s%s", run->conf != NULL ? "," : "", run->conf != NULL ? run->conf : "");
    return pfa_memory_stream_close(stream);
}

static bool set_environment(run_t *run, const char *library)
{
    char *conf = make_conf(run);
    run->alone = strncmp(find_option(conf, "follow"), "false", 5) == 0;
    bool done = put_in_front("LD_PRELOAD", library) && setenv("PROFALLOC_CONF", conf, 1) == 0;
    pfa_memory_free(conf);
    return done;
}

/* Against the current folder: the command may change to another. */
static char *make_absolute(const char *pattern)
{
    char room[PATH_MAX];
    const char *folder = pattern[0] != '/' ? getcwd(room, sizeof room) : NULL;
    return pfa_memory_format("%s%s%s", folder != NULL ? folder : "", folder != NULL ? "/" : "", pattern);
}

/* The library takes one letter behind a number of bytes, no fractions. */
static bool is_whole(const char *text, bool bytes, double *value)
{
    size_t digits = strspn(text, "0123456789");
    bool letter = text[digits] != '\0' && text[digits] != 'b' && text[digits] != 'B' && text[digits + 1] == '\0';
    return digits != 0 && (text[digits] == '\0' || (bytes && letter)) &&
           pfa_units_read(PFA_UNITS_BYTES, text, NULL, 0, HUGE_VAL, value);
}

/* An option of this command against what the library takes for its own. */
static const char *what_is_wrong_with(const char *option, const char *given, const char *name, bool bytes)
{
    static char text[200];
    double value;
    uint64_t minimum = 0;
    uint64_t maximum = UINT64_MAX;
    (void)pfa_option_limits(name, &minimum, &maximum);
    if (given == NULL || (is_whole(given, bytes, &value) && value >= (double)minimum && value <= (double)maximum)) {
        return NULL;
    }
    snprintf(text, sizeof text, "%s takes a number from %" PRIu64 " to %" PRIu64 "%s, not '%.40s'", option, minimum,
             maximum, bytes ? ", K M G T allowed" : "", given);
    return text;
}

/* What cannot be in --conf, since traces would not be found or have no end. */
static const char *what_is_wrong_with_conf(const char *conf)
{
    static const char *const others[][2] = {
        {"out", "--conf cannot set out: use -o PATTERN"},
        {"run", "--conf cannot set run: it tells this command's traces from those of others"},
        {"end", "--conf cannot set end: this command ends the traces itself, once the processes are gone"},
        {"prof",
         "--conf cannot set prof: this command is for recording; run the program without it to record nothing"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (find_option(conf, others[i][0]) != NULL) {
            return others[i][1];
        }
    }
    return NULL;
}

static const char *what_is_wrong(const run_t *run, const char *library)
{
    static char text[4400];
    const char *wrong = what_is_wrong_with("--sample", run->sample, "sample", true);
    wrong = wrong != NULL ? wrong : what_is_wrong_with("--depth", run->depth, "stack_depth", false);
    wrong = wrong != NULL ? wrong : what_is_wrong_with_conf(run->conf);
    if (wrong != NULL) {
        return wrong;
    }
    if (run->pattern == NULL || strchr(run->pattern, ',') != NULL) {
        return "the name of a trace can have no comma: the library's options are separated by them";
    }
    char *slash = strrchr(run->pattern, '/');
    char *folder = pfa_memory_copy(run->pattern, (size_t)(slash - run->pattern) + 1);
    bool there = strchr(folder, '%') != NULL || access(folder, W_OK | X_OK) == 0;
    snprintf(text, sizeof text, "traces cannot be written to %s: %s", folder, strerror(errno));
    pfa_memory_free(folder);
    if (!there) {
        return text;
    }
    if (library != NULL && strpbrk(library, ": \t\n") != NULL) {
        snprintf(text, sizeof text, "cannot preload %s: its name has a space or a colon", library);
        return text;
    }
    return NULL;
}

/* A name without a % is the same each time, and the last trace is what is meant by it. */
static void replace_trace(const char *name)
{
    pfa_trace_start_t start;
    if (strchr(name, '%') == NULL && pfa_trace_read_start(name, &start)) {
        pfa_livetable_t *table = NULL;
        struct stat status;
        char *live = pfa_memory_format("%s" PFA_LIVE_SUFFIX, name);
        if (stat(name, &status) == 0 && pfa_livetable_open(live, NULL, start.session, status.st_uid, &table) == 0) {
            (void)pfa_livetable_remove(table, live); /* a process that goes on with it keeps its memory */
            pfa_livetable_close(table);
        }
        pfa_memory_free(live);
        (void)unlink(name);
    }
}

static uint64_t random_number(void)
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
    }
    return number >> 2 | 1;
}

static void seal_ended(void *to)
{
    const run_t *run = to;
    pfa_run_seal_ended(run->pattern, run->number);
}

static int run_command(run_t *run, char **command)
{
    char *library = pfa_run_library();
    const char *wrong = what_is_wrong(run, library);
    run->number = random_number();
    pid_t pid = 0;
    int status = wrong != NULL ? PFA_EXIT_USAGE : PFA_EXIT_FAILED;
    if (wrong != NULL) {
        pfa_tool_say("run", "%s", wrong);
    } else if (library == NULL) {
        pfa_tool_say("run", "libprofalloc.so is neither beside this tool nor in the lib folder next to it; "
                            "PROFALLOC_LIB=PATH says where it is");
    } else if (!set_environment(run, library)) {
        pfa_tool_say("run", "cannot set the environment: %s", strerror(errno));
    } else {
        replace_trace(run->pattern);
        status = pfa_run_child(command, run->alone, seal_ended, run, &pid);
        if (pid != 0) {
            pfa_run_tell(run->pattern, pid, run->number, command[0], run->list);
        }
    }
    pfa_memory_free(library);
    return status;
}

int pfa_command_run(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"sample", required_argument, NULL, 's'},
                                            {"depth", required_argument, NULL, 'd'},
                                            {"follow", no_argument, NULL, 'f'},
                                            {"no-follow", no_argument, NULL, 'n'},
                                            {"conf", required_argument, NULL, 'c'},
                                            {"list", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    run_t run = {.pattern = NULL};
    const char *pattern = "%e.%p.pa";
    int option;
    while ((option = getopt_long(argc, argv, "+ho:", options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : PFA_EXIT_USAGE;
        }
        pattern = option == 'o' ? optarg : pattern;
        run.sample = option == 's' ? optarg : run.sample;
        run.depth = option == 'd' ? optarg : run.depth;
        run.conf = option == 'c' ? optarg : run.conf;
        run.list = option == 'l' ? optarg : run.list;
        run.follow = option == 'f' ? "true" : option == 'n' ? "false" : run.follow;
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return PFA_EXIT_USAGE;
    }
    run.pattern = make_absolute(pattern);
    int status = run_command(&run, argv + optind);
    pfa_memory_free(run.pattern);
    return status;
}
