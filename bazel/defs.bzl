"""The project's C++ rules: warnings are errors in our code, and only there; hermetic defaults for tests.

`dd_seed_test` is for the packages of other projects as well, which name Drydock's targets by Label.
"""

load("@drydock_system//:config.bzl", "CLANG_VERSION", "HAVE_ASIO", "HAVE_HWLOC", "HAVE_LIBFABRIC", "HAVE_PMIX", "IS_GCC", "PACKAGE_COPTS")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//bazel:include.bzl", "with_links")
load("//bazel:precompiled.bzl", "precompiled_copts")

# Whether this is the repository that is built, or a dependency of it.
_HERE = Label("//bazel:defs.bzl")
_OUR_NAME = _HERE.repo_name if hasattr(_HERE, "repo_name") else _HERE.workspace_name
IS_OURS = _OUR_NAME == ""

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wunused",
    "-Wvla",
    "-Wno-missing-field-initializers",  # fields left out of a designated initialiser have their defaults
    "-Werror",
]

# Elsewhere nobody asks for our warnings, and .bazelrc does not ask for C++20.
COPTS = (_WARNINGS if IS_OURS else ["-std=c++20"]) + PACKAGE_COPTS

# Turned on by every package that holds C++ (the first needs Clang, and does nothing with GCC).
FEATURES = ["layering_check"]

# GCC 12 takes the destruction of a coroutine for the likeliest reason to enter it, and puts everything else behind a jump.
# This leaves the blocks of a function in the order of its source.
_OPTIMISED = ["-freorder-blocks-algorithm=simple"] if IS_GCC else []

def _label(name):
    # A select and a list of dependencies would take it for a target of the package that calls.
    return str(Label(name))

def _with_options(kwargs):
    kwargs["copts"] = COPTS + kwargs.get("copts", []) + select({
        _label("//bazel:optimised"): _OPTIMISED,
        "//conditions:default": [],
    })
    return kwargs

_GTEST = _label("@com_google_googletest//:gtest")
_GTEST_MAIN = _label("@com_google_googletest//:gtest_main")

# Packages that see the simulated world (sim/world) with those below them, as do their users. The world depends on none of them.
_WITH_A_WORLD = [
    "apps",
    "sim/capture",
    "sim/checks/programs",
    "sim/cluster",
    "sim/coverage",
    "sim/driver",
    "sim/explore",
    "sim/hosts",
    "sim/rdm",
    "sim/testing",
    "sim/tracing",
    "sim/verbs",
    "testing/faults",
    "testing/harness",
]

def _is_below(package, roots):
    return bool([root for root in roots if package == root or package.startswith(root + "/")])

def _sees_a_world(deps):
    if _is_below(native.package_name(), _WITH_A_WORLD) or "//sim/world" in deps:
        return True
    return bool([dep for dep in deps if dep.startswith("//") and _is_below(dep[2:].split(":")[0], _WITH_A_WORLD)])

def _precompiled_for(srcs, deps):
    """The precompiled header, of those in //bazel, for these sources of ours; or None: they are no C++, or not known yet."""
    if type(deps) != "list" or type(srcs) != "list" or not [src for src in srcs if src.endswith(".cc")]:
        return None
    googletest = [dep for dep in deps if dep.endswith("//:gtest") or dep.endswith("//:gtest_main")]
    if _sees_a_world(deps):
        return "world_googletest" if googletest else "world"
    return "googletest" if googletest else "packages"

# A library is compiled once and run by many tests: those of the simulator take a fifth of the time, and a source of it a sixth
# more to compile. Clang inlines nothing of ours here, so that a debugger still sees every call.
OPTIMISED = ["-O1"]

# What programs do themselves takes no time beside what they simulate, and JSON is templates: optimised, a source of it takes
# twice as long to compile.
_JSON = "@nlohmann_json//:json"

def _is_worth_optimising(kwargs):
    return not kwargs.get("testonly") and not _is_below(native.package_name(), ["apps"]) and _JSON not in kwargs.get("deps", [])

