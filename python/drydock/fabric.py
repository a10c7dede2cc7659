"""One simulated network, its processes, and what they leave."""

import glob
import os
import re
import shutil
import tempfile
import threading
import uuid

from drydock import command, daemons, plans, traces
from drydock.process import Process


def _findings_by_trace(paths):
    return {os.path.basename(path): traces.findings([path]) for path in paths}


def _is_remark(line):
    """Whether it says of a plan that a rule of it has nothing to do."""
    return line.startswith("drydock-efa: rule ") and line.endswith(" between processes")


def _is_told(line, number, by_trace):
    """Whether a line of standard error repeats a trace of the process that wrote it, of which `number` may have made several. There
    findings are without how often and when, maybe with who called; and their number is at the end."""
    parts = re.match(r"drydock-efa: (findings?): process (\d+) \(.*?\): (.*)", line)
    if parts is None:
        return False
    kind, pid, text = parts.groups()
    told = [found.rpartition(" (")[0] for path, all_found in by_trace.items()
            if path.startswith(f"{number}.trace.{pid}.") for found in all_found]
    if kind == "findings":
        return bool(told)
    return any(each and (text == each or text.startswith(each + "; called by ")) for each in told)


class Fabric:
    """A simulated network for processes of this test alone. Made by `fabric`; ends with its `with` block.

    profile, nics, seed, faults: efa-run's flags of these names. `faults` is a path, a dict (drydock.plan), or the name of a plan of the
    package; it is for every process that names no other. The folder with outputs, plans and traces goes with the block, unless
    `keep` names one. Several threads may start processes and wait for them."""

    def __init__(self, profile="p5", nics=1, seed=1, faults=None, trace=True, keep=None):
        self.profile, self.nics, self.seed, self.faults = profile, nics, seed, faults
        self.name = "py-" + uuid.uuid4().hex[:16]
        self.processes = []
        self._started = 0  # numbers that were given away
        self._starting = threading.Lock()
        self._guard = None  # of daemons, once there may be any
        self._command = command.efa_run()
        self._trace = trace
        self._temporary = keep is None
        if keep is not None:
            os.makedirs(keep, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix="drydock-") if keep is None else os.path.abspath(keep)
        self._earlier = self._all_traces()  # of another run, in a folder that was kept
        self._answers = None  # of the traces, once the block has ended
        self.left = []  # the names of processes that were still there when the block ended, and `daemon NAME`

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()
        return False

    def start(self, *words, faults=None, env=None, cwd=None):
        """Starts a program with its arguments on a machine of its own, and returns its Process at once."""
        if not words:
            raise ValueError("no program to start")
        if self._answers is not None:
            raise RuntimeError(f"this network has ended: {os.fspath(words[0])} would be left")
        with self._starting:  # no two threads get one number, nor write one plan
            number = self._started
            self._started += 1
            plan = plans.file_of(self.faults if faults is None else faults, self.folder)
            self._guard = self._guard or daemons.guard(self.name)
        flags = [self._command, "--quiet", f"--profile={self.profile}", f"--nics={self.nics}", f"--seed={self.seed}",
                 f"--fabric={self.name}"]
        if plan is not None:
            flags.append(f"--faults={plan}")
        if self._trace:
            flags.append(f"--trace={os.path.join(self.folder, f'{number}.trace.json')}")
        process = Process(flags, words, self.folder, number, {**os.environ, **(env or {})}, cwd)
        self.processes.append(process)
        return process

    def run(self, *words, status=0, timeout=60, **options):
        """Starts a program and waits for its end, which must be with `status`; returns its output."""
        return self.start(*words, **options).check(status, timeout)

    def traces(self):
        """The trace files of the processes that have ended."""
        return sorted(path for path, state in self._all_traces().items() if self._earlier.get(path) != state)

    def metrics(self):
        """What the traces count, as a dict: posts, packets, bytes_placed, completions, errors, faults. RuntimeError without traces."""
        return self._count(traces.metrics)

    def fired(self):
        """How often each rule of the fault plans fired, by its name. RuntimeError without traces."""
        return self._count(traces.fired)

    def findings(self):
        """What is wrong whatever the program says of itself, one line each: checks of the simulator, words of its library, deaths by a
        signal, processes that were left when the block ended."""
        by_trace = self._ask(_findings_by_trace)
        lines = [line for found in by_trace.values() for line in found]
        for number, process in enumerate(self.processes):
            for line in process.errors.splitlines():
                if line.startswith(("drydock-efa:", "efa-run:")) and not (_is_remark(line) or _is_told(line, number, by_trace)):
                    lines.append(f"{process.name}: {line}")
            status = process.returncode
            if status is not None and status < 0 and not process.killed:
                lines.append(f"{process.name}: ended by signal {-status}")
        return lines + [f"{name}: still there at the end" for name in self.left]

    def close(self):
        """Ends every process that is left, and its children; the newest first. Then the daemons that they have made."""
        for process in reversed(self.processes):
            if process.kill() and process.name not in self.left:
                self.left.append(process.name)
            process.remember()
        if self._guard is not None:
            self.left += [f"daemon {name}" for name in daemons.end(self.name)]
            self._guard.dismiss()
        if self._answers is None:
            self._answers = {ask: ask(self.traces()) for ask in (traces.metrics, traces.fired, _findings_by_trace)}
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _all_traces(self):
        """By path; a file that was written anew, by a process with the same number, is another one."""
        found = {}
        for path in glob.glob(os.path.join(glob.escape(self.folder), "*.trace.*.json")):
            state = os.stat(path)
            found[path] = (state.st_ino, state.st_mtime_ns, state.st_size)
        return found

    def _count(self, question):
        if not self._trace:
            raise RuntimeError("nothing was counted: this network has trace=False")
        return self._ask(question)

    def _ask(self, question):
        return question(self.traces()) if self._answers is None else self._answers[question]


def fabric(**options):
    """A simulated network: `with drydock.fabric(profile="p5", faults=plan, seed=7) as env`. The options are those of Fabric."""
    return Fabric(**options)
