"""The Python package over the real efa-run: processes, their ends, plans, traces."""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import drydock
from drydock import plans, traces

SILENT = drydock.plan({"fault": "unresponsive", "when": {"operation": "send", "nth": 5, "sticky": True}})
PING = ("fi_pingpong", "-p", "efa", "-e", "rdm", "-I", "10", "-S", "64")


def free_port():
    """Where a server can listen. The kernel gives none of these to connections, nor to sockets that ask for any: another test may
    make many before the server listens."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as server:
            try:
                server.bind(("", port))
            except OSError:  # somebody has it
                continue
            return str(port)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def runs(pid):
    """Whether it does: it may have ended, and in a container nobody asks for its status."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def become_subreaper(is_one):
    """The parent of what is started from here, once its own has ended; or no longer."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, int(is_one), 0, 0, 0)


# Children that leave their parent's session: by `setsid`, and as daemons do, with a parent that ends.
LEAVES = """
import os, sys, time
if sys.argv[1] == "setsid":
    os.setsid()
else:
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
if sys.argv[2] == "deaf":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("left", os.getpid(), flush=True)
time.sleep(77)
"""


class Processes(unittest.TestCase):

    def test_output_and_status_of_a_program(self):
        with drydock.fabric() as env:
            self.assertEqual(env.run("sh", "-c", "echo $DRYDOCK_EFA_SEED $DRYDOCK_EFA_PROFILE"), "1 p5\n")
            env.run("sh", "-c", "exit 3", status=3)
            with self.assertRaisesRegex(drydock.Failed, r"ended with 4, not 0\n  because"):
                env.run("sh", "-c", "echo because; exit 4")

    def test_threads_start_processes_of_their_own(self):
        numbers = range(24)
        with drydock.fabric() as env, concurrent.futures.ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda number: env.run("sh", "-c", f"echo {number}", faults={"number": number}, status=2), numbers))
            written = [json.loads(path.read_text(encoding="utf-8"))["number"] for path in pathlib.Path(env.folder).glob("plan*.json")]
            names = {process.name for process in env.processes}
        self.assertEqual(said, [""] * len(numbers))  # these are no plans
        self.assertEqual(sorted(written), list(numbers))
        self.assertEqual(names, {f"{number}-sh" for number in numbers})

    def test_what_threads_wait_for_is_their_own(self):
        numbers = range(24)
        with drydock.fabric() as env, concurrent.futures.ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda number: env.run("sh", "-c", f"echo {number}"), numbers))
        self.assertEqual(said, [f"{number}\n" for number in numbers])

    def test_a_process_that_has_ended_holds_nothing_open(self):
        with drydock.fabric() as env:
            env.run("true")
            held = len(os.listdir("/proc/self/fd"))
            for _ in range(3):
                env.run("true")
            self.assertEqual(len(os.listdir("/proc/self/fd")), held)
            parent = env.start("sh", "-c", "sleep 77 & echo child $!")
            parent.check()
        self.assertEqual(env.left, [parent.name])

    def test_each_network_has_a_name_of_its_own(self):
        with drydock.fabric() as one, drydock.fabric() as other:
            self.assertNotEqual(one.run("sh", "-c", "echo $DRYDOCK_EFA_FABRIC"), other.run("sh", "-c", "echo $DRYDOCK_EFA_FABRIC"))

    def test_a_line_is_waited_for(self):
        with drydock.fabric() as env:
            server = env.start("sh", "-c", "sleep 0.1; echo address 17; sleep 60")
            self.assertEqual(server.line("address "), "address 17")
            with self.assertRaisesRegex(drydock.TimedOut, "printed no line 'port ...' in 0.2 s"):
                server.line("port ", timeout=0.2)
            with self.assertRaisesRegex(drydock.Failed, "ended with 0 and printed no line"):
                env.start("true").line("address ")

    def test_a_line_ends_where_the_program_ends_it(self):
        with drydock.fabric() as env:
            server = env.start("printf", "none\naddress \f17\nport 1")
            self.assertEqual(server.line("address "), "address \f17")
            with self.assertRaisesRegex(drydock.Failed, "printed no line 'port ...'"):
                server.line("port ")

    def test_a_carriage_return_ends_no_line(self):
        with drydock.fabric() as env:
            server = env.start("printf", "10 %%\raddress 1\r\naddress 2\n")
            self.assertEqual(server.line("address "), "address 2")
            self.assertEqual(server.output, "10 %\raddress 1\r\naddress 2\n")

    def test_what_is_left_is_killed_with_its_children(self):
        become_subreaper(True)  # it is told of the child's end, of which nobody may ask in a container
        try:
            with drydock.fabric() as env:
                server = env.start("sh", "-c", "trap '' TERM; sleep 77 & echo child $!; wait; sleep 77")
                child = int(server.line("child ").split()[1])
                with self.assertRaisesRegex(drydock.TimedOut, "did not end in 0.1 s"):
                    server.wait(timeout=0.1)
            self.assertFalse(alive(server.pid))
            self.assertEqual(os.waitpid(child, 0), (child, signal.SIGKILL))
        finally:
            become_subreaper(False)
        self.assertEqual(env.left, [server.name])
        self.assertIn(f"{server.name}: still there at the end", env.findings())

    def test_whoever_is_killed_takes_its_processes_along(self):
        program = """
