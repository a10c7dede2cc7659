"""A shared library of our own code, for programs that are not ours (//sim/verbs)."""

load("@drydock_system//:config.bzl", "ABSEIL_VERSION")
load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

# Debian 12's archives of Abseil can be in a shared library, with abseil_parts.cc beside them: such a library needs no other
# but libc, for the C++ library is in it as well. Elsewhere the library is linked with the machine's shared objects.
STANDS_ALONE = ABSEIL_VERSION == "20220623"

def _shared(flag):
    # bazel/system.bzl has chosen the archives, for everything else.
    if STANDS_ALONE:
        return flag
    if flag.startswith("-l:lib") and flag.endswith(".a"):
        return "-l" + flag[len("-l:lib"):-len(".a")]
    return flag

def _impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).linking_context
    inputs = [
        cc_common.create_linker_input(
            owner = given.owner,
            libraries = depset(given.libraries),
            user_link_flags = depset([_shared(flag) for flag in given.user_link_flags]),
            additional_inputs = depset(given.additional_inputs),
        )
        for given in context.linker_inputs.to_list()
    ]
    if STANDS_ALONE:
        # Last of all, for the archives of Abseil need it. The toolchain adds the shared one, which then has nothing to give.
        inputs.append(cc_common.create_linker_input(
            owner = ctx.label,
            user_link_flags = depset(["-l:libstdc++.a", "-Wl,--as-needed"]),
        ))
    linked = cc_common.link(
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        linking_contexts = [cc_common.create_linking_context(linker_inputs = depset(inputs, order = "topological"))],
        user_link_flags = [
            "-Wl,--version-script=" + ctx.file.exports.path,
            "-Wl,-soname,lib%s.so" % ctx.label.name,
            "-Wl,-z,defs",
            # A program may close it (dlclose), and libc calls at the end what it has registered there: it stays.
            "-Wl,-z,nodelete",
        ] + (["-static-libgcc"] if STANDS_ALONE else ["-lstdc++", "-lm"]),
        additional_inputs = [ctx.file.exports],
        name = ctx.label.name,
        output_type = "dynamic_library",
    )
    library = linked.library_to_link.resolved_symlink_dynamic_library or linked.library_to_link.dynamic_library
    return [DefaultInfo(files = depset([library]), runfiles = ctx.runfiles([library]))]

_dd_shared_library = rule(
    implementation = _impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "exports": attr.label(allow_single_file = True, mandatory = True),
        "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def dd_shared_library(name, deps, exports):
    """libNAME.so with the functions that `exports`, a version script, lists. `deps` are alwayslink, and their code is in it."""
    _dd_shared_library(
        name = name,
        deps = deps + (["//bazel:abseil_parts"] if STANDS_ALONE else []),
        exports = exports,
    )
