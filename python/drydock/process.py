"""One process under efa-run: its output, its end, its trace."""

import glob
import os
import signal
import subprocess
import time


# Reads from a pipe of ours. A line says that a process and its children have ended; without one we have, and they go with us.
_GUARD = 'read -r ended || kill -s KILL -- "-$1"'


# The guards of processes that have not been ended. Whoever forks this Python has no business with them.
_guards = set()


def _leave_guards():
    for guard in _guards:
        guard.stdin.close()
    _guards.clear()


os.register_at_fork(after_in_child=_leave_guards)


class Failed(RuntimeError):
    """A process ended with another status than the one that was expected."""


class TimedOut(RuntimeError):
    """A process did not end, or did not print what was waited for, in time."""


def _group_lives(group):
    """Whether a process of the group runs. One that has ended, and whose parent does not ask for its status, does not."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, "rb") as file:
                state, _, group_of = file.read().rpartition(b")")[2].split()[:3]
        except OSError:  # it has gone
            continue
        if int(group_of) == group and state not in (b"Z", b"X"):
            return True
    return False


class Process:
    """A process that `Fabric.start` made. Its output goes to files, so that it never waits for its reader. It has a group of its own,
    which a guard beside it ends when this Python ends first, by whatever signal and whichever thread has made it."""

    def __init__(self, launcher, words, folder, number, environment, cwd):
        self.words = [os.fspath(word) for word in words]
        self.name = f"{number}-{os.path.basename(self.words[0])}"
        self._files = [os.path.join(folder, f"{self.name}.{kind}") for kind in ("out", "err")]
        self._kept = None
        self.killed = False  # by `kill`: then its end is none of its own
        with open(self._files[0], "wb") as out, open(self._files[1], "wb") as err:
            self._popen = subprocess.Popen([*launcher, *self.words], stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                           cwd=cwd, env=environment, start_new_session=True)
        try:
            self._guard = subprocess.Popen(["sh", "-c", _GUARD, "guard", str(self._popen.pid)], stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        except BaseException:  # nobody would end it
            self._signal(signal.SIGKILL)
            self._popen.wait()
            raise
        _guards.add(self._guard)

    @property
    def pid(self):
        return self._popen.pid

    @property
    def returncode(self):
        """As subprocess has it: negative for a signal, None while the process runs."""
        return self._popen.poll()

    @property
    def output(self):
        return self._read(0)

    @property
    def errors(self):
        return self._read(1)

    def line(self, prefix, timeout=30):
        """The first line of its output that begins with `prefix`, once it is there and whole."""
        end = time.monotonic() + timeout
        while True:
            ended = self.returncode is not None
            for line in self.output.splitlines(keepends=True):
                if line.startswith(prefix) and line.endswith("\n"):
                    return line.rstrip("\n")
            if ended:
                raise Failed(f"{self.name} ended with {self.returncode} and printed no line '{prefix}...'{self._tail()}")
            if time.monotonic() > end:
                raise TimedOut(f"{self.name} printed no line '{prefix}...' in {timeout} s{self._tail()}")
            time.sleep(0.01)

    def wait(self, timeout=60):
        """Waits for its end, and returns its exit status."""
        try:
            status = self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"{self.name} did not end in {timeout} s{self._tail()}") from None
        if not _group_lives(self._popen.pid):  # nothing is left to be ended: a test may run thousands, one after the other
            self._dismiss_guard()
        return status

    def check(self, status=0, timeout=60):
        """Waits for its end, which must be with this exit status; returns its output."""
        got = self.wait(timeout)
        if got != status:
            raise Failed(f"{self.name} ended with {got}, not {status}{self._tail()}")
        return self.output

    def kill(self, grace=2.0):
        """Ends it and all of its children: SIGTERM, which lets traces be written, then SIGKILL. True if any was left."""
        if self._guard.returncode is not None:  # none was left, and its number may be another's by now
            return False
        ended = self._popen.poll() is not None  # of its own; then only children can be left
        left = self._lives()
        self._signal(signal.SIGTERM)
        self.killed = self.killed or (left and not ended)
        end = time.monotonic() + grace
        while time.monotonic() < end and self._lives():
            time.sleep(0.01)
        self._signal(signal.SIGKILL)
        self._popen.wait()
        self._dismiss_guard()
        return left

    def _dismiss_guard(self):
        try:
            _guards.remove(self._guard)
        except KeyError:  # done before, or by another thread
            return
        try:
            self._guard.communicate(b"ended\n")
        except BrokenPipeError:  # somebody has ended it
            self._guard.wait()

    def _lives(self):
        return self._popen.poll() is None or _group_lives(self._popen.pid)

    def _signal(self, number):
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def remember(self):
        """Keeps its output, for when its files are gone."""
        self._kept = [self._read(0), self._read(1)]

    def _read(self, which):
        if self._kept is not None:
            return self._kept[which]
        with open(self._files[which], encoding="utf-8", errors="replace") as file:
            return file.read()

    def _tail(self):
        return "".join(f"\n  {line}" for line in (self.output + self.errors).splitlines()[-10:])
