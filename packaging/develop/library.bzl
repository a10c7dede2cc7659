"""What a project without Bazel links with: one archive of ours and of Abseil, and the headers of ours that belong to it."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

_ARCHIVE_FLAG = "-l:"

# The script of ar (-M) adds the members of archives; the members of one name are several members.
_MERGE = """
set -euo pipefail
archive=$1 ar=$2 cc=$3
shift 3
{
  echo "create $archive"
  for one in "$@"; do
    case "$one" in -l:*) one=$("$cc" -print-file-name="${one#-l:}") ;; esac
    [ -e "$one" ] || { echo "packaging: there is no $one" >&2; exit 1; }
    echo "addlib $one"
  done
  echo save
  echo end
} >"$archive.script"
"$ar" -M <"$archive.script"
rm "$archive.script"
[ -s "$archive" ]  # ar does not say when it stopped
"""

def _archive(library):
    return library.pic_static_library or library.static_library

def _impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    elsewhere = []
    for other in ctx.attr.besides:
        for given in other[CcInfo].linking_context.linker_inputs.to_list():
            elsewhere += [archive for archive in [_archive(library) for library in given.libraries] if archive]
            elsewhere += given.user_link_flags
    archives, of_the_system = [], []
    for given in info.linking_context.linker_inputs.to_list():
        for library in given.libraries:
            archive = _archive(library)
            if archive and archive not in archives and archive not in elsewhere:
                archives.append(archive)
        for flag in given.user_link_flags:
            if flag.startswith(_ARCHIVE_FLAG) and flag not in of_the_system and flag not in elsewhere:
                of_the_system.append(flag)
    merged = ctx.actions.declare_file("lib%s.a" % ctx.label.name)
    ctx.actions.run_shell(
        command = _MERGE,
        arguments = [merged.path, toolchain.ar_executable, toolchain.compiler_executable] +
                    [archive.path for archive in archives] + of_the_system,
        inputs = depset(archives, transitive = [toolchain.all_files]),
        outputs = [merged],
        mnemonic = "MergeArchives",
        use_default_shell_env = True,
    )
    headers = [
        header
        for header in info.compilation_context.headers.to_list()
        if not header.owner.workspace_name and "/_include/drydock/" in header.short_path
    ]
    return [info, DefaultInfo(
        files = depset([merged]),
        runfiles = ctx.runfiles([merged] + headers),
    )]

# libNAME.a from `deps` and all that they depend on, but for what the targets `besides` have already; in its runfiles also the headers, in the folders of bazel/include.bzl.
dd_merged_library = rule(
    implementation = _impl,
    attrs = {
        "besides": attr.label_list(providers = [CcInfo]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
