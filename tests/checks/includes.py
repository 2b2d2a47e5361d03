#!/usr/bin/env python3
"""The include rules: which folder may know which, checked from the #include lines.

base <- meta <- alloc <- hooks, export beside them, export/format known to all and knowing nobody, hooks/cc on its own.

The analyses are a library of folders in one order, from the bottom up: base, trace, names, query, points, the analyses, draw, api;
cli/ is on top of them, beside api, which is for other programs. A folder includes from those below it, and never from one above. Of the
analyses, `advise`, `report` and `diff` know others; the rest are beside each other, as LAYERS says.
"""
import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))

# Folder -> the project folders it may include from, besides itself and export/format.
ALLOWED = {
    "base": set(),
    "meta": {"base"},
    "alloc": {"base", "meta"},
    "export": {"base", "meta"},
    "hooks": {"base", "meta", "alloc", "include"},
    "hooks/cc": set(),
    "include": set(),
}
# The library of analyses, from the bottom up; those of one line do not know each other.
LAYERS = [["base"], ["trace"], ["names"], ["query"], ["points"], ["leaks", "excess", "mprof", "timeline", "flame"], ["advise"],
          ["report", "diff"], ["draw"], ["api"]]
BELOW = set()
for layer in LAYERS:
    ALLOWED.update({f"analyze/{name}": set(BELOW) for name in layer})
    BELOW |= {f"analyze/{name}" for name in layer}
ALLOWED["analyze/api"].add("include")
ALLOWED["cli"] = BELOW - {"analyze/api"}
# Only the command line reads options, and only it ends the process or writes to its standard streams.
OF_THE_COMMAND_LINE = re.compile(r'\bgetopt(_long)?\s*\(|<getopt\.h>|\bSTD(IN|OUT|ERR)_FILENO\b|[^_\w]exit\s*\(|\b(stdout|stderr)\b|\bprintf\s*\(|\bputs\s*\(|\bputchar\s*\(')
# And only it asks about the process: the same question has the same answer whoever's terminal, locale or environment it is.
OF_THE_PROCESS = re.compile(r'\b(secure_)?getenv\s*\(|\b(un)?setenv\s*\(|\bputenv\s*\(|\bclearenv\s*\(|\benviron\b|\bisatty\s*\(|\bTIOCGWINSZ\b|\bsetlocale\s*\(')
# libdebuginfod takes its servers from the environment alone: they are put there in a child process.
SETS_FOR_A_CHILD = "analyze/names/debuginfod.c"
# What may not be reported otherwise: work that is left outside of any work.
MAY_END = "analyze/base/memory.c"

# hooks is the composition root, but only these files of it know the writer.
KNOW_THE_WRITER = re.compile(r"hooks/(init|process|exec|fork|exit|api|unload)\w*\.[ch]$")

# What export/format, the one copy both sides compile, may include besides itself.
FORMAT_STANDARD_HEADERS = {"stdint.h", "stddef.h", "stdbool.h"}

# The one file that includes mimalloc; it sends mimalloc's system calls and stdio to the floor, so it names them.
MIMALLOC_FILE = "alloc/backing.c"
# The folder that owns the kernel's interface, and what gives away a call that goes around it.
SYSCALL_FOLDER = "base"
RAW_SYSCALL = re.compile(r'sys/syscall\.h|asm/unistd\.h|\bsyscall\s*\(|"\s*syscall\b|\bsvc\s+#?0')

# The runtime has no stdio and no C++ library. malloc_info(3) takes a FILE, so one file must know the type.
MALLOC_INFO_FILE = "hooks/introspect.c"
FORBIDDEN_IN_RUNTIME = {"stdio.h", "wchar.h", "iostream", "string", "vector"}
RUNTIME = {"base", "meta", "alloc", "export", "hooks"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def folder_of(path):
    """The unit of the rules a project path belongs to."""
    for unit in ("export/format", "hooks/cc"):
        if path.startswith(unit + "/"):
            return unit
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "analyze" else parts[0]


def resolve(including, name):
    """The project path an include names, or None for a header of the system."""
    for candidate in (Path(including).parent / name, Path(name), Path("include") / name):
        candidate = Path(os.path.normpath(candidate))
        if (ROOT / candidate).is_file() and (folder_of(str(candidate)) in set(ALLOWED) | {"export/format"} or str(candidate).startswith("analyze/")):
            return str(candidate)
    return None


def may_include(path, target):
    ours, theirs = folder_of(path), folder_of(target)
    if theirs in (ours, "export/format"):
        return True
    if ours == "export/format":
        return False
    if ours == "hooks" and theirs == "export":
        return bool(KNOW_THE_WRITER.search(path))
    return theirs in ALLOWED[ours]


def check_file(path):
    """Yields a sentence for every broken rule in one file."""
    text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), (ROOT / path).read_text())
    folder = folder_of(path)
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
        target = resolve(path, name)
        if "mimalloc" in name or name.endswith("static.c"):
            if path != MIMALLOC_FILE:
                yield f"{where}: mimalloc is included by {MIMALLOC_FILE} and nobody else"
        elif target and folder not in ALLOWED and folder != "export/format":
            yield f"{where}: the folder {folder} has no place in the order of folders"
        elif target:
            if not may_include(path, target):
                yield f"{where}: {folder} must not include {target}"
        elif path == MIMALLOC_FILE:
            continue
        elif quote == '"':
            yield f'{where}: "{name}" is no file of the project (write <...> for system headers)'
        elif folder == "export/format" and name not in FORMAT_STANDARD_HEADERS:
            yield f"{where}: export/format includes only {', '.join(sorted(FORMAT_STANDARD_HEADERS))}"
        elif folder in RUNTIME and name in FORBIDDEN_IN_RUNTIME and path != MALLOC_INFO_FILE:
            yield f"{where}: the runtime does not use <{name}>"
    if folder.startswith("analyze/") and path != MAY_END and (found := OF_THE_COMMAND_LINE.search(code := LITERAL.sub('""', text))):
        yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: {found.group().strip()} is for cli/ alone"
    if folder.startswith("analyze/") and (found := OF_THE_PROCESS.search(code := LITERAL.sub('""', text if path != SETS_FOR_A_CHILD else re.sub(r"\bsetenv\b", "", text)))):
        yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: {found.group().strip()} asks about the process, which is for cli/ alone"
    if folder != SYSCALL_FOLDER and path != MIMALLOC_FILE and (raw := RAW_SYSCALL.search(text)):
        yield f"{path}:{text.count(chr(10), 0, raw.start()) + 1}: system calls are made in {SYSCALL_FOLDER}/ only"


def sources():
    for folder in sorted({folder.split("/")[0] for folder in ALLOWED}):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cpp", ".hpp", ".def", ".inc"):
                yield str(path.relative_to(ROOT))


def main():
    files = list(sources())
    if not files:
        sys.exit(f"no sources under {ROOT}")
    broken = [line for path in files for line in check_file(path)]
    for line in broken:
        print(line)
    print(f"{len(files)} files, {len(broken)} broken include rules")
    sys.exit(bool(broken))


main()
