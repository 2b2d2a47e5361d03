#!/usr/bin/env python3
"""What headers of sanitizers declare for programs to call links, with each compiler, and does what can be done without them."""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support import check, equal, tool
from wrapper import cc, environment, for_all, run

HEADERS = ("common_interface_defs.h", "tsan_interface.h", "tsan_interface_atomic.h")
# Those that the program has and the sanitizer calls.
NOT_CALLED = re.compile(r"__sanitizer_weak_hook_|__sanitizer_return_address$")


def header_folder():
    """Of the newest clang that the tests know."""
    for clang in ("clang-16", "clang-14"):
        if shutil.which(clang):
            found = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
            if (Path(found) / "include/sanitizer" / HEADERS[0]).exists():
                return Path(found) / "include/sanitizer"
    raise SystemExit("there are no headers of sanitizers: install clang-16 and libclang-common-16-dev")


def declared(folder):
    """(name, number of parameters) of each function."""
    found = []
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / header).read_text(), flags=re.S)
        text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        for name, parameters in re.findall(r"\b(__(?:sanitizer|tsan)_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text):
            if not NOT_CALLED.match(name):
                found.append((name, 0 if parameters.strip() in ("", "void") else parameters.count(",") + 1))
    names = dict(found)
    check(len(names) > 100 and names["__sanitizer_start_switch_fiber"] == 3 and names["__sanitizer_set_death_callback"] == 1
          and names["__tsan_atomic128_load"] == 2, f"names in {folder}: {names}")
    return names


def all_declared(under, folder):
    headers = header_folder()
    calls = "\n".join(f"    if (argc > {100 + i}) (void){name}({', '.join('0' * count)});"
                      for i, (name, count) in enumerate(declared(headers).items()))
    source = "".join(f"#include <sanitizer/{name}>\n" for name in HEADERS)
    source += f"int main(int argc, char **argv)\n{{\n    (void)argv;\n{calls}\n    return 0;\n}}\n"
    for flags in (["-O0"], ["-O2"], ["-O2", "-static"], ["-O2", "-fsanitize=thread"]):
        work = folder.new(main_c=source)
        shutil.copytree(headers, work / "sanitizer")
        cc(under, *flags, "-Wall", "-Wno-nonnull", "-I.", "main.c", "-o", "program", cwd=work)
        run([work / "program"], env=environment())
    (work / "part.c").write_text(source.replace("main", "part"))
    cc(under, "-O1", "-I.", "-shared", "-fPIC", "-Wl,-z,defs", "part.c", "-o", "libpart.so", cwd=work)


ANSWERS = r"""
#include <sanitizer/common_interface_defs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MUST(x) do { if (!(x)) { printf("not so: %s\n", #x); exit(1); } } while (0)
static void dying(void) { puts("dying"); }
int main(void)
{
    char text[8] = "abcdefg", path[8] = "abcdefg";
    void *kept = text, *offset = 0;
    const void *bottom = text;
    size_t size = 5;
    __sanitizer_set_death_callback(dying);
    __sanitizer_set_report_path("/nowhere");
    __sanitizer_print_stack_trace();
    MUST(__sanitizer_acquire_crash_state() == 1 && __sanitizer_acquire_crash_state() == 0);
    __sanitizer_symbolize_pc(__sanitizer_return_address(), "%f", text, sizeof text);
    MUST(text[0] == '\0' && text[1] == 'b');
    __sanitizer_symbolize_global(text, "%g", 0, 0);
    MUST(!__sanitizer_get_module_and_offset_for_pc(__sanitizer_return_address(), path, sizeof path, &offset) && path[0] == '\0');
    __sanitizer_start_switch_fiber(&kept, text, sizeof text);
    __sanitizer_finish_switch_fiber(kept, &bottom, &size);
    MUST(!kept && !bottom && size == 0);
    __sanitizer_start_switch_fiber(0, text, sizeof text);
    __sanitizer_finish_switch_fiber(0, 0, 0);
    MUST(__sanitizer_verify_contiguous_container(text, text + 1, text + 2));
    MUST(!__sanitizer_contiguous_container_find_bad_address(text, text + 1, text + 2));
    char *chunk = malloc(4001);
    __sanitizer_unaligned_store16(chunk + 1, 0x1122);
    __sanitizer_unaligned_store32(chunk + 3, 0x33445566);
    __sanitizer_unaligned_store64(chunk + 7, 0x778899aabbccddee);
    MUST(__sanitizer_unaligned_load16(chunk + 1) == 0x1122 && __sanitizer_unaligned_load32(chunk + 3) == 0x33445566);
    MUST(__sanitizer_unaligned_load64(chunk + 7) == 0x778899aabbccddee);
    free(chunk);
    puts("done");
    return 0;
}
"""
# The program's own come first.
OWN = r"""
#include <stdio.h>
void __sanitizer_print_stack_trace(void);
void __sanitizer_print_stack_trace(void) { puts("own trace"); }
int __tsan_on_finalize(int failed);
int __tsan_on_finalize(int failed) { return failed + 1; }
"""


def answers(under, folder):
    for flags in (["-O0"], ["-O2"]):
        work = folder.new(main_c=ANSWERS, own_c=OWN)
        shutil.copytree(header_folder(), work / "sanitizer")
        cc(under, *flags, "-Wall", "-I.", "main.c", "-o", "program", cwd=work)
        out = run([work / "program"], env=environment(PROFALLOC_CONF="prof:true,sample:1,out:trace.pa"), cwd=work)[0]
        equal(out, "done\n", f"{flags}")
        rows = map(json.loads, tool("dump", "--json", "--events", work / "trace.pa")[0].splitlines())
        equal([tuple(row[word] for word in ("reads", "writes", "low", "high")) for row in rows
               if row["type"] in ("death", "live") and row["size"] == 4001], [(3, 3, 1, 14)], f"{flags}: accesses")
        cc(under, *flags, "-I.", "main.c", "own.c", "-o", "own", cwd=work)
        equal(run([work / "own"], env=environment())[0], "own trace\ndone\n", f"{flags}: the program's own")


TESTS = (all_declared, answers)
if __name__ == "__main__":
    wanted = sys.argv[1:]
    for_all([test for test in TESTS if not wanted or test.__name__ in wanted])
