"""Libraries that come from the machine's packages, required ones and optional ones.

Required (Abseil, GoogleTest, Google Benchmark, nlohmann/json): a clear failure names the package.
Optional (libfabric, rdma-core's headers, hwloc, CUDA, PMIx's headers, asio): searched in this order: the environment override, the EFA installer's prefix,
pkg-config, system paths. An override that names a folder without the library is reported in one line. Where one is absent its target is marked incompatible, so that Bazel skips everything
that needs it, and `HAVE_...` in `@drydock_system//:config.bzl` is False for the few places that must choose. Beside the target that links a library, `headers` does
not: for code that loads it (fabric/libfabric/library.h). The same file knows whether
the compiler is Clang, whose precompiled headers make sources cheaper (precompiled.bzl).
"""

# Changing one of these, or a package (./bazelw sets DRYDOCK_PACKAGES to a checksum of them), searches again.
_ENVIRON = ["DRYDOCK_PACKAGES", "PKG_CONFIG_PATH", "DRYDOCK_LIBFABRIC", "DRYDOCK_RDMA_CORE", "DRYDOCK_HWLOC", "DRYDOCK_CUDA", "CUDA_HOME", "DRYDOCK_PMIX", "DRYDOCK_ASIO"]

_LOAD = "load(\"@rules_cc//cc:defs.bzl\", \"cc_library\")\n\n"

_LIBRARY = """cc_library(
    name = "{name}",
    hdrs = {hdrs},
    includes = {includes},
    linkopts = {linkopts},
    target_compatible_with = {compatible},
    visibility = ["//visibility:public"],
)
"""

def _library(name, linkopts, include = "", compatible = True):
    return _LIBRARY.format(
        name = name,
        hdrs = "glob([\"%s/**\"])" % include if include else "[]",
        includes = repr([include] if include else []),
        linkopts = repr(linkopts),
        compatible = repr([] if compatible else ["@platforms//:incompatible"]),
    )

def _pkg_config(ctx, *args):
    if not ctx.which("pkg-config"):
        return None
    result = ctx.execute(["pkg-config"] + list(args))
    return result.stdout.strip() if result.return_code == 0 else None

def _static(option):
    # Archives, not shared objects: test binaries and apps then run on a machine that lacks Abseil.
    return "-l:lib%s.a" % option[2:] if option.startswith("-labsl_") else option

# ---- required ----

def _packaged_libraries_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    builds = {}
    for label, module in ctx.attr.targets.items():
        package, name = label.split(":")
        libs = _pkg_config(ctx, "--libs", module)
        if libs == None:
            fail("pkg-config does not know '%s': run ./bazelw, which installs the package %s" % (module, ctx.attr.package))
        options = [_static(option) for option in libs.split(" ") if option]
        builds[package] = builds.get(package, _LOAD) + _library(name, options)
    for package, text in builds.items():
        ctx.file((package + "/" if package else "") + "BUILD", text)

_packaged_libraries = repository_rule(
    implementation = _packaged_libraries_impl,
    local = True,
    environ = _ENVIRON,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Debian package, for the message when it is missing."),
        "targets": attr.string_dict(doc = "Label in this repository -> pkg-config module."),
    },
)

# ---- optional ----

def _override(ctx):
    """Returns (variable, value) of the first override that is set, or None."""
    for variable in ctx.attr.overrides:
        if ctx.os.environ.get(variable):
            return variable, ctx.os.environ[variable].rstrip("/")  # "/usr/" is /usr
    return None

def _library_folder(ctx, prefix):
    for folder in ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"]:
        for suffix in [".so", ".a"]:
            found = ctx.path("%s/%s/lib%s%s" % (prefix, folder, ctx.attr.library, suffix))
            if found.exists:
                return str(found.dirname)
    return None

def _from_prefix(ctx, prefix):
    """Returns (link options, include folder) for an installation under `prefix`, or None."""
    header = ctx.path("%s/include/%s" % (prefix, ctx.attr.header))
    folder = _library_folder(ctx, prefix) if ctx.attr.library else None
    if not header.exists or (ctx.attr.library and not folder):
        return None
    linked = folder and not ctx.attr.headers_only
    if prefix == "/usr":
        return ["-l" + ctx.attr.library] if linked else [], ""
    ctx.symlink("%s/include" % prefix, "include")
    if not linked:
        return [], "include"
    return ["-L" + folder, "-Wl,-rpath," + folder, "-l" + ctx.attr.library], "include"

def _from_override(ctx, variable, prefix):
    """Returns what `_from_prefix` does. A prefix without the library is a line on the screen, and no failure:
    CUDA_HOME may be set on a machine for other programs, and most targets need none of these libraries."""
    if prefix == "none":
        return None
    found = _from_prefix(ctx, prefix)
    if not found:
        library = " with lib" + ctx.attr.library if ctx.attr.library else ""

        # buildifier: disable=print
        print("%s=%s holds no include/%s%s: targets that need %s are skipped" %
              (variable, prefix, ctx.attr.header, library, ctx.attr.target))
    return found

