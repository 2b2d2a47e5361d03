"""glibc's own tests of malloc (malloc/tst-*.c of Debian's source package) with the library preloaded: see foreign.py, and
glibc_malloc.list for how each of them ends and why.

They are compiled outside of glibc's tree, with the support code that they bring along, as programs of the C library that is
installed."""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import foreign

SOURCE = foreign.ROOT / "third_party" / "glibc"
FLAGS = ["-std=gnu11", "-O2", "-g", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-include", foreign.HERE / "glibc_malloc_shim.h",
         "-I", SOURCE, "-I", SOURCE / "support", "-I", SOURCE / "sysdeps" / "generic", "-idirafter", SOURCE / "include"]

# What the tests call of glibc's support, and of its inner functions that are built on malloc.
SUPPORT = """check ignore_stderr oom_error support_capture_subprocess support_paths support_quote_blob support_record_failure
support_shared_allocate support_subprocess support_test_compare_blob support_test_compare_failure support_test_main
support_test_verify_impl temp_file write_message xasprintf xcalloc xchdir xclose xdup2 xfclose xfopen xfork xmalloc xmemstream xmmap
xmunmap xopen xpipe xpoll xposix_spawn xposix_spawn_file_actions_addclose xposix_spawn_file_actions_adddup2 xpthread_barrier_destroy
xpthread_barrier_init xpthread_barrier_wait xpthread_barrierattr_destroy xpthread_barrierattr_init xpthread_barrierattr_setpshared
xpthread_check_return xpthread_create xpthread_join xpthread_kill xsignal xstrdup xsysconf xwaitpid""".split()
INNER = """dynarray_at_failure dynarray_emplace_enlarge dynarray_finalize dynarray_resize dynarray_resize_clear scratch_buffer_grow
scratch_buffer_grow_preserve scratch_buffer_set_array_size alloc_buffer_alloc_array alloc_buffer_allocate alloc_buffer_copy_bytes
alloc_buffer_copy_string alloc_buffer_create_failure""".split()

# Settings of single tests, as malloc/Makefile has them where they are not glibc's own tunables; and other files they are linked with.
ALSO_LINKED = {"tst-interpose-nothread": "tst-interpose-aux-nothread", "tst-interpose-thread": "tst-interpose-aux-thread"}
# What is changed in tests, one place in each; the list says why.
OTHERWISE = {"tst-malloc-thread-fail": ("if (posix_memalign (&p, alignment, allocation_size))",
                                        "if ((errno = posix_memalign (&p, alignment, allocation_size)) != 0)"),
             "tst-malloc-stats-cancellation": ('"max mmap bytes"', '"max mmap bytes") && !strstr (obuf, "this thread uses"')}
FEWER = {"tst-mallocfork2": ("iterations = 10000", "iterations = 1000"), "tst-mallocfork3": ("iterations = 10000", "iterations = 1000"),
         "tst-malloc-tcache-leak": ("int threads = 100000;", "int threads = 10000;"),
         "tst-malloc-too-large": ("((1UL << 14) - 1)", "((1UL << 9) - 1)")}
MUST_ABORT = {"tst-tcfree1", "tst-tcfree2"}
FACTOR = "10"  # by which glibc's test driver waits longer than usual before it calls a test hung


def compile_object(source, folder):
    made = folder / f"{source.parent.name}-{source.stem}.o"
    inner = ["-DPFA_INSIDE_LIBC", "-I", source.parent] if source.parent.name == "malloc" else []
    foreign.build(["gcc", *FLAGS, *inner, "-c", source, "-o", made], source.name)
    return made


def make_support(folder):
    sources = [SOURCE / "support" / f"{name}.c" for name in SUPPORT] + [SOURCE / "malloc" / f"{name}.c" for name in INNER]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: compile_object(source, folder), sources))
    archive = folder / "libsupport.a"
    foreign.build(["ar", "rcs", archive, *objects], "glibc's test support")
    return archive


def make_test(name, folder, archive):
    program, source = folder / name, SOURCE / "malloc" / f"{name}.c"
    if name in FEWER or name in OTHERWISE:
        old, new = {**FEWER, **OTHERWISE}[name]
        text = source.read_text()
        if text.count(old) != 1:
            sys.exit(f"{source} is not as expected: there is no one '{old}'")
        source = folder / source.name
        source.write_text(text.replace(old, new))
    also = [SOURCE / "malloc" / f"{ALSO_LINKED[name]}.c"] if name in ALSO_LINKED else []
    foreign.build(["gcc", *FLAGS, source, *also, "-o", program, archive, "-lpthread"], name)
    return program


def check_list(entries):
    """Each test that glibc has is in the list."""
    there = {path.stem for path in (SOURCE / "malloc").glob("tst-*.c")}
    listed = {entry.name for entry in entries}
    if there != listed:
        sys.exit(f"glibc_malloc.list: not in it: {sorted(there - listed)}; in it and not there: {sorted(listed - there)}")


def main(scratch):
    entries = foreign.read_list(foreign.HERE / "glibc_malloc.list", {*FEWER, *OTHERWISE})
    check_list(entries)
    folder = scratch / "programs"
    folder.mkdir()
    archive = make_support(folder)
    wanted = [entry.name for entry in entries if set(entry.expected.values()) != {"out"}]
    with ThreadPoolExecutor(2) as pool:
        programs = dict(zip(wanted, pool.map(lambda name: make_test(name, folder, archive), wanted)))
    settings = {"more": {"TIMEOUTFACTOR": FACTOR}, "limit": 240}
    strict = {**settings, "conf": "abort:true"}
    return foreign.run_list(entries, scratch,
                            lambda entry: ([programs[entry.name]], strict if entry.name in MUST_ABORT else settings))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