import os, time
import drydock
with drydock.fabric() as env:
    server = env.start("sh", "-c", "trap '' TERM; sleep 77 & echo child $!; wait; sleep 77")
    forked = os.fork()  # as multiprocessing does: it may outlive us
    if forked == 0:
        time.sleep(7777)
        os._exit(0)
    print(server.pid, server.line("child ").split()[1], forked, flush=True)
    server.wait(77)
"""
        become_subreaper(True)  # it is told of the end of processes whose parent has ended
        try:
            with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder}) as user:
                *pids, forked = [int(pid) for pid in user.stdout.readline().split()]
                user.kill()
                user.wait()
                self.assertEqual([os.waitpid(pid, 0) for pid in pids], [(pid, signal.SIGKILL) for pid in pids])
                os.kill(forked, signal.SIGKILL)
                os.waitpid(forked, 0)
            self.assertEqual(len(pids), 2)
        finally:
            become_subreaper(False)

    def test_groups_that_a_child_has_made_are_ended_too(self):
        # As `timeout` does, and a shell for its jobs.
        for ignored in ("", "trap '' TERM; "):
            with drydock.fabric() as env:
                server = env.start("sh", "-c", f"timeout 77 sh -c \"{ignored}echo child \\$\\$; sleep 77; sleep 77\"; true")
                child = int(server.line("child ").split()[1])
                self.assertNotEqual(os.getpgid(child), server.pid)
            self.assertFalse(runs(child), ignored)
            self.assertEqual(env.left, [server.name])

    def test_whoever_is_killed_takes_their_groups_along(self):
        program = """
import time
import drydock
with drydock.fabric() as env:
    print(env.start("sh", "-c", "timeout 77 sh -c 'echo child $$; sleep 77; true'; true").line("child "), flush=True)
    time.sleep(77)
