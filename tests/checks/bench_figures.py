#!/usr/bin/env python3
"""How bench/run chooses repetitions, makes ratios and judges them, on made-up times: no clock is read here."""
import os
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from driver import access, alloc, alloc_report, capture_report, instrumented, leveldb, memcached, memoro, report  # noqa: E402
from driver.process import BenchFailure, Helper, Job, Outcome, run_in_turns  # noqa: E402
from driver.profilers import Missing  # noqa: E402


def samples(rss=100000, **seconds):
    """Rows of each variant, one for each repetition."""
    return {name: [{"seconds": t, "cpu_seconds": t, "peak_rss_kib": rss, "ops": 1} for t in times]
            for name, times in seconds.items()}


def verdicts(by_workload, **groups):
    names = list(next(iter(by_workload.values())))
    made = {workload: (9, 9) for workload in by_workload}
    return {row[0]: row for row in alloc_report.render(by_workload, made, dict.fromkeys(by_workload, "") | groups, names, 9, 1)[1].rows}


class Repetitions(unittest.TestCase):
    def test_slow_ones_are_left_out(self):
        taken = samples(mimalloc=[1.0, 1.05, 1.5, 1.09, 1.2], again=[1.0, 1.05, 1.5, 1.09, 1.2])
        self.assertEqual(alloc.undisturbed(taken, 2), (3, [0, 1, 3]))

    def test_the_least_disturbed_make_up_the_number(self):
        taken = samples(mimalloc=[1.0, 1.6, 1.5, 1.4, 1.2], again=[1.0, 1.6, 1.5, 1.4, 1.2])
        self.assertEqual(alloc.undisturbed(taken, 3), (1, [0, 3, 4]))

    def test_both_runs_of_the_reference_decide(self):
        taken = samples(mimalloc=[1.0, 1.0, 1.0], again=[1.0, 1.3, 1.1])
        self.assertEqual(alloc.undisturbed(taken, 1), (2, [0, 2]))

    def test_the_other_variants_have_no_say(self):
        steady = {"mimalloc": [1.0, 1.02, 1.3], "again": [1.0, 1.02, 1.3]}
        fast, slow = samples(**steady, full=[1.0, 1.0, 1.0]), samples(**steady, full=[9.0, 1.0, 1.0])
        self.assertEqual(alloc.undisturbed(fast, 2), alloc.undisturbed(slow, 2))


class Ratios(unittest.TestCase):
    def test_are_within_a_repetition(self):
        """A machine that is three times as slow in some repetitions changes nothing."""
        pace = [1.0, 3.0, 1.0, 3.0, 1.0]
        taken = samples(mimalloc=pace, again=pace, off=[1.04 * p for p in pace])
        row = verdicts({"churn": taken})["off: time, each workload"]
        self.assertEqual(row[2:4], ("1.040", "met"))

    def test_the_worst_workload_is_judged_and_named(self):
        good = samples(mimalloc=[1.0] * 5, again=[1.0] * 5, off=[1.0] * 5, sampled=[1.05] * 5, full=[1.5] * 5)
        bad = samples(mimalloc=[1.0] * 5, again=[1.0] * 5, off=[1.06] * 5, sampled=[1.07] * 5, full=[1.61] * 5)
        judged = verdicts({"churn": good, "server": bad})
        for name, measured in (("off", "1.060"), ("sampled", "1.070"), ("full", "1.610")):
            self.assertEqual(judged[f"{name}: time, each workload"][2:5], (measured, "MISSED", "server"))
        self.assertEqual(judged["off: time, geometric mean"][2:4], ("1.030", "MISSED"))
        self.assertTrue(all(row[3] == "met" for row in verdicts({"churn": good}).values()))

    def test_only_sampled_is_judged_in_a_group(self):
        good = samples(mimalloc=[1.0] * 5, again=[1.0] * 5, off=[1.0] * 5, sampled=[1.05] * 5, full=[1.5] * 5)
        bad = samples(mimalloc=[1.0] * 5, again=[1.0] * 5, off=[1.2] * 5, sampled=[1.07] * 5, full=[7.4] * 5)
        judged = verdicts({"churn": good, "tight": bad}, tight="neutral")
        self.assertEqual(judged["sampled: time, each workload"][2:5], ("1.070", "MISSED", "tight"))
        self.assertEqual(judged["off: time, each workload"][2:4], ("1.000", "met"))
        self.assertEqual(judged["off: time, geometric mean"][2:4], ("1.000", "met"))
        self.assertEqual(judged["full: time, each workload"][2:4], ("1.500", "met"))
        self.assertEqual(list(verdicts({"tight": bad}, tight="neutral")), ["sampled: time, each workload"])

    def test_peak_memory_has_a_limit(self):
        for rss, verdict in ((105000, "met"), (105100, "MISSED")):  # 1.03 times 100000 and 2048
            taken = samples(mimalloc=[1.0], again=[1.0])
            taken["off"] = samples(rss, off=[1.0])["off"]
            self.assertEqual(verdicts({"churn": taken})["off: peak RSS, each workload"][3], verdict)


