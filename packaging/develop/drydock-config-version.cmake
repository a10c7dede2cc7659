# There is no released version: a project that asks for one is told that this may be another.
set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
