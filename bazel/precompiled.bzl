"""Headers that Clang reads once and keeps, for those that cost every source more than the source itself.

A precompiled header (PCH) is used by giving every source `-include-pch NAME.pch`. Clang refuses one that was made with other
options. See docs/decisions/0020-precompiled-headers.md.
"""

load("@drydock_system//:config.bzl", "ABSEIL_VERSION", "CLANG_VERSION", "GOOGLETEST_VERSION", "JSON_VERSION")
load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

# The compiler and the packages are no inputs that Bazel sees. In the command line, another version of one of them compiles
# everything anew.
_VERSIONS = "-DDRYDOCK_VERSIONS=%d" % hash(", ".join([CLANG_VERSION, ABSEIL_VERSION, GOOGLETEST_VERSION, JSON_VERSION]))

# As layering_check has them, the second since Bazel 7: a header and its readers must agree, and without that feature they
# change nothing.
_MODULES = ["-fmodules-strict-decluse", "-Xclang", "-fno-cxx-modules"]

# What a source that includes //bazel:NAME needs in its copts.
def precompiled_copts(name):
    return [_VERSIONS, "-isysroot", "."] + _MODULES + ["-include-pch", "$(BINDIR)/bazel/%s.pch" % name]

# Every action has a folder of its own, which /proc/self/cwd names everywhere: what lies in it is written down relative to it,
# and found relative to the -isysroot of the reader.
_HERE = "/proc/self/cwd"

_MAKE = [
    "-x",
    "c++-header",
    "-fpch-instantiate-templates",
    "-relocatable-pch",
    "-isysroot",
    _HERE,
    "-Xclang",
    "-fno-pch-timestamp",  # the same bytes whenever it is made
] + _MODULES

def _compile_flags(ctx, toolchain, source, output, copts, context):
    """The command line of a C++ source of this configuration, except that `source` is a header."""
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + ["layering_check"],  # of targets: a header is none
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + copts + _MAKE,
        source_file = source.path,
        output_file = output.path,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        use_pic = toolchain.needs_pic_for_dynamic_libraries(feature_configuration = features),
    )
    arguments = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    environment = cc_common.get_environment_variables(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    return arguments, environment

def _precompiled_header_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    name = ctx.label.name
    source = ctx.actions.declare_file(name + ".h")
    precompiled = ctx.actions.declare_file(name + ".pch")

    includes = "".join(["#include <%s>\n" % header for header in ctx.attr.includes] +
                       ["#include \"%s\"\n" % header for header in ctx.attr.ours])
    dependencies = [dep[CcInfo] for dep in ctx.attr.deps]
    context = cc_common.merge_cc_infos(cc_infos = dependencies).compilation_context
    ctx.actions.write(source, includes)
    arguments, environment = _compile_flags(ctx, toolchain, source, precompiled, ctx.attr.copts + [_VERSIONS], context)
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = arguments,
        inputs = depset([source], transitive = [toolchain.all_files, context.headers]),
        outputs = [precompiled],
        env = dict(environment, PWD = _HERE),
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % source.short_path,
    )
    files = depset([source, precompiled])
    own = CcInfo(compilation_context = cc_common.create_compilation_context(headers = files))

    # Only the headers of what it depends on: a source that is compiled with it need not link it.
    headers = CcInfo(compilation_context = context)
    return [
        DefaultInfo(files = files),
        cc_common.merge_cc_infos(cc_infos = [own, headers]),
    ]

# Only for Clang, and only where all sources are compiled with -fPIC, as they are unless optimised.
precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(mandatory = True, doc = "Headers of the machine's packages, as a source names them."),
        "ours": attr.string_list(doc = "Headers of ours."),
        "deps": attr.label_list(providers = [CcInfo], doc = "The libraries that `ours` are of."),
        "copts": attr.string_list(doc = "The options that all users have."),
        "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