class Pauses(unittest.TestCase):
    def test_are_not_counted(self):
        outcome = Outcome([], {}, "", 0, 0, 0, 0, [(0.0, 1.5), (2.0, 3.0), (3.5, 9.0)])
        self.assertAlmostEqual(outcome.running_between(1.0, 4.0), 1.0)  # 1.5 to 2 and 3 to 3.5
        self.assertAlmostEqual(outcome.running_between(1.6, 1.9), 0.3)


class CaptureBench:
    """As much of a run of bench/run capture as its report needs; times per pair of one repetition are given by name."""
    runs, scale, parts, programs = 5, 1, {"churn"}, {}

    def __init__(self, heaptrack=True):
        bases = {"glibc": None, "mimalloc": None, "again": None, "sampled": "mimalloc", "full": "mimalloc",
                 "heaptrack": "glibc"}
        self.profilers = {name: type("Profiler", (), {"name": name, "base": base}) for name, base in bases.items()}
        if not heaptrack:
            self.profilers["heaptrack"] = Missing("heaptrack")

    def missing(self):
        return {name: str(what) for name, what in self.profilers.items() if isinstance(what, Missing)}

    def judged(self, pace=(1.0,), **ns):
        kept = [{(workload, name): {"ns": p * t, "own_ns": p * t, "cpu_ns": p * t, "chunks": 100, "folded": 0,
                                    "profile_bytes": 400}
                 for name, t in ns.items() for workload in ("deep", "deep2")} for p in pace]
        text, found = capture_report.render(self, (kept, (len(kept), len(kept))), [], {})
        return text, {row[0]: row for row in found.rows}