def _with_precompiled(kwargs, optimised = False):
    deps = kwargs.get("deps", [])
    name = _precompiled_for(kwargs.get("srcs", []), deps)
    optimised = optimised and name in ["packages", "world"]
    if optimised:
        name += "_optimised"
    if IS_OURS and CLANG_VERSION and name:
        kwargs["deps"] = deps + select({
            _label("//bazel:fastbuild"): [_label("//bazel:" + name)],
            "//conditions:default": [],
        })
        kwargs["copts"] = kwargs.get("copts", []) + select({
            _label("//bazel:fastbuild"): precompiled_copts(name) + (OPTIMISED if optimised else []),
            "//conditions:default": [],
        })
    return kwargs

def _repository():
    return native.repo_name() if hasattr(native, "repo_name") else native.repository_name().lstrip("@")

def _ours(kwargs, optimised = False):
    ready = _with_options(_with_precompiled(kwargs, optimised))

    # dd_seed_test in another repository: its headers have names of their own.
    return with_links(ready) if _repository() == _OUR_NAME else ready

def dd_cc_library(**kwargs):
    # No shared library of each: nothing links one, and //... would make them all.
    cc_library(linkstatic = True, **_ours(kwargs, optimised = _is_worth_optimising(kwargs)))

def dd_cc_binary(**kwargs):
    cc_binary(**_ours(kwargs))

def dd_cc_test(name, size = "small", srcs = [], deps = [], cases_for = None, **kwargs):
    """A GoogleTest test; the main function comes with it.

    With `cases_for`, a visibility, its tests are also a library, NAME_cases, for other tests to run."""
    if cases_for:
        dd_cc_library(
            name = name + "_cases",
            testonly = True,
            srcs = srcs,
            alwayslink = True,
            features = FEATURES,
            visibility = cases_for,
            deps = deps + [_GTEST],
        )
        srcs = []
        deps = [name + "_cases"]
    kwargs["srcs"] = srcs
    kwargs["deps"] = deps + [_GTEST_MAIN]
    cc_test(
        name = name,
        size = size,
        **_ours(kwargs)
    )

def dd_seed_test(name, srcs, deps = [], shards = 1, tags = [], **kwargs):
    """A test of coroutines with many seeds (testing/harness/seed_test.h); the main function comes with it.

    Has the tag `many_seeds`. From the command line, for all tests of the target: `--test_env=DRYDOCK_SEEDS=5000`, how many
    seeds; `--test_env=DRYDOCK_SEED=7`, that one alone; `--test_env=DRYDOCK_CAPSULE=FILE`, a run that failed elsewhere. A run that
    fails leaves such a file, SUITE.NAME-SEED.capsule, among the test's undeclared outputs (bazel-testlogs/.../test.outputs).

    Args:
      name: of the target.
      srcs: with DD_SEED_TEST, DD_TEST_UNDER_FAULTS and no other tests.
      deps: of the sources; testing/harness:seed_test is one without being named.
      shards: of how many processes each runs its part of the seeds, 25 at a time.
      tags: besides `many_seeds`.
      **kwargs: what every test takes.
    """
    dd_cc_test(
        name = name,
        srcs = srcs,
        shard_count = shards if shards > 1 else None,
        tags = tags + ["many_seeds"],
        deps = deps + [_label("//testing/harness:seed_test")],
        **kwargs
    )

def dd_cc_benchmark(deps = [], **kwargs):
    """A Google Benchmark binary, run by hand: `./bazelw run --config=opt //testing/benchmarks:NAME`."""
    kwargs["deps"] = deps + ["@com_github_google_benchmark//:benchmark"]
    cc_binary(
        testonly = True,
        **_ours(kwargs)
    )

def if_libfabric(value, otherwise = []):
    """`value` where libfabric was found, for the few targets that work without it too."""
    return value if HAVE_LIBFABRIC else otherwise

def if_hwloc(value, otherwise = []):
    """`value` where hwloc was found, for the few targets that work without it too."""
    return value if HAVE_HWLOC else otherwise

def if_pmix(value, otherwise = []):
    """`value` where PMIx's headers were found, for the few targets that work without them too."""
    return value if HAVE_PMIX else otherwise

def if_timed_asio(value):
    """`value` where asio was found and the build is optimised: its headers are heavy, and only what is timed wants it."""
    if not HAVE_ASIO:
        return []
    return select({
        "//bazel:optimised": value,
        "//conditions:default": [],
    })
