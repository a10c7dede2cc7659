"""The pytest plugin: seeds, the line that repeats a failure, what it says of the processes. Skipped where there is no pytest."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import pytest
except ImportError:
    pytest = None

CASES = '''
import pytest

@pytest.mark.drydock(profile="p5en", seeds=3)
def test_seeds(drydock_fabric):
    assert drydock_fabric.run("sh", "-c", "echo $DRYDOCK_EFA_SEED $DRYDOCK_EFA_PROFILE") == f"{drydock_fabric.seed} p5en\\n"
    assert drydock_fabric.seed != 2, "two is bad"

def test_child_fails(drydock_fabric):
    drydock_fabric.run("sh", "-c", "echo no luck; exit 3")
'''


@unittest.skipUnless(pytest, "skipped: pytest is not installed")
class Plugin(unittest.TestCase):

    def pytest(self, *flags, cases=CASES, folder=None, **variables):
        with contextlib.nullcontext(folder) if folder else tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_cases.py"), "w", encoding="utf-8") as out:
                out.write(cases)
            return subprocess.run([sys.executable, "-m", "pytest", "-p", "drydock.pytest_plugin", "-p", "no:cacheprovider", *flags],
                                  cwd=folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}).stdout

    def test_a_failure_names_its_seed_and_its_replay_line(self):
        said = self.pytest()
        self.assertIn("2 failed, 2 passed", said)
        self.assertIn("seed 2, profile p5en, faults None", said)
        self.assertIn("again: pytest 'test_cases.py::test_seeds[seed2]' --drydock-seed=2", said)
        self.assertIn("0-sh: status 3\n  no luck", said)

    def test_a_fixture_that_fails_names_seed_and_processes_too(self):
        cases = """
import pytest

@pytest.fixture
def server(drydock_fabric):
    drydock_fabric.start("sh", "-c", "echo no port").line("address ")

@pytest.fixture
def calm(drydock_fabric):
    yield
    assert not drydock_fabric.findings()

@pytest.mark.drydock(seed=7)
def test_begins(server):
    pass

@pytest.mark.drydock(seed=8)
def test_ends(drydock_fabric, calm):
    drydock_fabric.run("sh", "-c", "kill -SEGV $$", status=-11)
"""
        said = self.pytest(cases=cases)
        self.assertIn("1 passed, 2 errors", said)
        self.assertIn("again: pytest 'test_cases.py::test_begins[seed7]' --drydock-seed=7", said)
        self.assertIn("0-sh: status 0\n  no port", said)
        self.assertIn("again: pytest 'test_cases.py::test_ends[seed8]' --drydock-seed=8", said)
        self.assertIn("0-sh: ended by signal 11", said)

    def test_the_replay_line_is_for_the_folder_of_the_call(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "pytest.ini"), "w", encoding="utf-8") as out:
                out.write("[pytest]\n")
            os.mkdir(os.path.join(root, "tests"))
            said = self.pytest(f"--rootdir={root}", folder=os.path.join(root, "tests"))
        self.assertIn("again: pytest 'test_cases.py::test_seeds[seed2]' --drydock-seed=2", said)

    def test_the_replay_line_runs_the_very_test_that_failed(self):
        cases = """
import pytest, unittest

@pytest.mark.drydock(seeds=[5, 6, 5])
@pytest.mark.parametrize("text", ["it's", "$(exit 3)", "a//b[c]"])
def test_texts(drydock_fabric, text):
    assert drydock_fabric.seed != 5

@pytest.mark.drydock(seed=7)
@pytest.mark.usefixtures("drydock_fabric")
class Old(unittest.TestCase):
    def test_old(self):
        assert False
"""
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "pytest.ini"), "w", encoding="utf-8") as out:
                out.write("[pytest]\n")
            os.mkdir(os.path.join(root, "tests"))
            call = {"cases": cases, "folder": os.path.join(root, "tests")}
            said = self.pytest(f"--rootdir={root}", **call)
            self.assertIn("7 failed, 3 passed", said)
            failed = re.findall("^_+ ((?:test_texts|Old).*) _+$", said, re.MULTILINE)
            lines = re.findall("^again: pytest (.*)$", said, re.MULTILINE)
            self.assertEqual((len(failed), len(lines)), (7, 7), said)
            for name, line in zip(failed, lines):
                words = subprocess.run(["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True).stdout.splitlines()
                again = self.pytest(*words, f"--rootdir={root}", **call)
                self.assertIn("1 failed in", again, line)
                self.assertRegex(again, f"(?m)^_+ {re.escape(name)} _+$")

    def test_markers_of_a_class_and_of_its_tests_add_up(self):
        cases = """
