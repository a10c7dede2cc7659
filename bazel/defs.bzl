"""The project's C++ rules: warnings are errors in our code, and only there; hermetic defaults for tests."""

load("@drydock_system//:config.bzl", "GCC_VERSION", "HAVE_ASIO", "HAVE_HWLOC", "HAVE_LIBFABRIC")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//bazel:precompiled.bzl", "precompiled_copts")

WARNINGS = [
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

# Turned on by every package that holds C++ (the first needs Clang, and does nothing with GCC).
FEATURES = ["layering_check"]

# GCC looks for garbage from its first 128 MB on, which a precompiled header fills by itself. Up to 600 MB it need not:
# 15 % less time for 10 % more memory (docs/decisions/0020-precompiled-headers.md).
_COMPILER = ["--param=ggc-min-heapsize=600000"] if GCC_VERSION else []

# GCC 12 takes the destruction of a coroutine for the likeliest reason to enter it, and puts everything else behind a jump.
# This leaves the blocks of a function in the order of its source.
_OPTIMISED = ["-freorder-blocks-algorithm=simple"] if GCC_VERSION else []

def _with_warnings(kwargs):
    kwargs["copts"] = WARNINGS + _COMPILER + kwargs.get("copts", []) + select({
        "//bazel:optimised": _OPTIMISED,
        "//conditions:default": [],
    })
    return kwargs

_GTEST = "@com_google_googletest//:gtest"
_GTEST_MAIN = "@com_google_googletest//:gtest_main"

def _precompiled_for(srcs, deps):
    """The precompiled header, of those in //bazel, for these sources of ours; or None: they are no C++, or not known yet."""
    if type(deps) != "list" or type(srcs) != "list" or not [src for src in srcs if src.endswith(".cc")]:
        return None
    return "googletest" if _GTEST in deps or _GTEST_MAIN in deps else "abseil"

def _with_precompiled(kwargs):
    deps = kwargs.get("deps", [])
    name = _precompiled_for(kwargs.get("srcs", []), deps)
    if GCC_VERSION and name:
        kwargs["deps"] = deps + select({
            "//bazel:fastbuild": ["//bazel:" + name],
            "//conditions:default": [],
        })
        kwargs["copts"] = kwargs.get("copts", []) + select({
            "//bazel:fastbuild": precompiled_copts(name),
            "//conditions:default": [],
        })
    return kwargs

def _ours(kwargs):
    return _with_warnings(_with_precompiled(kwargs))

def dd_cc_library(**kwargs):
    cc_library(**_ours(kwargs))

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

def if_timed_asio(value):
    """`value` where asio was found and the build is optimised: its headers are heavy, and only what is timed wants it."""
    if not HAVE_ASIO:
        return []
    return select({
        "//bazel:optimised": value,
        "//conditions:default": [],
    })
