"""The project's C++ rules: warnings are errors in our code, and only there; hermetic defaults for tests."""

load("@drydock_system//:config.bzl", "HAVE_HWLOC", "HAVE_LIBFABRIC")

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

# Turned on by every package that holds C++ (the first needs Clang, and does nothing with GCC).
FEATURES = ["layering_check"]

def _with_warnings(kwargs):
    kwargs["copts"] = _WARNINGS + kwargs.get("copts", [])
    return kwargs

def dd_cc_library(**kwargs):
    native.cc_library(**_with_warnings(kwargs))

def dd_cc_binary(**kwargs):
    native.cc_binary(**_with_warnings(kwargs))

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
            deps = deps + ["@com_google_googletest//:gtest"],
        )
        srcs = []
        deps = [name + "_cases"]
    native.cc_test(
        name = name,
        size = size,
        srcs = srcs,
        deps = deps + ["@com_google_googletest//:gtest_main"],
        **_with_warnings(kwargs)
    )

def dd_cc_benchmark(deps = [], **kwargs):
    """A Google Benchmark binary, run by hand: `./bazelw run --config=opt //testing/benchmarks:NAME`."""
    native.cc_binary(
        testonly = True,
        deps = deps + ["@com_github_google_benchmark//:benchmark"],
        **_with_warnings(kwargs)
    )

def if_libfabric(value, otherwise = []):
    """`value` where libfabric was found, for the few targets that work without it too."""
    return value if HAVE_LIBFABRIC else otherwise

def if_hwloc(value, otherwise = []):
    """`value` where hwloc was found, for the few targets that work without it too."""
    return value if HAVE_HWLOC else otherwise
