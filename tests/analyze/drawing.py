#!/usr/bin/env python3
"""Charts and flame graphs of hostile and extreme figures: well-formed, complete, of bounded size, and the same each time."""
import os
import random
import re
import subprocess

import pictures
import support
from pictures import SVG
from support import check, equal

MAKER = os.path.join(os.environ["PROFALLOC_BUILD_DIR"], "tests/analyze/make_pictures")
HOSTILE = ["<script>alert(1)</script>", "]]><x/>", "a&b;c\"d'e", "\x1b[31mred\x07\x7f", "new\nline\ttab", "operator<<(std::ostream&, T const&)",
           "\udcff\udc80broken", "\u202eturned", "\uffff\ufffe", "\u2028\u2029", "é µ 漢字 \U0001f600", "x" * 5000, "", " ", "';drop", "\\u003c\\"]


def draw(what, form, lines, width=80):
    told = "".join("".join(str(field) + "\x01" for field in line) + "\x02" for line in lines)
    done = subprocess.run([MAKER, what, form, str(width)], input=told.encode("utf-8", "surrogateescape"), capture_output=True)
    check(done.returncode == 0, f"{what} {form}: status {done.returncode} {done.stderr[-2000:]}")
    return done.stdout.decode("utf-8")


def shown(name):
    """A name as pictures have it: what cannot be shown is a replacement character."""
    bad = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\udc80-\udcff]")
    return bad.sub("\ufffd", name)


def area_of(names, count=50, seed=1):
    source = random.Random(seed)
    return [[i * 0.1 for i in range(count)]] + [[name] + [source.randrange(10**6) for _ in range(count)] for name in names]


def check_text(text, width, ascii_only):
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    check("\x1b" not in bare and "\x07" not in bare and "\x7f" not in bare, "a control character went through")
    for line in bare.split("\n"):
        check(len(line) <= width, f"{len(line)} columns of {width}: {line}")
    if ascii_only:
        check(bare.isascii(), f"not ASCII: {[c for c in bare if not c.isascii()][:5]}")


def hostile_names(folder):
    charts = {"area": area_of(HOSTILE + ["other", "most"]), "lines": area_of(HOSTILE),
              "scatter": [[10**i, 10**-i, name, name if i % 2 else ""] for i, name in enumerate(HOSTILE)],
              "bars": [[name, 10**i, i % 2] for i, name in enumerate(HOSTILE)]}
    for what, lines in charts.items():
        root = pictures.read(draw(what, "svg", lines))
        told = "\n".join(pictures.titles(root))
        for name in HOSTILE[:7]:
            check(shown(name) in told, f"{what}: {name!r} is not told")
        for width in (40, 80, 200):
            check_text(draw(what, "ascii", lines, width), width, True)
            check_text(draw(what, "utf8", lines, width), width, False)
            check_text(draw(what, "colour", lines, width), width, False)
        check("\x1b" not in draw(what, "utf8", lines), "colours where there are none")
        equal(draw(what, "svg", lines), draw(what, "svg", lines), f"{what} drawn twice")


def extreme_figures(folder):
    odd = [0, -1, "nan", "inf", "-inf", 1e-300, 1e300, 1, 2**63, 1e-9]
    for values in (odd, [0] * 10, ["nan"] * 10, [1e300] * 10, [5], []):
        times = list(range(len(values)))
        for form in ("svg", "ascii", "utf8", "colour"):
            for what in ("area", "lines"):
                text = draw(what, form, [times, ["a"] + values, ["b"] + values])
                check(not re.search(r"\b(nan|inf)\b", re.sub(r"<title>.*?</title>", "", text, flags=re.S)), f"{what} {form}: {text}")
                if form == "svg":
                    pictures.read(text)
            if values:
                draw("scatter", form, [[v, v, "t", ""] for v in values])
                draw("bars", form, [["n", v, 0] for v in values])


