"""What the WORKSPACE of a project that uses Drydock declares, for Debian 12's Bazel 4.2.3 and no network:

    local_repository(name = "drydock", path = ...)

    load("@drydock//bazel:dependencies.bzl", "drydock_dependencies")

    drydock_dependencies()

The repository has to be called `drydock`. testing/consumer is such a project.
"""

load("//bazel:packaged.bzl", "debian_rule_sets")
load("//bazel:system.bzl", "system_libraries")

def drydock_dependencies():
    """Declares every outside repository that Drydock's BUILD files name."""
    debian_rule_sets()
    system_libraries()
