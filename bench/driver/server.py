"""memcached as a process that is started, loaded by others, looked at and stopped."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from .process import BenchFailure, base_environment, resident_kib

START_SECONDS, STOP_SECONDS = 30, 60


def processors():
    """One for the server and one for the load; the same where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-1], allowed[0]


def on_processor(number):
    return lambda: os.sched_setaffinity(0, {number})


class Server:
    """As a context: running and answering inside, gone after it. Pinned to one processor, with all its threads."""

    def __init__(self, program, settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # It refuses to be root unless it is told to; the trace's folder is ours alone.
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.command = [str(program), "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-t", "1", "-m", "256", *user]
        self.environment = {**base_environment(), **settings}
        self._said, self._process = tempfile.TemporaryFile(), None

    def __enter__(self):
        self._process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL,
                                         stdout=self._said, stderr=self._said, start_new_session=True,
                                         preexec_fn=on_processor(processors()[0]))
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise BenchFailure(f"{' '.join(self.command)} does not answer: {self._text()}")
            time.sleep(0.02)
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.kill()

    def stop(self):
        """Ends it as an operator would. What it says then is its note about the signal; anything of ours is a failure."""
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BenchFailure(f"{' '.join(self.command)} did not stop within {STOP_SECONDS} s") from None
        said = self._text()
        if code != 0 or "profalloc" in said:
            raise BenchFailure(f"{' '.join(self.command)}: exit code {code}: {said}")

    def kill(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def cpu_seconds(self):
        """Of all its threads, to the nanosecond."""
        total = 0
        for task in pathlib.Path(f"/proc/{self._process.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        return total * 1e-9

    def peak_rss_kib(self):
        return resident_kib(self._process.pid)[1]

    def runs_on_profalloc(self):
        return "libprofalloc" in pathlib.Path(f"/proc/{self._process.pid}/maps").read_text()

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
                probe.sendall(b"version\r\n")
                return probe.recv(64).startswith(b"VERSION")
        except OSError:
            return False

    def _text(self):
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()
