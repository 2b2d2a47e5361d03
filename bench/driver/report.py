"""Raw rows, tables, verdicts: what all benches share in saying what they found."""
import datetime
import json
import math
import os
import pathlib
import platform


def machine():
    """What a reader needs to judge the figures by."""
    model = platform.processor() or platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "CPU part")):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "processor": model,
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load": os.getloadavg(),
    }


class RawRows:
    """JSON lines under build/bench/results, written as they come so that a run cut short leaves what it had."""

    def __init__(self, build_dir, bench):
        folder = build_dir / "bench" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        self.path = folder / f"{bench}-{stamp}.jsonl"
        self._file = open(self.path, "w", encoding="utf-8")

    def add(self, row):
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(math.log(value) for value in values) / len(values))


def table(head, rows):
    """A Markdown table, first column to the left and the others to the right, padded so that it reads as text too."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]

    def line(row):
        padded = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "| " + " | ".join(padded) + " |"

    return "\n".join([line(cells[0]), "| " + " | ".join(rule) + " |", *map(line, cells[1:])])


class Verdicts:
    """Targets against what was measured."""

    def __init__(self):
        self.rows = []

    def add(self, target, limit, measured, met, where=""):
        self.rows.append((target, limit, measured, "met" if met else "MISSED", where))

    def missed(self):
        return any(row[3] != "met" for row in self.rows)

    def table(self):
        return table(["target", "limit", "measured", "verdict", "where"], self.rows)


def publish(text, raw_path, out=None):
    """Prints the report, keeps it beside the raw rows, and writes it where asked."""
    print(text)
    print(f"\nRaw rows: {raw_path}")
    raw_path.with_suffix(".md").write_text(text + "\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n")