"""
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder}) as user:
            child = int(user.stdout.readline().split()[1])
            self.assertTrue(runs(child))
            user.kill()
            user.wait()
            end = time.monotonic() + 60
            while runs(child) and time.monotonic() < end:
                time.sleep(0.01)
        self.assertFalse(runs(child))

    def test_whoever_has_left_the_session_is_ended_too(self):
        for how, ears in (("setsid", "hears"), ("daemon", "deaf")):
            with drydock.fabric() as env, drydock.fabric() as other:
                pids = []
                for network, word in ((other, "hears"), (env, ears)):
                    parent = network.start("sh", "-c", '"$0" -c "$@" & exec sleep 77', sys.executable, LEAVES, how, word)
                    pids.append(int(parent.line("left ").split()[1]))
                    self.assertNotEqual(os.getsid(pids[-1]), parent.pid)
                env.close()
                self.assertEqual([runs(pid) for pid in pids], [True, False], how)
            self.assertFalse(runs(pids[0]), how)
            self.assertEqual(env.left[0], parent.name)
            self.assertRegex(" ".join(env.left[1:]), "^(daemon python[0-9.]* ?)+$")  # one more before it has forked off
            self.assertIn(f"{env.left[1]}: still there at the end", env.findings())

    def test_a_daemon_whose_starter_was_waited_for_is_ended_too(self):
        with drydock.fabric() as env:
            said = env.run("sh", "-c", "setsid sh -c 'echo left $$; exec sleep 77' & while [ ! -s /dev/stdout ]; do sleep 0.01; done")
            self.assertTrue(runs(int(said.split()[1])))
        self.assertFalse(runs(int(said.split()[1])))
        self.assertIn(env.left, (["daemon sleep"], ["daemon sh"]))  # the latter before its exec

    def test_whoever_is_killed_takes_its_daemons_along(self):
        program = """
import sys, time
import drydock
with drydock.fabric() as env:
    print(env.run("sh", "-c", "setsid sh -c 'echo left $$; exec sleep 77' & while [ ! -s /dev/stdout ]; do sleep 0.01; done"), flush=True)
    time.sleep(77)
