#!/usr/bin/env python3
"""How bench/run chooses repetitions, makes ratios and judges them, on made-up times: no clock is read here."""
import os
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("PROFALLOC_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from driver import alloc, alloc_report, capture_report  # noqa: E402
from driver.process import BenchFailure, Helper, Job, Outcome, run_in_turns  # noqa: E402
from driver.profilers import Missing  # noqa: E402


def samples(rss=100000, **seconds):
    """Rows of each variant, one for each repetition."""
    return {name: [{"seconds": t, "cpu_seconds": t, "peak_rss_kib": rss, "ops": 1} for t in times]
            for name, times in seconds.items()}


def verdicts(by_workload):
    names = list(next(iter(by_workload.values())))
    made = {workload: (9, 9) for workload in by_workload}
    return {row[0]: row for row in alloc_report.render(by_workload, made, names, 9, 1)[1].rows}


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
                                    "profile_bytes": 700}
                 for name, t in ns.items() for workload in ("deep", "deep2")} for p in pace]
        text, found = capture_report.render(self, (kept, (len(kept), len(kept))), [], {})
        return text, {row[0]: row for row in found.rows}


class Capture(unittest.TestCase):
    plain = {"glibc": 90.0, "mimalloc": 58.0, "again": 62.0, "sampled": 64.0}

    def test_added_time_is_over_what_a_profiler_replaces(self):
        _, judged = CaptureBench().judged(**self.plain, full=160.0, heaptrack=690.0)
        self.assertEqual(judged["full: ns added to a pair, 1 thread"][2:4], ("100", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep"][2:4], ("6.0", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep2"][2:4], ("6.0", "MISSED"))
        self.assertEqual(judged["full: bytes of trace per chunk"][2:4], ("7.00", "met"))

    def test_ratios_are_within_a_repetition(self):
        _, judged = CaptureBench().judged((1.0, 5.0, 2.0), **self.plain, full=160.0, heaptrack=690.0)
        self.assertEqual(judged["sampled: time, deep"][2:4], ("1.067", "met"))
        self.assertEqual(judged["heaptrack's added time to ours, deep"][2], "6.0")

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
