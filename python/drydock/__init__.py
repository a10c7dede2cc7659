"""Processes on simulated EFA NICs, from Python: what the command efa-run does, with its traces, for tests.

    with drydock.fabric(profile="p5", faults=plan, seed=7) as env:
        server = env.start("./server")
        env.run("./client", server.line("address ").split()[1])
        assert not env.findings()

Needs the command efa-run (package drydock-efa-run, or DRYDOCK_EFA_RUN) and Python 3.8; no module but Python's own.
"""

from drydock.command import NotInstalled
from drydock.fabric import Fabric, fabric
from drydock.plans import plan
from drydock.process import Failed, Process, TimedOut

__all__ = ["Failed", "Fabric", "NotInstalled", "Process", "TimedOut", "fabric", "plan"]
