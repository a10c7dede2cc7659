"""What modules that stand in for others are made of (bazel/modules)."""

load("//bazel:system.bzl", "PACKAGED_LIBRARIES")

def stand_ins(repository):
    """Gives this package the targets that the repository @packaged, one of PACKAGED_LIBRARIES, has in the same package.

    Args:
      repository: its name in PACKAGED_LIBRARIES.
    """
    for label in PACKAGED_LIBRARIES[repository].targets:
        package, name = label.split(":")
        if package == native.package_name():
            native.alias(
                name = name,
                actual = "@packaged//" + label,
                visibility = ["//visibility:public"],
            )