def _search(ctx):
    override = _override(ctx)
    if override:
        return _from_override(ctx, override[0], override[1])
    prefixes = list(ctx.attr.prefixes)
    prefix = _pkg_config(ctx, "--variable=prefix", ctx.attr.module) if ctx.attr.module else None
    for candidate in prefixes + ([prefix] if prefix else []) + ["/usr", "/usr/local"]:
        found = _from_prefix(ctx, candidate)
        if found:
            return found
    return None

def _tool(ctx):
    """Returns (path, version) of the library's tool, or two empty strings.

    With an override, only that installation's; otherwise also one on the PATH.
    """
    override = _override(ctx)
    prefixes = [override[1]] if override else ctx.attr.prefixes
    candidates = [ctx.path("%s/bin/%s" % (prefix, ctx.attr.tool)) for prefix in prefixes if prefix != "none"]
    on_path = None if override else ctx.which(ctx.attr.tool)
    for candidate in candidates + ([on_path] if on_path else []):
        if candidate.exists:
            result = ctx.execute([candidate, "--version"])
            if result.return_code == 0:
                return str(candidate), result.stdout.strip().split("\n")[-1]
    return "", ""

def _optional_library_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    found = _search(ctx)
    linkopts, include = found if found else ([], "")
    searched = [option for option in linkopts if option.startswith("-Wl,-rpath")]
    ctx.file("BUILD", _LOAD + _library(ctx.attr.target, linkopts, include, compatible = bool(found)) +
                      _library("headers", searched, include, compatible = bool(found)))
    tool, version = _tool(ctx) if found and ctx.attr.tool else ("", "")
    ctx.file("config.bzl", "HAVE = %r\nTOOL = %r\nTOOL_VERSION = %r\n" % (bool(found), tool, version))

_optional_library = repository_rule(
    implementation = _optional_library_impl,
    local = True,
    environ = _ENVIRON,
    attrs = {
        "header": attr.string(mandatory = True, doc = "A header that proves the installation, below include/."),
        "headers_only": attr.bool(doc = "The library itself is not linked."),
        "library": attr.string(doc = "Name after -l. Empty: headers are all that there is."),
        "module": attr.string(doc = "pkg-config module."),
        "overrides": attr.string_list(doc = "Environment variables that name a prefix, or 'none' to do without."),
        "prefixes": attr.string_list(doc = "Prefixes searched before pkg-config."),
        "tool": attr.string(doc = "Program in the installation's bin/ that builds need, if it is there."),
        # The repository's own name is not it: Bazel 7 and later give a repository a longer one.
        "target": attr.string(mandatory = True, doc = "Name of the library in its repository."),
    },
)

_CONFIG = """load("@libfabric//:config.bzl", _libfabric = "HAVE")
load("@hwloc//:config.bzl", _hwloc = "HAVE")
load("@cuda//:config.bzl", _cuda = "HAVE", _nvcc = "TOOL", _nvcc_version = "TOOL_VERSION")
load("@asio//:config.bzl", _asio = "HAVE")
load("@pmix//:config.bzl", _pmix = "HAVE")

HAVE_LIBFABRIC = _libfabric
HAVE_HWLOC = _hwloc
HAVE_CUDA = _cuda
HAVE_ASIO = _asio
HAVE_PMIX = _pmix
NVCC = _nvcc  # absolute path, or empty
NVCC_VERSION = _nvcc_version
IS_GCC = %r  # whether the compiler that Bazel uses is one
CLANG_VERSION = %r  # of the compiler that Bazel uses; empty if it cannot precompile headers, or if the libraries are not the machine's
PACKAGE_COPTS = %r  # what sources need that use the machine's C++ libraries
GOOGLETEST_VERSION = %r
ABSEIL_VERSION = %r
JSON_VERSION = %r
"""

def _compiler(ctx):
    """Its path and its version; both empty if there is none."""
    name = ctx.os.environ.get("CC") or "gcc"  # as Bazel's own search for a compiler
    compiler = ctx.path(name) if name.startswith("/") else ctx.which(name)
    result = ctx.execute([compiler, "--version"]) if compiler else None
    return (compiler, result.stdout) if result and result.return_code == 0 else ("", "")

def _has_movable_headers(ctx, clang):
    """Whether its precompiled headers name their sources relative to the -isysroot of the reader (precompiled.bzl).

    Clang 21 keeps the whole path, in spite of -relocatable-pch, which Bazel refuses in a list of dependencies."""
    ctx.file("probe/probe.h", "")
    ctx.file("probe/probe.cc", "")
    folder = str(ctx.path("probe").realpath)
    make = ["-x", "c++-header", "-relocatable-pch", "-isysroot", folder, "probe.h", "-o", "probe.pch"]
    use = ["-isysroot", ".", "-include-pch", "probe.pch", "-MD", "-MF", "probe.d", "-c", "probe.cc", "-o", "probe.o"]
    for arguments in [make, use]:
        if ctx.execute([clang] + arguments, working_directory = folder).return_code != 0:
            return False
    return folder not in ctx.read("probe/probe.d")

