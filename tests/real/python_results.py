"""Prints what became of every single test in a JUnit file of python's own test suite, one sorted line each.

python_results.py FILE: NAME passed|failed|skipped. Times are left out; so are the texts of failures, which hold
addresses and pids: they stand in the log of the run.
"""
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    if "skipped" in kinds or case.get("result") == "suppressed":
        return "skipped"
    return "passed"


lines = sorted({f"{case.get('name')} {outcome(case)}" for case in ElementTree.parse(sys.argv[1]).iter("testcase")})
if len(lines) < 500:
    sys.exit(f"only {len(lines)} tests ran")
print("\n".join(lines))
