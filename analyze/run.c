/* Owns `profalloc run`: its command line, the library that is preloaded, and the environment it gets. */
#include "analyze/run.h"
#include "analyze/commands.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
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
    "  --conf LIST   further options of the library, as in PROFALLOC_CONF; see profalloc options\n"
    "  --list FILE   write the names of the traces to FILE, the command's own first\n\n"
    "A trace of the same name is replaced if the pattern has no %, and else left: the new one gets a number.\n\n"
    "Exit status: that of the command, 128 and the signal's number if a signal ended it, 127 if it was not found, 126 if it\n"
    "could not be executed; 1 if the library is not there, 2 if the command line was wrong.\n";

typedef struct run {
    char *pattern;
    const char *sample;
    const char *depth;
    const char *conf;
    const char *list;
    bool follow;
} run_t;

static char *keep_if_there(char *path)
{
    if (path != NULL && access(path, R_OK) == 0) {
        return path;
    }
    free(path);
    return NULL;
}

static char *glob_first(const char *pattern)
{
    glob_t found;
    char *path = NULL;
    if (glob(pattern, 0, NULL, &found) == 0) {
        path = found.gl_pathc != 0 ? strdup(found.gl_pathv[0]) : NULL;
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
        return keep_if_there(realpath(given, NULL));
    }
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0) {
        return NULL;
    }
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof places / sizeof places[0]; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", folder, places[i]) >= 0) {
            found = strchr(places[i], '*') != NULL ? glob_first(path) : keep_if_there(strdup(path));
            free(path);
        }
    }
    return found;
}

static bool is_number(const char *text, const char *units)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits;
    return digits != 0 && (*unit == '\0' || (strchr(units, toupper((unsigned char)*unit)) != NULL && unit[1] == '\0'));
}

/* Puts `name`=`first` and what was there before, with `between`. */
static bool set_variable(const char *name, const char *first, const char *between, bool in_front)
{
    const char *before = getenv(name);
    char *value = NULL;
    bool had = before != NULL && before[0] != '\0';
    if (asprintf(&value, "%s%s%s", in_front || !had ? first : before, had ? between : "",
                 !had       ? ""
                 : in_front ? before
                            : first) < 0) {
        return false;
    }
    bool done = setenv(name, value, 1) == 0;
    free(value);
    return done;
}

static bool set_environment(const run_t *run, const char *library)
{
    char *conf = NULL;
    if (asprintf(&conf, "prof:true,sample:%s,end:false,follow:%s%s%s,out:%s%s%s", run->sample,
                 run->follow ? "true" : "false", run->depth != NULL ? ",stack_depth:" : "",
                 run->depth != NULL ? run->depth : "", run->pattern, run->conf != NULL ? "," : "",
                 run->conf != NULL ? run->conf : "") < 0) {
        return false;
    }
    bool done = set_variable("LD_PRELOAD", library, ":", true) && set_variable("PROFALLOC_CONF", conf, ",", false);
    free(conf);
    return done;
}

/* Against the current folder: the command may change to another. */
static char *make_absolute(const char *pattern)
{
    char *whole = NULL;
    char *folder = pattern[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (asprintf(&whole, "%s%s%s", folder != NULL ? folder : "", folder != NULL ? "/" : "", pattern) < 0) {
        whole = NULL;
    }
    free(folder);
    return whole;
}

static const char *what_is_wrong(const run_t *run, const char *library)
{
    static char text[4400];
    if (!is_number(run->sample, "KMGT")) {
        return "--sample takes a number of bytes, such as 1 or 512K";
    }
    if (run->depth != NULL && !is_number(run->depth, "")) {
        return "--depth takes a number";
    }
    if (run->pattern == NULL || strchr(run->pattern, ',') != NULL) {
        return "the name of a trace can have no comma: the library's options are separated by them";
    }
    char *slash = strrchr(run->pattern, '/');
    char *folder = strndup(run->pattern, (size_t)(slash - run->pattern) + 1);
    bool there = folder != NULL && (strchr(folder, '%') != NULL || access(folder, W_OK | X_OK) == 0);
    snprintf(text, sizeof text, "traces cannot be written to %s: %s", folder != NULL ? folder : "", strerror(errno));
    free(folder);
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
    if (strchr(name, '%') == NULL && pfa_run_read_start(name, &start)) {
        (void)unlink(name);
    }
}

static int run_command(const run_t *run, char **command)
{
    char *library = pfa_run_library();
    const char *wrong = what_is_wrong(run, library);
    struct timespec now;
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
        clock_gettime(CLOCK_REALTIME, &now);
        replace_trace(run->pattern);
        status = pfa_run_child(command, !run->follow, &pid);
        if (pid != 0) {
            pfa_run_tell(run->pattern, pid, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, command[0],
                         run->list);
        }
    }
    free(library);
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
    run_t run = {.sample = "1", .follow = true};
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
        run.follow = option == 'f' || (option != 'n' && run.follow);
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return PFA_EXIT_USAGE;
    }
    run.pattern = make_absolute(pattern);
    int status = run_command(&run, argv + optind);
    free(run.pattern);
    return status;
}
