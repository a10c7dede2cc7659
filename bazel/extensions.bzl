"""For MODULE.bazel: the libraries that come from the machine even where Bazel fetches the rest.

Bazel 4.2.3, which has no module extensions, never loads this file.
"""

load("//bazel:system.bzl", "optional_libraries")

def _system_impl(_ctx):
    optional_libraries()

# Declares @libfabric, @rdma_core, @hwloc, @cuda, @asio and @drydock_system: found on the machine, or skipped.
system = module_extension(implementation = _system_impl)
