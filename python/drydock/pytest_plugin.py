"""pytest: the fixture `drydock_fabric`, a marker with its options, and the seed and the replay line of a failure.

    @pytest.mark.drydock(profile="p5", faults="peer_unresponsive", seeds=10)
    def test_transfer(drydock_fabric): ...
"""

import hashlib
import os
import re
import shlex

import pytest

import drydock


def pytest_addoption(parser):
    group = parser.getgroup("drydock")
    group.addoption("--drydock-seed", type=int, metavar="N", help="run every test with a drydock_fabric with this seed alone")
    group.addoption("--drydock-keep", metavar="FOLDER", help="keep outputs, plans and traces of every such test here")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "drydock(profile, nics, faults, trace, seed, seeds): the simulated network of drydock_fabric; "
        "seeds=N runs the test with seeds 1 to N")


def _options(node):
    """Those of its markers: of the module, the class and the test, of which the nearest one decides."""
    options = {}
    for marker in reversed(list(node.iter_markers("drydock"))):
        if marker.args:
            pytest.fail(f"pytest.mark.drydock takes options by name, as profile='p5', and not {marker.args}", pytrace=False)
        if {"seed", "seeds"} & set(marker.kwargs):
            options = {name: value for name, value in options.items() if name not in ("seed", "seeds")}
        options.update(marker.kwargs)
    return options


def _seeds(node, config):
    """The seeds of a test: of the command line, of its marker, or 1."""
    options = _options(node)
    only = config.getoption("--drydock-seed")
    if only is not None:
        return [only]
    if "seeds" in options:
        return list(range(1, options["seeds"] + 1) if isinstance(options["seeds"], int) else options["seeds"])
    return [options.get("seed", 1)]


def pytest_generate_tests(metafunc):
    if "drydock_fabric" in metafunc.fixturenames:
        seeds = _seeds(metafunc.definition, metafunc.config)
        metafunc.parametrize("drydock_fabric", seeds, indirect=True, ids=lambda seed: f"seed{seed}")


def _folder_of(node):
    """A name that no other test has, and that stays one folder of a name that any file system takes."""
    readable = re.sub(r"[^A-Za-z0-9_.\[\]-]+", "_", node.nodeid)[:100]
    return f"{readable}-{hashlib.sha1(node.nodeid.encode()).hexdigest()[:8]}"


def _again(item, seed):
    """The words of pytest that run this very test again."""
    path, bracket, parameters = item.nodeid.partition("[")
    name = shlex.quote(item.config.cwd_relative_nodeid(path) + bracket + parameters)
    # Where a marker has a seed several times, pytest has numbered them: with this seed alone the test would have another name.
    return name if _seeds(item, item.config).count(seed) > 1 else f"{name} --drydock-seed={seed}"


@pytest.fixture
def drydock_fabric(request):
    """A drydock.Fabric with the marker's options, closed after the test. A test that pytest does not run once for each of its seeds, as
    a method of unittest.TestCase or one that calls getfixturevalue, has the first of them."""
    options = _options(request.node)
    options.pop("seeds", None)
    options["seed"] = request.param if hasattr(request, "param") else _seeds(request.node, request.config)[0]
    keep = request.config.getoption("--drydock-keep")
    if keep is not None:
        # From where pytest was called: the test may be in a folder of its own by now.
        options["keep"] = os.path.join(str(request.config.invocation_params.dir), keep, _folder_of(request.node))
    try:
        env = drydock.fabric(**options)
    except drydock.NotInstalled as missing:
        if os.environ.get("DRYDOCK_EFA_RUN"):  # whoever names the program wants these tests
            raise
        pytest.skip(str(missing))
    request.node.drydock_env = env
    with env:
        yield env


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    env = getattr(item, "drydock_env", None)
    if env is None or not report.failed:  # also where a fixture that uses it has failed, before the test or after it
        return
    lines = [f"seed {env.seed}, profile {env.profile}, faults {env.faults}",
             f"again: pytest {_again(item, env.seed)} --drydock-keep=drydock-failure", *env.findings()]
    for process in env.processes:
        tail = (process.output + process.errors).splitlines()[-5:]
        lines += [f"{process.name}: status {process.returncode}", *(f"  {line}" for line in tail)]
    report.sections.append(("drydock", "\n".join(lines)))