import pytest

@pytest.mark.drydock(profile="p5en", seeds=3)
class TestMarkers:
    @pytest.mark.drydock(nics=2)
    def test_adds(self, drydock_fabric):
        print("adds", drydock_fabric.profile, drydock_fabric.nics, drydock_fabric.seed)

    @pytest.mark.drydock(profile="p4d", seed=9)
    def test_decides(self, drydock_fabric):
        print("decides", drydock_fabric.profile, drydock_fabric.seed)
"""
        said = self.pytest("-s", cases=cases)
        self.assertEqual(re.findall("adds .*|decides .*", said), ["adds p5en 2 1", "adds p5en 2 2", "adds p5en 2 3", "decides p4d 9"])
        cases = "import pytest\n@pytest.mark.drydock('p5en')\ndef test_of_words(drydock_fabric): pass\n"
        self.assertIn("takes options by name, as profile='p5', and not ('p5en',)", self.pytest(cases=cases))

    @unittest.skipUnless(shutil.which("drydock") and shutil.which("fi_pingpong"), "skipped: no command drydock, or no libfabric")
    def test_the_page_of_the_packages_is_right(self):
        with open(os.environ.get("DRYDOCK_PAGE", "docs/packages.md"), encoding="utf-8") as page:
            cases = page.read().split("```python\n")[1].split("```")[0]
        self.assertLessEqual(len(cases.splitlines()), 15)
        self.assertIn("5 passed", self.pytest(cases=cases))

    def test_only_who_has_not_named_the_program_skips(self):
        nowhere = {"PATH": "/nowhere", "DRYDOCK_EFA_RUN": ""}
        self.assertIn("4 skipped", self.pytest(**nowhere))
        said = self.pytest(**{**nowhere, "DRYDOCK_EFA_RUN": "/nowhere/efa-run"})
        self.assertIn("4 errors", said)
        self.assertIn("DRYDOCK_EFA_RUN=/nowhere/efa-run is no program", said)

    def test_who_asks_late_has_the_first_seed(self):
        cases = """
import pytest, unittest

@pytest.mark.drydock(seeds=[5, 6])
@pytest.mark.usefixtures("drydock_fabric")
class Old(unittest.TestCase):
    def test_uses(self):
        pass

@pytest.mark.drydock(seed=7)
def test_asks(request):
    env = request.getfixturevalue("drydock_fabric")
    print("seed", env.run("sh", "-c", "echo $DRYDOCK_EFA_SEED"))

def test_has_no_marker(request):
    print("seed", request.getfixturevalue("drydock_fabric").seed)
"""
        said = self.pytest("-s", cases=cases)
        self.assertIn("3 passed", said)
        self.assertEqual(re.findall("seed ([0-9]+)", said), ["7", "1"])
        self.assertEqual(re.findall("seed ([0-9]+)", self.pytest("-s", "--drydock-seed=3", cases=cases)), ["3", "3"])

    def test_one_seed_alone_and_kept(self):
        with tempfile.TemporaryDirectory() as kept:
            said = self.pytest("--drydock-seed=2", f"--drydock-keep={kept}", "-k", "test_seeds")
            self.assertIn("1 failed, 1 deselected", said)
            (folder,) = os.listdir(kept)
            self.assertRegex(folder, r"^test_cases\.py_test_seeds\[seed2\]-[0-9a-f]{8}$")
            self.assertEqual(sorted(os.listdir(os.path.join(kept, folder))), ["0-sh.err", "0-sh.out"])

    def test_kept_is_where_pytest_was_called(self):
        cases = """
import pytest

@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

def test_is_elsewhere(drydock_fabric):
    drydock_fabric.run("true")
"""
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("1 passed", self.pytest("--drydock-keep=kept", cases=cases, folder=folder))
            self.assertEqual(len(os.listdir(os.path.join(folder, "kept"))), 1)

    def test_each_test_is_kept_in_a_folder_of_its_own(self):
        cases = """
import pytest

@pytest.mark.parametrize("sign", ["+", "*", "+*", "x" * 300, "x" * 300 + "y"])
def test_signs(drydock_fabric, sign):
    drydock_fabric.run("true")
"""
        with tempfile.TemporaryDirectory() as kept:
            self.assertIn("5 passed", self.pytest(f"--drydock-keep={kept}", cases=cases))
            self.assertEqual(len(os.listdir(kept)), 5)


if __name__ == "__main__":
    unittest.main()
