"""What has left the sessions of a network's processes, as daemons do: its environment has the network's name, which no other has."""

import glob
import os
import signal
import time

from drydock.guard import FABRIC, Guard

# Thrice: one may fork meanwhile, or begin another program, and then has no environment for a moment.
_GUARD = f'''for pass in 1 2 3; do
  for file in $(grep -lzxF "{FABRIC}=$1" /proc/[0-9]*/environ); do
    file=${{file%/environ}}
    kill -s KILL "${{file#/proc/}}"
  done
  sleep 1
done'''


def guard(fabric):
    return Guard(_GUARD, fabric)


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:  # it has gone, or is another user's
        return b""


def _environment_of(pid):
    """Of one that is just beginning another program, the new one's."""
    for _ in range(10):
        environment = _read(pid, "environ")
        if environment or not os.path.exists(f"/proc/{pid}/exe"):  # as of one that has ended
            break
        time.sleep(0.001)
    return environment.split(b"\0")


def _of(fabric):
    """The numbers of the processes of a network."""
    wanted = os.fsencode(f"{FABRIC}={fabric}")
    pids = [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/environ")]
    return {pid for pid in pids if pid != os.getpid() and wanted in _environment_of(pid)}


def _runs(pid):
    """Whether it does, also when it is ending: then it has no environment, but its files and sockets."""
    state = _read(pid, "stat").rpartition(b")")[2].split()[:1]
    return state not in ([], [b"Z"], [b"X"])


def end(fabric, patience=1.0, grace=2.0):
    """Ends those that do not end by themselves within the patience, as a launcher's daemons do: SIGTERM, which lets traces be written,
    then SIGKILL. Returns the names of their programs."""
    until = time.monotonic() + patience
    while _of(fabric) and time.monotonic() < until:
        time.sleep(0.01)
    names = {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        told, until = set(), time.monotonic() + grace
        while True:
            left = _of(fabric)
            for pid in left - told:  # once: a second signal could cost a trace
                names.setdefault(pid, _read(pid, "comm").decode(errors="replace").strip())
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    pass
            told |= left
            if not left and not any(map(_runs, names)):
                return list(names.values())
            if time.monotonic() > until:
                break
            time.sleep(0.01)
    return list(names.values())
