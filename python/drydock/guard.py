"""Shells that end what this Python has started when it ends first, by whatever signal."""

import os
import subprocess

# The name of a process's network, which efa-run gives to it.
FABRIC = "DRYDOCK_EFA_FABRIC"

# The guards of what has not been ended. Whoever forks this Python has no business with them.
_guards = set()


def _leave_guards():
    for guard in _guards:
        guard.stdin.close()
    _guards.clear()


os.register_at_fork(after_in_child=_leave_guards)


class Guard:
    """A shell that reads from a pipe of ours: a line says that all is ended. Without one we have, and it goes on with `script`, whose
    $1 is `word`."""

    def __init__(self, script, word):
        # No process of the network in which we may be: who ends that one would end the guard before its work is done.
        environment = {name: value for name, value in os.environ.items() if name != FABRIC}
        self._popen = subprocess.Popen(["sh", "-c", f"read -r ended && exit\n{script}", "guard", word], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment)
        _guards.add(self._popen)

    @property
    def dismissed(self):
        return self._popen.returncode is not None

    def dismiss(self):
        try:
            _guards.remove(self._popen)
        except KeyError:  # done before, or by another thread
            return
        try:
            self._popen.communicate(b"ended\n")
        except BrokenPipeError:  # somebody has ended it
            self._popen.wait()