"""
        # Also where somebody ends all that is in a network in which it is itself.
        with drydock.fabric() as outer:
            user = outer.start(sys.executable, "-c", program)
            daemon = int(user.line("left ").split()[1])
            self.assertTrue(runs(daemon))
            os.kill(user.pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while runs(daemon) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(runs(daemon))
        self.assertEqual([name for name in outer.left if name.startswith("daemon")], [])

    def test_a_signal_is_a_finding(self):
        with drydock.fabric() as env:
            env.run("sh", "-c", "kill -SEGV $$", status=-11)
            self.assertEqual(env.findings(), ["0-sh: ended by signal 11"])

    def test_whoever_kills_a_process_has_no_finding_of_it(self):
        with drydock.fabric() as env:
            self.assertTrue(env.start("sleep", "60").kill())
        self.assertEqual(env.findings(), [])

    def test_whoever_has_ended_unseen_was_not_left(self):
        with drydock.fabric() as env:
            fine = env.start("true")
            crashed = env.start("sh", "-c", "kill -SEGV $$")
            for process in (fine, crashed):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual(env.left, [])
        self.assertEqual(env.findings(), ["1-sh: ended by signal 11"])

    def test_a_child_that_has_ended_was_not_left(self):
        # In a container nobody may ask for the status of a process whose parent has ended: here it is for us to do so.
        become_subreaper(True)
        try:
            with drydock.fabric() as env:
                server = env.start("sh", "-c", "sleep 0 & echo child $!")
                child = int(server.line("child ").split()[1])
                server.check()
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            self.assertEqual(env.left, [])
            self.assertEqual(os.waitpid(child, 0), (child, 0))
        finally:
            become_subreaper(False)

    def test_what_efa_run_refuses_is_a_finding(self):
        with drydock.fabric(profile="p9") as env:
            env.run("true", status=2)
            self.assertIn("no profile 'p9'", env.findings()[0])

    def test_nothing_is_found_in_a_process_that_does_nothing(self):
        for profile in ("small", "p5"):
            with drydock.fabric(profile=profile) as env:
                env.run("true")
            self.assertEqual(env.findings(), [], profile)

    def test_the_folder_goes_unless_it_is_kept(self):
        with drydock.fabric() as env:
            env.run("true")
        self.assertFalse(os.path.exists(env.folder))
        kept = os.path.join(os.environ.get("TEST_TMPDIR", "/tmp"), f"kept-{os.getpid()}")
        with drydock.fabric(keep=kept, faults=SILENT) as env:
            env.run("true")
        self.assertEqual(sorted(os.listdir(kept)), ["0-true.err", "0-true.out", "plan0.json"])
        # What another run left there is none of this one's.
        traces = [os.path.join(kept, f"0.trace.{number}.json") for number in (1, 2, 3)]
        for path in traces[:2]:
            with open(path, "w", encoding="utf-8") as out:
                out.write("{}")
        with drydock.fabric(keep=kept, trace=False) as env:
            self.assertEqual(env.traces(), [])
            for path in traces[1:]:
                with open(path, "w", encoding="utf-8") as out:
                    out.write("{ }")
            self.assertEqual(env.traces(), traces[1:])
            for path in traces:
                os.remove(path)
        shutil.rmtree(kept)

    def test_nothing_starts_in_a_network_that_has_ended(self):
        with tempfile.TemporaryDirectory() as kept:
            with drydock.fabric(keep=kept) as env:
                env.run("true")
            with self.assertRaisesRegex(RuntimeError, "^this network has ended: sleep would be left$"):
                env.start("sleep", "60")

    def test_without_traces_nothing_is_counted_as_none(self):
        with drydock.fabric(trace=False) as env:
            env.run("true")
        for ask in (env.metrics, env.fired):
            with self.assertRaisesRegex(RuntimeError, "^nothing was counted: this network has trace=False$"):
                ask()
        self.assertEqual(env.findings(), [])

    def test_no_command_is_one_clear_line(self):
        with unittest.mock.patch.dict(os.environ, DRYDOCK_EFA_RUN="/nowhere/efa-run"):
            with self.assertRaisesRegex(drydock.NotInstalled, "^DRYDOCK_EFA_RUN=/nowhere/efa-run is no program$"):
                drydock.fabric()


class Plans(unittest.TestCase):

    def test_rules_have_names_and_may_never_fire(self):
        rules = drydock.plan({"fault": "packet_loss"}, {"name": "x", "fault": "slow_link"})["rules"]
        self.assertEqual([rule["name"] for rule in rules], ["rule 0", "x"])
        self.assertEqual(rules[0]["expect_fired"], {"min": 0})

    def test_no_such_plan_is_one_clear_line(self):
        with self.assertRaisesRegex(FileNotFoundError, "^faults=nothing: no such file, and no plan of the package$"):
            plans.file_of("nothing", "/tmp")


class Traces(unittest.TestCase):

    def test_a_trace_is_counted_as_far_as_it_is_whole(self):
        path = os.path.join(os.environ.get("TEST_TMPDIR", "/tmp"), f"trace-{os.getpid()}.json")
        whole = [
            {"name": "send", "cat": "post", "ph": "X", "args": {}},
            {"name": "place", "cat": "place", "ph": "X", "args": {"bytes": 96}},
            {"name": "send ok", "cat": "completion", "ph": "X", "args": {"status": "ok"}},
            {"name": "send bad", "cat": "completion", "ph": "X", "args": {"status": "PeerUnresponsive"}},
            {"name": "fault", "cat": "fault", "ph": "X", "args": {"rule": "silent"}},
            {"name": "fault", "cat": "fault", "ph": "i", "args": {"rule": "silent"}},
            {"name": "check leaks", "cat": "check", "ph": "X", "args": {"check": "leaks", "text": "leaks: a region is open"}},
        ]
        with open(path, "w", encoding="utf-8") as out:
            out.write(",\n".join(json.dumps(event) for event in whole) + ',\n{"name":"cut')
        self.assertEqual(traces.metrics([path]),
                         {"posts": 1, "packets": 0, "bytes_placed": 96, "completions": 2, "errors": 1, "faults": 1})
        self.assertEqual(traces.fired([path]), {"silent": 1})
        self.assertEqual(traces.findings([path]), ["leaks: a region is open"])
        os.remove(path)


    def test_a_finding_is_told_once(self):
        # What a client of fi_pingpong left that had lost its peer; and what no trace has, for it ends before that.
        rule = "use-after-deregister"
        what = (f"{rule}: machine-1/rdmap79s0: a send of queue pair 0 met a registration of 12587232 bytes that machine-1/rdmap79s0 had"
                " closed 1521 ns before: close it when everything that names it has completed")
        details = f'"args":{{"check":"{rule}","text":"{what} (1 time, first after 1649130444 ns)"}}'
        trace = (f'{{"name":"check {rule}","cat":"check","ph":"X","ts":1649130.444,"dur":0.100,"pid":1,"tid":7,{details}}},\n'
                 f'{{"name":"check {rule}","cat":"check","ph":"i","ts":1649130.444,"s":"p","pid":1,"tid":7,{details}}},\n')
        leak = "drydock-efa: finding: process 23819 (fi_pingpong): leaks: machine-1/rdmap79s0: still open at the end: 1 domain"
        errors = (f"drydock-efa: finding: process 23819 (fi_pingpong): {what}\n{leak}\n"
                  f"drydock-efa: findings: process 23819 (fi_pingpong): leaks (1 time), {rule} (2 times)\n")
        with drydock.fabric() as env:
            env.run("sh", "-c", 'printf %s "$0" >&2; printf %s "$1" >"$2/0.trace.23819.json"', errors, trace, env.folder)
        self.assertEqual(env.findings(), [f"{what} (1 time, first after 1649130444 ns)", f"0-sh: {leak}"])

    def test_findings_of_one_process_stay_beside_anothers_trace(self):
        def write(env, number, pid, what, called=""):
            text = f"{what} (1 time, first after 5 ns)" if what else ""
            trace = json.dumps({"name": "check leaks", "cat": "check", "ph": "X", "args": {"text": text}})
            said = f"drydock-efa: finding: process {pid} (server): leaks: {pid}{called}"
            env.run("sh", "-c", 'echo "$0" >&2; echo "$1" >"$2"', said, trace, f"{env.folder}/{number}.trace.{pid}.json")
            return f"{number}-sh: {said}"

        with drydock.fabric() as env:
            write(env, 0, 12, "leaks: 12", "; called by main")
            other = write(env, 1, 123, "leaks: 12")  # the other's text, and the beginning of its own
            empty = write(env, 2, 7, "")
        self.assertEqual(env.findings(), ["leaks: 12 (1 time, first after 5 ns)"] * 2 + ["", other, empty])


@unittest.skipUnless(shutil.which("fi_pingpong"), "skipped: fi_pingpong is not installed (libfabric-bin)")
class TwoProcesses(unittest.TestCase):

    def ping(self, env, status=0):
        port = free_port()
        server = env.start(*PING, "-B", port)
        end = time.monotonic() + 60
        while time.monotonic() < end:  # until the server listens
            client = env.start(*PING, "-P", port, "127.0.0.1")
            if client.wait(100) == status or server.returncode is not None:
                break
        return server, client

    def test_messages_arrive_and_are_counted(self):
        with drydock.fabric(seed=7) as env:
            server, client = self.ping(env)
            client.check()
            server.check()
            self.assertGreater(env.metrics()["completions"], 10)
            self.assertEqual(env.fired(), {})
            self.assertEqual(env.findings(), [])

    def test_a_rule_without_work_is_no_finding(self):
        with drydock.fabric(faults=drydock.plan({"fault": "torn_placement", "when": {"every": 2}})) as env:
            server, client = self.ping(env)
            client.check()
            server.check()
            self.assertIn("does nothing to writes", client.errors)
            self.assertEqual(env.findings(), [])

    def test_a_silent_peer_ends_the_client(self):
        with drydock.fabric(faults=SILENT) as env:
            _, client = self.ping(env, status=5)
            self.assertNotEqual(client.returncode, 0)
            self.assertGreater(env.fired().get("rule 0", 0), 0)
            self.assertGreater(env.metrics()["errors"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
