#!/usr/bin/env python3
"""What processes leave that become another program, or call _exit: a small trace with its end, and no live table, with and without `profalloc run`."""
import json
import os
import subprocess
import sys

import support
from capture import TIME_LIMIT, TOOL, check, environment, equal, tool

COMMANDS = 20
SCRIPT = f"for i in $(seq {COMMANDS}); do /bin/true $i; done; exec /bin/true"


def run(folder, command, env=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, env=env, timeout=TIME_LIMIT, capture_output=True, text=True)
    equal(done.returncode, 0, f"status of {command}: {done.stdout}{done.stderr}")


def check_traces(folder, least):
    left = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".pa"))
    equal(left, [], "files beside the traces")
    traces = sorted(folder.glob("*.pa"))
    check(len(traces) >= least, f"{len(traces)} traces")
    ends = []
    for path in traces:
        check(path.stat().st_size < 64 * 1024, f"{path.name} has {path.stat().st_size} bytes")
        check(": complete" in tool("check", path)[0], f"{path.name} is complete")
        data = json.loads(tool("report", "--json", path)[0])
        ends.append((os.path.basename(data["files"][0]["program"]), data["files"][0]["end"]))
    return ends


def shell(folder):
    """Each command is a child that execs; at the end the shell does so itself."""
    run(folder, ["/bin/bash", "-c", SCRIPT], environment())
    ends = check_traces(folder, 2 * COMMANDS)
    equal({end for program, end in ends if program == "bash"}, {"exec"}, "how shells ended")
    equal({end for program, end in ends if program == "true"}, {"exit"}, "how commands ended")


def shell_under_run(folder):
    run(folder, [TOOL, "run", "--", "/bin/bash", "-c", SCRIPT])
    ends = check_traces(folder, 2 * COMMANDS)
    equal({end for program, end in ends if program == "bash"}, {"exec"}, "how shells ended")


def nothing_recorded(folder):
    """Children that allocate nothing, or too little to be sampled, leave no file."""
    run(folder, ["/bin/bash", "-c", SCRIPT], {**environment(), "PROFALLOC_CONF": "prof:true,sample:1T"})
    children = [path for path in folder.glob("bash.*")]
    equal(len(children), 1, f"files of shells: {children}")
    check_traces(folder, 1)


FORKS = """
import os
for i in range(8):
    if os.fork() == 0:
        kept = [bytes(100 + i) for i in range(1000)]
        os._exit(0)
    assert os.wait()[1] == 0
"""


def quick_children(folder):
    """Children that go past their exit handlers end their traces nevertheless."""
    run(folder, [sys.executable, "-c", FORKS], environment())
    equal(sorted(path.name for path in folder.iterdir() if not path.name.endswith(".pa")), [], "files beside the traces")
    traces = sorted(folder.glob("*.pa"))
    equal(len(traces), 9, "traces")
    for path in traces:
        check(": complete" in tool("check", path)[0], f"{path.name} is complete")
        equal(json.loads(tool("report", "--json", path)[0])["files"][0]["end"], "exit", f"how {path.name} ended")


def failed(folder):
    """An exec that can only be seen to fail when it is tried (a script without a first line) is not worth a word."""
    script = folder / "script"
    script.write_text("exit 7\n")
    script.chmod(0o755)
    done = subprocess.run(["/bin/bash", "-c", f"{script}; exit $?"], cwd=folder, env=environment(), timeout=TIME_LIMIT, capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (7, "", ""), "status and messages of a script")
    script.unlink()
    for path in folder.glob("*.pa"):
        tool("check", path)


support.main(quick_children=quick_children, failed=failed, shell=shell, shell_under_run=shell_under_run, nothing_recorded=nothing_recorded)
