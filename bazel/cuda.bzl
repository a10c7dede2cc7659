"""Rules for CUDA sources: compiled by the nvcc of the machine, skipped where there is none.

The toolkit stays outside the workspace: it is named by its path (system.bzl finds it, DRYDOCK_CUDA and CUDA_HOME
override it), and its version is part of every action, so that another toolkit compiles again. No GPU is needed to
compile; what needs one to run is tagged by whoever writes the test.
"""

load("@drydock_system//:config.bzl", "HAVE_CUDA", "NVCC", "NVCC_VERSION")
load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")
load("//bazel:include.bzl", "with_links")

_ARCHITECTURE = "sm_90"  # Hopper, the GPUs of p5 and p5en; code for it runs on the next generations through PTX

_FLAGS = [
    "-std=c++20",
    "--Werror=all-warnings",
    "--expt-relaxed-constexpr",
    "-Xcompiler=-fPIC,-Wall,-Wextra,-Werror",
]

def _include_flags(context):
    flags = ["-I."]
    for folders, flag in [(context.includes, "-I"), (context.quote_includes, "-I"), (context.system_includes, "-isystem=")]:
        flags += [flag + folder for folder in folders.to_list() if folder != "."]
    return flags

_NVCC_ATTRS = {
    "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
    "_nvcc": attr.label(default = "//bazel:nvcc.sh", allow_single_file = True, executable = True, cfg = "exec"),
}

def _run_nvcc(ctx, source, context, mode, output, copts = []):
    """Declares the compilation of `source` to `output`: an object with the mode -c, the text of PTX with -ptx."""
    ctx.actions.run(
        executable = ctx.executable._nvcc,
        arguments = [NVCC] + _FLAGS + ["-arch=" + ctx.attr.arch, "-ccbin=" + find_cc_toolchain(ctx).compiler_executable] +
                    _include_flags(context) + copts + [mode, source.path, "-o", output.path],
        inputs = depset([source], transitive = [context.headers]),
        outputs = [output],
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "DRYDOCK_NVCC_VERSION": NVCC_VERSION},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc" % source.short_path,
    )

def _compile(ctx, source, context):
    object = ctx.actions.declare_file("_objs/%s/%s.o" % (ctx.label.name, source.basename))
    _run_nvcc(ctx, source, context, "-c", object, ctx.attr.copts)
    return object

def _cuda_library_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    own = CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs)))
    merged = cc_common.merge_cc_infos(cc_infos = [own] + [dep[CcInfo] for dep in ctx.attr.deps])
    context = merged.compilation_context
    objects = depset([_compile(ctx, source, context) for source in ctx.files.srcs])
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        linking_contexts = [merged.linking_context],
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = objects),
        CcInfo(compilation_context = context, linking_context = linking_context),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = dict({
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(doc = "More options for nvcc."),
        "arch": attr.string(default = _ARCHITECTURE, doc = "The GPU to compile for, as nvcc's -arch takes it."),
    }, **_NVCC_ATTRS),
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

_CHECK = """#!/bin/sh
# The kernels that were asked for are in the object, as device code and with a way to launch them.
status=0
for kernel in {kernels}; do
  if ! grep -q "\\.nv\\.info\\.[_A-Za-z0-9]*$kernel" {objects}; then
    echo "kernel $kernel is not in the compiled code" >&2
    status=1
  fi
done
exit $status
"""

def _cuda_compile_test_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name + ".sh")

    # A mangled name has its length in front: "4Post" is not "11PostReceive".
    names = ["%d%s" % (len(kernel), kernel) for kernel in ctx.attr.kernels]
    objects = [file for file in ctx.files.library if file.path.endswith(".o")]
    ctx.actions.write(
        script,
        _CHECK.format(kernels = " ".join(names), objects = " ".join([file.short_path for file in objects])),
        is_executable = True,
    )
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(objects))]

_cuda_compile_test = rule(
    implementation = _cuda_compile_test_impl,
    attrs = {
        "library": attr.label(mandatory = True, doc = "A dd_cuda_library."),
        "kernels": attr.string_list(allow_empty = False, mandatory = True, doc = "Names of kernels it must hold."),
    },
    test = True,
)

# The array is a raw string: PTX is text, and holds no ")ptx".
_EMBED = """
set -eu
{{ printf 'namespace %s {{\\nextern const char %s[];\\nconst char %s[] = R"ptx(' '{namespace}' '{symbol}' '{symbol}'
  cat {ptx}
  printf ')ptx";\\n}}\\n'; }} > {out}
"""

def _cuda_ptx_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    ptx = ctx.actions.declare_file(ctx.label.name + ".ptx")
    _run_nvcc(ctx, ctx.file.src, merged.compilation_context, "-ptx", ptx)
    out = ctx.actions.declare_file(ctx.label.name + ".cc")
    ctx.actions.run_shell(
        command = _EMBED.format(namespace = ctx.attr.namespace, symbol = ctx.attr.symbol, ptx = ptx.path, out = out.path),
        inputs = [ptx],
        outputs = [out],
        mnemonic = "EmbedPtx",
    )
    return [DefaultInfo(files = depset([out]))]

_cuda_ptx = rule(
    implementation = _cuda_ptx_impl,
    attrs = dict({
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "namespace": attr.string(mandatory = True),
        "symbol": attr.string(mandatory = True, doc = "The array of characters that holds it."),
        "arch": attr.string(mandatory = True, doc = "The least GPU that it is for: compute_80."),
    }, **_NVCC_ATTRS),
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def dd_cuda_ptx(**kwargs):
    """Compiles a .cu file to PTX, inside a C++ source, for programs that open the CUDA driver when they run.

    Args:
      **kwargs: src, deps, namespace, symbol, arch, and what every rule takes.
    """
    _cuda_ptx(target_compatible_with = _where_cuda_is(), **kwargs)

def if_cuda(there, absent = []):
    """`there` where the CUDA toolkit is, else `absent`."""
    return there if HAVE_CUDA and NVCC else absent

def _where_cuda_is():
    return [] if HAVE_CUDA and NVCC else ["@platforms//:incompatible"]

def dd_cuda_library(**kwargs):
    """Compiles .cu files; C++ targets may depend on it and link @cuda for the runtime.

    Args:
      **kwargs: srcs, hdrs, deps, copts, arch, and what every rule takes.
    """
    _cuda_library(target_compatible_with = _where_cuda_is(), **with_links(kwargs))

def dd_cuda_compile_test(name, srcs, kernels, deps = [], size = "small", **kwargs):
    """Compiles .cu files and looks for their kernels. Runs on machines that have no GPU.

    Args:
      name: of the test.
      srcs: the .cu files.
      kernels: unmangled names of __global__ functions in them.
      deps: C++ libraries whose headers they include.
      size: as of every test.
      **kwargs: what every test takes.
    """
    dd_cuda_library(name = name + "_code", testonly = True, srcs = srcs, deps = deps, tags = ["manual"])
    _cuda_compile_test(
        name = name,
        size = size,
        library = name + "_code",
        kernels = kernels,
        target_compatible_with = _where_cuda_is(),
        **kwargs
    )