def places(folder):
    """Areas lie on each other, and the highest is as high as the sum says."""
    root = pictures.read(draw("area", "svg", [[0, 1, 2], ["a", 100, 200, 300], ["b", 100, 200, 100]]))
    paths = [[tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", e.get("d"))] for e in root.iter(SVG + "path")]
    equal(len(paths), 2, "areas")
    equal(list(reversed(paths[1][3:])), paths[0][:3], "the second lies on the first")
    floor = paths[0][3][1]
    heights = [floor - y for _, y in paths[1][:3]]
    equal(heights[1] / heights[0], 2, "heights", 0.01)
    equal(heights[2] / heights[0], 2, "heights", 0.01)
    ticks = [e.text for e in root.iter(SVG + "text") if e.get("text-anchor") == "end"]
    check("400 B" in ticks and "0" in ticks, f"ticks {ticks}")


def text_area(folder):
    """Full and empty columns of a text chart are where the figures say."""
    lines = draw("area", "ascii", [list(range(68)), ["a"] + [0] * 34 + [400] * 34]).split("\n")
    rows = [line[11:] for line in lines if re.match(r".{10}[|+]", line)][:16]
    equal(len(rows), 16, "rows")
    for row in rows:
        check(row.rstrip() == " " * 34 + "#" * 34, f"row {row!r}")


def many(folder):
    source = random.Random(5)
    dots = [[10**source.uniform(0, 6), 10**source.uniform(-9, 3), f"dot {i}", "hot" if i < 100 else ""] for i in range(20000)]
    text = draw("scatter", "svg", dots)
    marked = [e for e in pictures.read(text).iter(SVG + "circle") if "marked" in e.get("class")]
    equal(len(marked), 100, "marked dots")
    check(len(text) < 4e6, f"{len(text)} bytes")
    bars = [[f"bar {i}", 10**source.uniform(0, 6), 0] for i in range(20000)]
    text = draw("bars", "svg", bars)
    check(len(text) < 1e6 and "the largest of" in text, f"{len(text)} bytes")
    told = "\n".join(pictures.titles(pictures.read(text)))
    check(max(bars, key=lambda b: b[1])[0] + ":" in told, "the largest of all is drawn")


def random_paths(seed, count):
    source = random.Random(seed)
    paths = []
    for _ in range(count):
        path = []
        for _ in range(source.randrange(1, 7)):
            block = [source.choice("abcde") for _ in range(source.choice([1, 2, 3] * 5 + [17, 24, 25]))]
            path += block * source.choice([1, 1, 1, 2, 3, 4, 5, 20])
        paths.append((source.randrange(1, 1000), path[:200]))
    return paths


def last_level(nodes, total):
    """The last one with a frame of 5 pixels, or with 5 % in narrower ones."""
    levels = {}
    for key, node in nodes.items():
        levels.setdefault(len(key), []).append(node[0] / total)
    return max((level for level, shares in levels.items() if max(shares) * 1180 >= 5 or sum(shares) >= 0.05), default=0)


def flame_frames(folder):
    for seed in support.rounds(20):
        paths = random_paths(seed, 60)
        nodes = pictures.tree_of(paths)
        flame = pictures.Flame(draw("flame", "up", [[v] + p for v, p in paths]))
        total = sum(v for v, _ in paths)
        equal(flame.frames[0]["value"], total, "all")
        equal(flame.left_out() + len(flame.frames), len(nodes) + 1, "frames that are drawn or said to be left out")
        drawn = sorted((f["level"], f["name"], f["value"], f["repeats"]) for f in flame.frames[1:])
        last = last_level(nodes, total)
        expected = sorted((len(k), k[-1][0], n[0], (n[1], n[2]) if k[-1][1] else ()) for k, n in nodes.items()
                          if n[0] / total * 1180 >= 0.1 and len(k) <= last)
        equal(drawn, expected, f"frames of seed {seed}")
        for frame in flame.frames:
            equal(frame["width"], 1180 * frame["value"] / total, "width", 0.001)
            parents = [p for p in flame.frames if p["level"] == frame["level"] - 1 and p["x"] <= frame["x"] + 0.002
                       and frame["x"] + frame["width"] <= p["x"] + p["width"] + 0.002]
            check(len(parents) == (frame["level"] > 0), f"a frame stands on one other: {frame}")


def folded_lines(folder):
    for seed in support.rounds(20):
        paths = random_paths(seed, 60)
        ours = {}
        for line in draw("folded", "text", [[v] + p for v, p in paths]).splitlines():
            path, value = line.rsplit(" ", 1)
            check(path not in ours, f"{path} is there twice")
            ours[path] = int(value)
        expected = pictures.folded(paths)
        equal(ours, expected, f"folded stacks of seed {seed}")


def flame_names(folder):
    lines = [[i + 1, "main", name] for i, name in enumerate(HOSTILE)]
    flame = pictures.Flame(draw("flame", "up", lines))
    equal({f["name"] for f in flame.frames[2:]}, {shown(name) for name in HOSTILE}, "names")
    folded = draw("folded", "text", lines)
    equal(len(folded.splitlines()), len(HOSTILE), "lines")
    for line in folded.splitlines():
        check(re.fullmatch(r"main;[^; \x00-\x1f]+ \d+", line), f"line {line!r}")


def flame_limits(folder):
    """Many leaves, and deep stacks: a file that can be opened."""
    source = random.Random(3)
    lines = [[source.randrange(1, 10**5), "main"] + [f"f{source.randrange(3)}_{d}" for d in range(20)] + [f"leaf{i}"] for i in range(20000)]
    text = draw("flame", "up", lines)
    check(len(text) < 4e6, f"{len(text)} bytes")
    flame = pictures.Flame(text)
    check(flame.left_out() > 0, "frames are left out")
    equal(flame.frames[0]["value"], sum(line[0] for line in lines), "all")
    equal_leaves = [[1] + [f"{i}-{d}" for d in range(64)] for i in range(9000)]
    text = draw("flame", "down", equal_leaves)
    check(len(text) < 4e6, f"{len(text)} bytes")
    flame = pictures.Flame(text)
    equal(flame.left_out() + len(flame.frames), 9000 * 64 + 1, "frames")
    check(len(flame.frames) > 9000, "those that others stand on are drawn first")
    deep = [[100] + ["main"] + ["walk(node*)"] * n + ["grow"] for n in range(4, 10001, 100)]
    flame = pictures.Flame(draw("flame", "up", deep))
    equal([(f["name"], f["repeats"]) for f in flame.frames], [("all", ()), ("main", ()), ("walk(node*)", (4, 9904)), ("grow", ())], "recursion")
    turns = [[100] + ["expr", "term", "factor"] * 3333]
    equal(draw("folded", "text", turns), "expr_(x3333);term_(x3333);factor_(x3333) 100\n", "frames in turn")
    unlike = pictures.Flame(draw("flame", "up", [[1] + [f"f{i}" for i in range(10000)]]))
    equal(len(unlike.frames), 256, "levels")
    equal(unlike.left_out(), 10001 - 256, "what lies deeper")


def flame_towers(folder):
    """A few thin towers do not make the picture high: what can be seen does."""
    wide = [[10000, "main", "parse", "grow"], [9000, "main", "send"]]
    def towers(count, value):
        return [[value, "main"] + [f"t{i}_{d}" for d in range(100)] for i in range(count)]
    for count, value, levels in ((3, 10, 4), (30, 10, 4), (1, 100, 102), (150, 10, 102)):
        text = draw("flame", "up", wide + towers(count, value))
        flame = pictures.Flame(text)
        equal(max(f["level"] for f in flame.frames) + 1, levels, f"levels with {count} towers of {value}")
        equal(flame.left_out(), count * (102 - levels), "left out")
        equal(int(re.search(r' height="(\d+)"', text)[1]), 74 + 34 + 17 * levels, "height")


def flame_page(folder):
    """The script: zoom, search, what is pointed at, and back again."""
    lines = [[600, "main", "parse", "grow"], [300, "main", "parse"], [100, "main", "send", "grow"], [24, "idle(int)"]]
    flame = pictures.Flame(draw("flame", "up", lines))
    names = [f["name"] for f in flame.frames]
    parse, send, main = names.index("parse"), names.index("send"), names.index("main")
    grows = [i for i, n in enumerate(names) if n == "grow"]
    first, zoomed, pointed, searched, literal, reset, cleared = flame.page(
        ["click", parse], ["mouseover", parse], ["search", "^GROW$"], ["search", "idle("], ["click", "reset"], ["key", "Escape"])
    equal([(f["x"], f["width"]) for f in first["frames"]], [(f["x"], f["width"]) for f in flame.frames], "nothing moves at first")
    equal(zoomed["frames"][parse], {"x": 10, "width": 1180, "shown": True, "hit": False, "above": False}, "the frame that was clicked")
    check(zoomed["frames"][main]["above"] and zoomed["frames"][main]["width"] == 1180, "what it stands on is as wide")
    check(not zoomed["frames"][send]["shown"] and not zoomed["frames"][names.index("idle(int)")]["shown"], "others are hidden")
    inside = max(zoomed["frames"][i]["width"] for i in grows if zoomed["frames"][i]["shown"])
    equal(inside, 1180 * 600 / 900, "what stands on it", 0.01)
    equal(zoomed["reset"], "inline", "there is a way back")
    equal(sorted(zoomed["labels"]), ["all", "grow", "main", "parse"], "labels")
    check(pointed["about"].startswith("parse") and "900 B, 87.89 %" in pointed["about"], pointed["about"])
    equal(searched["result"], "2 frames: 700 B, 68.36 %", "what was found")
    equal([i for i, f in enumerate(searched["frames"]) if f["hit"]], grows, "what is highlighted")
    equal(literal["result"], "1 frame: 24 B, 2.34 %", "what is no expression is searched as it is")
    equal([f["width"] for f in reset["frames"]], [f["width"] for f in first["frames"]], "all is back")
    equal((cleared["search"], cleared["result"], any(f["hit"] for f in cleared["frames"])), ("", "", False), "cleared")
    equal(reset["labels"], flame.labels, "labels of the script are those of the picture")
    opened = flame.page(fragment=f"#search=grow&zoom={send}")[0]
    equal(opened["result"], "2 frames: 700 B, 68.36 %", "search by address")
    equal(opened["frames"][send]["width"], 1180, "zoom by address")
    nested = pictures.Flame(draw("flame", "up", [[10, "f", "g", "f"], [10, "h"]]))
    equal(nested.page(["search", "f"])[1]["result"], "2 frames: 10 B, 50.00 %", "what is below itself counts once")


if __name__ == "__main__":
    support.main(hostile_names=hostile_names, extreme_figures=extreme_figures, places=places, text_area=text_area, many=many,
                 flame_frames=flame_frames, folded_lines=folded_lines, flame_names=flame_names, flame_limits=flame_limits, flame_towers=flame_towers,
                 flame_page=flame_page)
