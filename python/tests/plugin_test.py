"""The pytest plugin: seeds, the line that repeats a failure, what it says of the processes. Skipped where there is no pytest."""

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

    def pytest(self, *flags, cases=CASES, **variables):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_cases.py"), "w", encoding="utf-8") as out:
                out.write(cases)
            return subprocess.run([sys.executable, "-m", "pytest", "-p", "drydock.pytest_plugin", "-p", "no:cacheprovider", *flags],
                                  cwd=folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}).stdout

    def test_a_failure_names_its_seed_and_its_replay_line(self):
        said = self.pytest()
        self.assertIn("2 failed, 2 passed", said)
        self.assertIn("seed 2, profile p5en, faults None", said)
        self.assertIn("again: pytest 'test_cases.py::test_seeds' --drydock-seed=2", said)
        self.assertIn("0-sh: status 3\n  no luck", said)

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
