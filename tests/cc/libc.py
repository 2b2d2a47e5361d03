#!/usr/bin/env python3
"""Functions of libc that headers give other names: seen end to end."""
import json
import sys

from support import check, equal, tool
from wrapper import cc, environment, for_all, run

WIDE = r"""
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
void *volatile kept;
int main(int argc, char **argv)
{
    (void)argv;
    wchar_t text[8] = L"seven..";
    size_t count = (size_t)argc + 6;
    wchar_t *copy = malloc(4000), *moved = malloc(4004), *filled = malloc(4008), *string = malloc(4012);
    wmemcpy(copy, text, count);
    wmemmove(moved, text, count);
    wmemset(filled, L'x', count);
    wcscpy(string, text + argc);
    wchar_t *chunks[] = {copy, moved, filled, string};
    for (int i = 0; i < 4; i++) { kept = chunks[i]; free(kept); }
    return 0;
}
"""


def seen(work, program, *arguments, **options):
    """Reads, writes, first and last byte of the chunks of 4000 to 4049 bytes."""
    trace = work / "trace.pa"
    trace.unlink(missing_ok=True)
    variables = environment(PROFALLOC_CONF=f"prof:true,sample:1,out:{trace}")
    said = run([work / program, *arguments], env=variables, cwd=work, **options)
    rows = map(json.loads, tool("dump", "--json", "--events", trace)[0].splitlines())
    return said[0], {row["size"]: tuple(row[word] for word in ("reads", "writes", "low", "high"))
                     for row in rows if row["type"] in ("death", "live") and 4000 <= row["size"] < 4050}


def fortified_wide_functions(under, folder):
    for flags in (["-O0"], ["-O2"], ["-O2", "-D_FORTIFY_SOURCE=2"]):
        work = folder.new(main_c=WIDE)
        cc(under, *flags, "main.c", "-o", "program", cwd=work)
        equal(seen(work, "program")[1], {size: (0, 1, 0, 27) for size in (4000, 4004, 4008, 4012)}, f"{flags}")
    if under.clang:  # gcc is told to do without
        called = run(["nm", work / "program"])[0]
        for name in ("wmemcpy", "wmemmove", "wmemset", "wcscpy"):
            check(f"__wrap___{name}_chk" in called, f"__{name}_chk is not called: {called}")


TESTS = (fortified_wide_functions,)
if __name__ == "__main__":
    wanted = sys.argv[1:]
    for_all([test for test in TESTS if not wanted or test.__name__ in wanted])
