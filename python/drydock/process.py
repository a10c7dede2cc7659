"""One process under efa-run: its output, its end, its trace."""

import glob
import os
import signal
import subprocess
import time

from drydock.guard import Guard

# All groups of the session. In /proc: number (name) state parent group session; thrice, for one may fork meanwhile.
_GUARD = '''for pass in 1 2 3; do
  for file in /proc/[0-9]*/stat; do
    read -r words <"$file" || continue
    set -- "$1" ${words##*) }
    [ "$5" != "$1" ] || kill -s KILL -- "-$4"
  done
done'''


class Failed(RuntimeError):
    """A process ended with another status than the one that was expected."""


class TimedOut(RuntimeError):
    """A process did not end, or did not print what was waited for, in time."""


def _groups_of(session):
    """The groups of a session in which a process runs. One that has ended, and whose parent does not ask for its status, does not."""
    groups = set()
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, "rb") as file:
                state, _, group, session_of = file.read().rpartition(b")")[2].split()[:4]
        except OSError:  # it has gone
            continue
        if int(session_of) == session and state not in (b"Z", b"X"):
            groups.add(int(group))
    return groups


def _signal(groups, number):
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            pass


class Process:
    """A process that `Fabric.start` made. Its output goes to files, so that it never waits for its reader. It has a session of its own,
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
            self._guard = Guard(_GUARD, str(self._popen.pid))
        except BaseException:  # nobody would end it
            _signal([self._popen.pid], signal.SIGKILL)
            self._popen.wait()
            raise

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
            for line in self.output.split("\n")[:-1]:  # not splitlines, for which a form feed ends a line
                if line.startswith(prefix):
                    return line
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
        if not self._groups():  # nothing is left to be ended: a test may run thousands, one after the other
            self._guard.dismiss()
        return status

    def check(self, status=0, timeout=60):
        """Waits for its end, which must be with this exit status; returns its output."""
        got = self.wait(timeout)
        if got != status:
            raise Failed(f"{self.name} ended with {got}, not {status}{self._tail()}")
        return self.output

    def kill(self, grace=2.0):
        """Ends it and all of its children: SIGTERM, which lets traces be written, then SIGKILL. True if any was left."""
        if self._guard.dismissed:  # none was left, and its number may be another's by now
            return False
        ended = self._popen.poll() is not None  # of its own; then only children can be left
        own, left = {self._popen.pid}, bool(self._groups())
        self.killed = self.killed or (left and not ended)
        self._end(self._groups() & own, signal.SIGTERM, grace)
        # Those that a shell, `timeout` or mpirun has made: it may have ended them itself, and a second signal could cost a trace.
        self._end(self._groups() - own, signal.SIGTERM, grace)
        self._end(self._groups(), signal.SIGKILL, grace)
        self._popen.wait()
        self._guard.dismiss()
        return left

    def _groups(self):
        """The groups of processes of its session that run; its own has its number."""
        groups = _groups_of(self._popen.pid)
        return groups | {self._popen.pid} if self._popen.poll() is None else groups

    def _end(self, groups, number, grace):
        _signal(groups, number)
        end = time.monotonic() + grace
        while time.monotonic() < end and groups & self._groups():
            time.sleep(0.01)

    def remember(self):
        """Keeps its output, for when its files are gone."""
        self._kept = [self._read(0), self._read(1)]

    def _read(self, which):
        if self._kept is not None:
            return self._kept[which]
        with open(self._files[which], encoding="utf-8", errors="replace", newline="\n") as file:  # as it is, with each \r
            return file.read()

    def _tail(self):
        return "".join(f"\n  {line}" for line in (self.output + self.errors).splitlines()[-10:])