def _package_copts(clang_version):
    """Clang 18 and later write a template's constraints into its symbols; GCC, which has made the packages, does not."""
    major = clang_version.partition("clang version ")[2].partition(".")[0]
    return ["-fclang-abi-compat=17"] if major.isdigit() and int(major) > 17 else []

def _config_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    ctx.file("BUILD", "")
    compiler, version = _compiler(ctx)
    is_clang = "clang version" in version and "Apple" not in version  # whose precompiled headers nobody has tried
    precompiles = ctx.attr.packaged and is_clang and _has_movable_headers(ctx, compiler)
    copts = []
    versions = [""] * 3
    if ctx.attr.packaged:
        copts = _package_copts(version)
        versions = [_pkg_config(ctx, "--modversion", module) or "" for module in ["gmock", "absl_base", "nlohmann_json"]]
    ctx.file("config.bzl", _CONFIG % tuple(["Free Software Foundation" in version, version.split("\n")[0] if precompiles else "", copts] + versions))

_config = repository_rule(
    implementation = _config_impl,
    local = True,
    environ = _ENVIRON + ["CC"],
    attrs = {"packaged": attr.bool(doc = "Whether GoogleTest, Abseil and nlohmann/json are the machine's, too.")},
)

_ABSL = {
    "algorithm": ["container"],
    "base": ["core_headers"],
    "cleanup": ["cleanup"],
    "container": ["flat_hash_map", "flat_hash_set", "inlined_vector"],
    "flags": ["flag", "reflection"],
    "numeric": ["int128"],
    "status": ["status", "statusor"],
    "strings": ["strings", "str_format"],
    "time": ["time"],
    "types": ["span"],
}

# Bazel's target -> pkg-config's module, where the names differ.
_ABSL_MODULES = {
    "algorithm:container": "absl_algorithm_container",
    "flags:flag": "absl_flags",
    "flags:reflection": "absl_flags_reflection",
}

def _absl_targets():
    targets = {}
    for package, names in _ABSL.items():
        for name in names:
            targets["absl/%s:%s" % (package, name)] = _ABSL_MODULES.get("%s:%s" % (package, name), "absl_" + name)
    return targets

# Repository -> the package that it is made from, and what is in it.
PACKAGED_LIBRARIES = {
    "com_github_google_benchmark": struct(package = "libbenchmark-dev", targets = {":benchmark": "benchmark"}),
    "com_google_absl": struct(package = "libabsl-dev", targets = _absl_targets()),
    "com_google_googletest": struct(package = "libgmock-dev", targets = {":gtest": "gmock", ":gtest_main": "gmock_main"}),
    "nlohmann_json": struct(package = "nlohmann-json3-dev", targets = {":json": "nlohmann_json"}),
}

def packaged_library(name):
    """Declares one of PACKAGED_LIBRARIES."""
    library = PACKAGED_LIBRARIES[name]
    _packaged_libraries(name = name, package = library.package, targets = library.targets)

def optional_libraries(packaged = False):
    """Declares @libfabric, @rdma_core, @hwloc, @cuda, @pmix, @asio and @drydock_system; `packaged`: all other libraries are the machine's, too."""
    _optional_library(
        name = "libfabric",
        header = "rdma/fabric.h",
        library = "fabric",
        module = "libfabric",
        overrides = ["DRYDOCK_LIBFABRIC"],
        prefixes = ["/opt/amazon/efa"],
        target = "libfabric",
    )
    _optional_library(
        name = "rdma_core",
        header = "infiniband/efadv.h",
        headers_only = True,  # //sim/verbs takes the libraries' place
        library = "ibverbs",
        module = "libibverbs",
        overrides = ["DRYDOCK_RDMA_CORE"],
        target = "rdma_core",
    )
    _optional_library(
        name = "hwloc",
        header = "hwloc.h",
        library = "hwloc",
        module = "hwloc",
        overrides = ["DRYDOCK_HWLOC"],
        target = "hwloc",
    )
    _optional_library(
        name = "cuda",
        header = "cuda.h",
        library = "cudart_static",
        overrides = ["DRYDOCK_CUDA", "CUDA_HOME"],
        prefixes = ["/usr/local/cuda"],
        target = "cuda",
        tool = "nvcc",
    )
    _optional_library(
        name = "pmix",
        header = "pmix.h",
        headers_only = True,  # the library is opened at run time
        module = "pmix",
        overrides = ["DRYDOCK_PMIX"],
        target = "pmix",
    )
    _optional_library(
        name = "asio",
        header = "asio.hpp",
        overrides = ["DRYDOCK_ASIO"],
        target = "asio",
    )
    _config(name = "drydock_system", packaged = packaged)

def system_libraries():
    """Declares every outside library, for a WORKSPACE that must load with no network."""
    for name in PACKAGED_LIBRARIES:
        packaged_library(name)
    optional_libraries(packaged = True)
