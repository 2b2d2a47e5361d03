"""The allocators compared, and how each is put under a program."""
import dataclasses
import os

from .process import BenchFailure, find_library

REFERENCE = "mimalloc"
CONTROL = "again"  # the reference once more


@dataclasses.dataclass
class Variant:
    name: str
    library: str  # path to preload, empty for the C library's own malloc
    conf: str = ""

    def environment(self, folder):
        """Of a run that may leave something in a folder of its own."""
        settings = {}
        if self.library:
            settings["LD_PRELOAD"] = self.library
        if self.conf:
            settings["PROFALLOC_CONF"] = self.conf.format(folder=folder)
        return settings

    def leaves_trace(self):
        return TRACE in self.conf

    def provides(self, library_name):
        """Is this the library that a program under the variant says its malloc came from?"""
        if not self.library:
            return library_name.startswith("libc.")
        return os.path.basename(self.library) == library_name


def _built(relative):
    def locate(build_dir):
        path = build_dir / relative
        if not path.exists():
            raise BenchFailure(f"{path} is missing: build the project first")
        return str(path)
    return locate


def _installed(soname, package):
    def locate(_build_dir):
        path = find_library(soname)
        if path is None:
            raise BenchFailure(f"{soname} is missing: install {package}")
        return path
    return locate


# What the allocator itself costs; full recording with stacks and a trace is for bench/run capture.
RECORDS_ONLY = ",stack_depth:0,out:none"
# What one has in production: stacks, and a trace in the run's folder.
TRACE = ",out:{folder}/trace.pa"

# name: (what to preload, PROFALLOC_CONF); what to preload is found only when the variant is asked for
CATALOGUE = {
    "glibc": (lambda build_dir: "", ""),
    REFERENCE: (_built("bench/libmimalloc-bare.so"), ""),
    "jemalloc": (_installed("libjemalloc.so.2", "libjemalloc2"), ""),
    "tcmalloc": (_installed("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"), ""),
    # How far it strays from the reference is what the machine's noise makes of a ratio of 1.
    CONTROL: (_built("bench/libmimalloc-bare.so"), ""),
    "off": (_built("libprofalloc.so"), ""),
    "sampled": (_built("libprofalloc.so"), "prof:true,sample:512K" + TRACE),
    "full": (_built("libprofalloc.so"), "prof:true,sample:1" + RECORDS_ONLY),
}

# Of bench/run disk alone: the live table on the disk too, and everything recorded.
ON_DISK = {
    "beside": (_built("libprofalloc.so"), "prof:true,sample:512K,live:beside" + TRACE),
    "everything": (_built("libprofalloc.so"), "prof:true,sample:1" + TRACE),
}


def make_variants(build_dir, names):
    if REFERENCE not in names:
        raise BenchFailure(f"the variants must include {REFERENCE}: every ratio is to it")
    known = CATALOGUE | ON_DISK
    return [Variant(name, known[name][0](build_dir), known[name][1]) for name in names]
