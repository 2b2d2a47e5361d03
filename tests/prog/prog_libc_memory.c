/* Memory that the C library allocates for the program must come from the malloc whose free the program calls. */
#include "trap.h"

#include <dirent.h>
#include <glob.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <wchar.h>

static int any(const struct dirent *entry)
{
    (void)entry;
    return 1;
}

static void strings(void)
{
    char *text = NULL;
    size_t size = 0;
    CHECK(asprintf(&text, "%0*d", 5000, 7) == 5000 && strlen(text) == 5000 && malloc_usable_size(text) > 5000);
    char *copy = strdup(text);
    CHECK(strcmp(copy, text) == 0);
    free(text);
    text = strndup(copy, 300);
    CHECK(strlen(text) == 300);
    free(copy);
    wchar_t *wide = wcsdup(L"wide");
    CHECK(wcscmp(wide, L"wide") == 0);
    free(wide);
    FILE *stream = fmemopen(text, 300, "r");
    char *line = malloc(1); /* getline grows what it is given */
    size = 1;
    CHECK(getline(&line, &size, stream) == 300 && size > 300);
    fclose(stream);
    free(line);
    free(text);
    int *array = reallocarray(NULL, 100, sizeof *array);
    array = reallocarray(array, 100000, sizeof *array);
    CHECK(array != NULL && malloc_usable_size(array) >= 100000 * sizeof *array);
    free(array);
}

static void files(void)
{
    struct dirent **entries;
    glob_t paths;
    int count = scandir("/", &entries, any, alphasort);
    CHECK(count > 2);
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    char *here = getcwd(NULL, 0);
    char *real = realpath("/.", NULL);
    CHECK(here != NULL && strcmp(real, "/") == 0);
    free(here);
    free(real);
    CHECK(glob("/*", 0, NULL, &paths) == 0 && paths.gl_pathc > 2);
    globfree(&paths);
}

int main(void)
{
    regex_t regex;
    struct addrinfo *info;
    CHECK(setlocale(LC_ALL, "C.UTF-8") != NULL);
    strings();
    files();
    CHECK(regcomp(&regex, "^(a|b)*c{2,40}$", REG_EXTENDED) == 0 && regexec(&regex, "ababcc", 0, NULL, 0) == 0);
    regfree(&regex);
    CHECK(getaddrinfo("127.0.0.1", "80", NULL, &info) == 0);
    freeaddrinfo(info);
    CHECK(counters().bad_frees == 0);
    return 0;
}
