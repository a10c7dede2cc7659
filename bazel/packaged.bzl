"""Repositories made from files that the machine's packages already put on disk.

Debian 12 ships Bazel 4.2.3 together with the rule sets that every C++ build asks for, but Bazel itself
would fetch those from the network. `packaged_repository` gives them from disk, mending a file where the
packaged rule set is newer than the packaged Bazel; `empty_repository` stands in for what a C++ build names
but never uses. See docs/decisions/0001-offline-bazel.md.
"""

def _packaged_repository_impl(ctx):
    root = ctx.path(ctx.attr.path)
    if not root.exists:
        fail("%s is missing: run ./bazelw, which installs the package %s" % (ctx.attr.path, ctx.attr.package))
    # `cp -RL` rather than symbolic links: the mended files must not be written through to the package.
    copied = ctx.execute(["cp", "-RL", str(root) + "/.", str(ctx.path("."))])
    if copied.return_code != 0:
        fail("copying %s failed: %s" % (ctx.attr.path, copied.stderr))
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    for file, swaps in ctx.attr.mend.items():
        text = ctx.read(file)
        for i in range(0, len(swaps), 2):
            if swaps[i] not in text:
                fail("%s/%s no longer holds %r: the package changed, drop this mend" % (ctx.attr.path, file, swaps[i]))
            text = text.replace(swaps[i], swaps[i + 1])
        ctx.file(file, text)

packaged_repository = repository_rule(
    implementation = _packaged_repository_impl,
    local = True,
    attrs = {
        "path": attr.string(mandatory = True, doc = "Folder that the package installed."),
        "package": attr.string(mandatory = True, doc = "Package name, for the message when it is missing."),
        "mend": attr.string_list_dict(doc = "File -> [old text, new text, ...]; each old text must be found."),
    },
)

def _empty_repository_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    for file, text in ctx.attr.files.items():
        ctx.file(file, text)

empty_repository = repository_rule(
    implementation = _empty_repository_impl,
    local = True,
    attrs = {"files": attr.string_dict(doc = "File -> content of the few files that Bazel looks at.")},
)

# Bazel 4.2.3 has no `use_cpp_toolchain`; the list is what later versions of it return.
_WITHOUT_USE_CPP_TOOLCHAIN = [
    "\"find_cpp_toolchain\", \"use_cpp_toolchain\")",
    "\"find_cpp_toolchain\")",
    "use_cpp_toolchain()",
    "[\"@bazel_tools//tools/cpp:toolchain_type\"]",
]

def debian_rule_sets():
    """Declares every repository that a C++ build on Debian's Bazel 4.2.3 would otherwise download."""
    packaged_repository(
        name = "rules_cc",
        path = "/usr/share/bazel/rules/cc",
        package = "bazel-rules-cc",
        mend = {
            "cc/private/rules_impl/cc_flags_supplier.bzl": _WITHOUT_USE_CPP_TOOLCHAIN,
            "cc/private/rules_impl/compiler_flag.bzl": _WITHOUT_USE_CPP_TOOLCHAIN,
        },
    )
    packaged_repository(name = "rules_java", path = "/usr/share/bazel/rules/java", package = "bazel-rules-java")
    packaged_repository(name = "rules_proto", path = "/usr/share/bazel/rules/proto", package = "bazel-rules-proto")
    packaged_repository(name = "bazel_skylib", path = "/usr/share/bazel/tools/skylib", package = "bazel-skylib")
    packaged_repository(name = "platforms", path = "/usr/share/bazel/tools/platforms", package = "bazel-platforms")
    empty_repository(
        name = "rules_shell",  # later versions of Bazel have no such rules of their own
        files = {
            "shell/BUILD": "",
            "shell/sh_binary.bzl": "sh_binary = native.sh_binary\n",
            "shell/sh_test.bzl": "sh_test = native.sh_test\n",
        },
    )
    empty_repository(
        name = "remote_coverage_tools",
        files = {"BUILD": "filegroup(name = \"coverage_report_generator\", srcs = [], visibility = [\"//visibility:public\"])\n"},
    )
