"""For MODULE.bazel: the libraries that come from the machine.

Those that Bazel would fetch come from the machine where a module of the same name stands in for the fetched one
(bazel/modules). Bazel 4.2.3, which has no module extensions, never loads this file.
"""

load("//bazel:system.bzl", "PACKAGED_LIBRARIES", "optional_libraries", "packaged_library")

def _system_impl(ctx):
    packaged = [tag.repository for module in ctx.modules for tag in module.tags.packaged]
    for repository in packaged:
        packaged_library(repository)
    optional_libraries(packaged = "com_google_absl" in packaged and "com_google_googletest" in packaged)

# Declares @libfabric, @rdma_core, @hwloc, @cuda, @pmix, @asio and @drydock_system: found on the machine, or skipped.
system = module_extension(
    implementation = _system_impl,
    tag_classes = {
        "packaged": tag_class(
            attrs = {"repository": attr.string(mandatory = True, values = PACKAGED_LIBRARIES.keys())},
            doc = "A library that is the machine's package, not a module that Bazel fetches.",
        ),
    },
)
