"""Our headers under the names that sources include: drydock/PACKAGE/FILE.

A package has one folder of links, _include, in the build's output, and who depends on one of its libraries looks for
headers there. A project with a folder `sim` or `fabric` of its own never finds ours by mistake, nor do we find its.
See docs/decisions/0048-names-of-our-own.md.
"""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")

_FOLDER = "_include"

# Mutated sources include what only the sources that they replace do.
_MUTATED = [str(Label("//testing/mutants:__pkg__"))]

def _link_impl(ctx):
    file = ctx.label.name[len(_FOLDER) + 1:]
    link = ctx.actions.declare_file("%s/drydock/%s/%s" % (_FOLDER, ctx.label.package, file))
    ctx.actions.symlink(output = link, target_file = ctx.file.header)
    return [DefaultInfo(files = depset([link]))]

_link = rule(
    implementation = _link_impl,
    attrs = {"header": attr.label(allow_single_file = True, mandatory = True)},
)

def _folder_impl(ctx):
    parts = [ctx.bin_dir.path, ctx.label.workspace_root, ctx.label.package, _FOLDER]
    folder = "/".join([part for part in parts if part])
    return [CcInfo(compilation_context = cc_common.create_compilation_context(quote_includes = depset([folder])))]

_folder = rule(implementation = _folder_impl)

def _is_header(file):
    # Of another package it is linked there.
    return "//" not in file and (file.endswith(".h") or file.endswith(".inc"))

def _link_of(file):
    """The label of the link for this header of the package that calls; made the first time."""
    name = "%s/%s" % (_FOLDER, file.lstrip(":"))
    if not native.existing_rule(name):
        _link(name = name, header = file, tags = ["manual"], testonly = False, visibility = _MUTATED)
    return name

def with_links(kwargs):
    """The arguments of a rule with links in place of its headers, and with the package's folder among its dependencies."""
    changed = dict(kwargs)
    for attribute in ["srcs", "hdrs", "textual_hdrs"]:
        files = kwargs.get(attribute, [])
        if type(files) == "list" and [file for file in files if _is_header(file)]:
            changed[attribute] = [_link_of(file) if _is_header(file) else file for file in files]
    if changed == kwargs:
        return kwargs
    if not native.existing_rule(_FOLDER):
        _folder(name = _FOLDER, tags = ["manual"], testonly = False, visibility = ["//visibility:private"])
    changed["deps"] = kwargs.get("deps", []) + [":" + _FOLDER]
    return changed
