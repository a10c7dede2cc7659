"""Where the command efa-run is."""

import os
import shutil


class NotInstalled(RuntimeError):
    """The command efa-run cannot be found."""


def efa_run():
    """The path of efa-run: of the variable DRYDOCK_EFA_RUN, or on the PATH."""
    named = os.environ.get("DRYDOCK_EFA_RUN")
    found = shutil.which(named or "efa-run")
    if found is None:
        raise NotInstalled(
            f"DRYDOCK_EFA_RUN={named} is no program" if named else
            "efa-run is not installed: install the package drydock-efa-run, or set DRYDOCK_EFA_RUN to the program")
    return os.path.realpath(found)