class Capture(unittest.TestCase):
    plain = {"glibc": 90.0, "mimalloc": 58.0, "again": 62.0, "sampled": 64.0}

    def test_added_time_is_over_what_a_profiler_replaces(self):
        _, judged = CaptureBench().judged(**self.plain, full=140.0, heaptrack=570.0)
        self.assertEqual(judged["full: ns added to a pair, 1 thread"][2:4], ("80", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep"][2:4], ("6.0", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep2"][2:4], ("6.0", "MISSED"))
        self.assertEqual(judged["full: bytes of trace per chunk"][2:4], ("4.00", "met"))

    def test_ratios_are_within_a_repetition(self):
        _, judged = CaptureBench().judged((1.0, 5.0, 2.0), **self.plain, full=140.0, heaptrack=570.0)
        self.assertEqual(judged["sampled: time, deep"][2:4], ("1.067", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep"][2], "6.0")

    def test_programs_are_held_to_the_time_on_glibc(self):
        for seconds, verdict in ((1.25, "met"), (1.26, "MISSED")):
            row = {"peak_kib": 1, "profile_bytes": 1, "chunks": 1}
            found = [{"glibc": {"seconds": p, **row}, "full": {"seconds": p * seconds, **row},
                      "heaptrack": {"seconds": p * 9, **row}} for p in (1.0, 3.0)]
            judged = capture_report.render(CaptureBench(), ([], (0, 0)), {}, {"sqlite3": found})[1].rows
            self.assertIn(("full: sqlite3's time to that on glibc", "1.25", f"{seconds:.2f}", verdict, ""), judged)

    def test_a_missing_peer_has_a_row_and_meets_nothing(self):
        text, judged = CaptureBench(heaptrack=False).judged(**self.plain, full=160.0)
        self.assertIn("missing: install heaptrack", text)
        self.assertEqual(judged["heaptrack's added time to ours, deep"][3], "MISSED")

    def test_a_fold_misses_the_writers_target(self):
        def rows(rate, *folded):
            return [{"deaths_per_second": rate, "folded": n, "chunks": 9, "own_ns": 1.0} for n in folded]

        for writer, verdict in (({3e6: rows(2.9e6, 0, 0), 0: rows(9e6, 0, 1)}, "MISSED"),
                                ({3e6: rows(3e6, 0, 0), 0: rows(9e6, 0, 1)}, "met")):
            found = capture_report.render(CaptureBench(), ([], (0, 0)), writer, {})[1]
            self.assertEqual([row[3] for row in found.rows], [verdict])


GCC, CLANG = instrumented.Compiler("gcc", "gcc", "g++"), instrumented.Compiler("clang", "clang-16", "clang++-16")


def memoro_rounds(loads, costs, pace=(1.0,), **more):
    """costs: (compiler, how, way) -> time. Rounds of all variants, of which the others take as long as the plain one."""
    builds = instrumented.all_builds(GCC, CLANG)
    rounds = memoro.Rounds([v for build in builds for v in instrumented.variants_of(build)], loads)
    for (load, name), rows in rounds.rows.items():
        variant = next(v for v in rounds.variants if v.name == name)
        cost = costs.get((variant.build.compiler.name, variant.build.how, variant.way), 1.0)
        rows += [{"micros": p * cost, "cpu_micros": p * cost, "throughput": 1 / (p * cost), "peak_rss_kib": 1024,
                  "busy": 1.0, **more.get(load, {})} for p in pace]
    return rounds


FULLS = {("clang", "pass", "full"): 2.0, ("gcc", "flags", "full"): 2.9, ("clang", "flags", "full"): 2.7,
         ("clang", "pass", "sampled"): 1.3, ("gcc", "empty", "glibc"): 1.5, ("gcc", "flags", "sampled"): 1.6,
         ("clang", "empty", "glibc"): 1.5, ("clang", "flags", "sampled"): 1.65}


class Instrumented(unittest.TestCase):
    def judged(self, costs, **rest):
        verdicts = report.Verdicts()
        memoro.judge(memoro_rounds(["fillseq"], costs, **rest), "fillseq", "micros", leveldb.LIMITS, verdicts, "")
        return [(row[0], *row[2:5]) for row in verdicts.rows]

    def test_goals_of_leveldb(self):
        found = self.judged(FULLS)
        self.assertEqual(found, [
            ("pass, full", "2.000", "met", "fillseq"),
            ("flags, full, better compiler", "2.700", "met", "fillseq, clang"),
            ("flags, full, other compiler", "2.900", "met", "fillseq, gcc"),
            ("pass, sampled", "1.300", "MISSED", "fillseq"),
            ("flags, sampled, over empty callbacks", "1.067", "met", "fillseq, gcc"),
            ("flags, sampled, over empty callbacks", "1.100", "MISSED", "fillseq, clang")])

    def test_ratios_are_within_a_round(self):
        self.assertEqual(self.judged(FULLS), self.judged(FULLS, pace=(1.0, 7.0, 2.0, 0.5)))

    def test_the_mean_of_both_plain_runs_is_the_reference(self):
        found = self.judged({("clang", "plain", "again"): 3.0, ("clang", "pass", "full"): 2.0})
        self.assertEqual(found[0][1], "1.000")

    def test_what_was_not_built_meets_nothing(self):
        rounds = memoro_rounds(["fillseq"], FULLS)
        rounds.variants = [v for v in rounds.variants if v.build.how != "pass"]
        verdicts = report.Verdicts()
        memoro.judge(rounds, "fillseq", "micros", leveldb.LIMITS, verdicts, "missing: no pass")
        self.assertEqual([row[2:4] for row in verdicts.rows if row[0].startswith("pass")],
                         [("missing: no pass", "MISSED")] * 2)

    def test_published_rows_stand_beside_ours(self):
        text = memoro.published_table("leveldb", memoro_rounds(["fillseq"], FULLS), "fillseq", "micros", "throughput")
        for row in (r"Memoro: unmodified +\| 55.5 +\| +1 ", r"Memoro: full, lock-free secondary allocator +\| +4.1 \| +13.5 ",
                    r"clang, pass: full collection +\| +0.5 \| +2.00 "):
            self.assertRegex(text, row)

    def test_each_round_has_the_next_layout_and_the_same_for_all_builds(self):
        builds = [instrumented.Build(instrumented.Compiler(name, name, name), "plain") for name in ("gcc", "clang")]
        for runs, expected in ((3, [0, 1, 2]), (10, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1])):
            programs = instrumented.Programs(runs)
            for build in builds:
                programs.add(build, [f"{build.name}-{layout}" for layout in range(programs.layouts)])
            for build in builds:
                self.assertEqual([programs.path(build, number) for number in range(runs)],
                                 [f"{build.name}-{layout}" for layout in expected])

    def test_output_of_db_bench(self):
        said = "Entries: 5\nfillseq      :       1.978 micros/op;   55.9 MB/s\nreadrandom   :   4.6 micros/op; (6 of 9 found)\n"
        self.assertEqual(leveldb.parse_output(said), {"fillseq": (1.978, 55.9), "readrandom": (4.6, None)})

    def test_a_load_that_leaves_the_server_idle_is_judged_by_processor_time(self):
        rounds = memoro_rounds(["memcaslap", "get-heavy"], {}, **{"get-heavy": {"busy": 0.9, "cpu_micros": 1.0}})
        self.assertEqual(memcached.choose_costs(rounds), {"memcaslap": "micros", "get-heavy": "cpu_micros"})
        text, _ = memcached.render(rounds, [])
        self.assertIn("memcaslap: throughput; get-heavy: processor time per operation", text)


class Access(unittest.TestCase):
    def test_the_larger_difference_to_an_empty_callback_is_judged(self):
        for busy, verdict in ((3.4, "met"), (3.6, "MISSED")):
            verdicts = report.Verdicts()
            access.callback_table([({("stack", 9): (1.0, busy)}, {("stack", 9): (1.0, 1.0)})], verdicts)
            self.assertEqual(verdicts.rows[0][3], verdict)

    def test_buffers_are_not_of_the_chunks(self):
        def row(before, after):
            return {"chunks": "1024", "rss_before": str(before), "rss_after": str(after)}

        verdicts = report.Verdicts()
        text = access.memory_table([(row(5000, 5164), row(1000, 1100))], verdicts)
        self.assertEqual(verdicts.rows[0][2:4], ("64.0", "met"))
        self.assertRegex(text, r"one chunk live, MiB +\| +- \| +3.9 ")


class Helpers(unittest.TestCase):
    def test_feed_each_other_and_are_waited_for(self):
        helpers = [Helper(["sh", "-c", "sleep 0.1; echo one"], feeds_next=True), Helper(["sh", "-c", "cat; echo two"])]
        outcome = run_in_turns([Job(["true"], {}, helpers=helpers)])[0]
        self.assertEqual(outcome.helper_stdout, "one\ntwo")
        self.assertGreater(outcome.wall, 0.1)

    def test_one_that_fails_fails_the_run(self):
        with self.assertRaises(BenchFailure):
            run_in_turns([Job(["true"], {}, helpers=[Helper(["false"])])])


if __name__ == "__main__":
    unittest.main(verbosity=2)
