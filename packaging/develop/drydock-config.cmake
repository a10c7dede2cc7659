# find_package(drydock) defines
#   drydock::drydock    the contract, coroutines on it, and the simulator
#   drydock::libfabric  the same on a provider of libfabric; only where pkg-config finds libfabric
#   drydock::seed_test  seed tests and GoogleTest's main function; only where GoogleTest is found, or is a part of the project by now
include(CMakeFindDependencyMacro)
find_dependency(Threads)
# Debian's /lib is a link to /usr/lib, and may be where CMake has found this; the headers are below /usr.
get_filename_component(_drydock_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_drydock_prefix "${_drydock_prefix}/../../.." ABSOLUTE)

if(NOT TARGET drydock::drydock)
  add_library(drydock::drydock STATIC IMPORTED)
  set_target_properties(drydock::drydock PROPERTIES
    IMPORTED_LOCATION "${_drydock_prefix}/lib/libdrydock.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_drydock_prefix}/include/drydock"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES Threads::Threads)

  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(drydock_libfabric QUIET libfabric)
  endif()
  if(drydock_libfabric_FOUND)
    add_library(drydock::libfabric INTERFACE IMPORTED)
    # libfabric itself is loaded at run time.
    set_target_properties(drydock::libfabric PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${drydock_libfabric_INCLUDE_DIRS}"
      INTERFACE_LINK_LIBRARIES "${_drydock_prefix}/lib/libdrydock_libfabric.a;drydock::drydock;${CMAKE_DL_LIBS}")
  endif()

  if(NOT TARGET GTest::gtest_main)  # by FetchContent or add_subdirectory
    find_package(GTest QUIET)
  endif()
  if(TARGET GTest::gtest_main)
    # The project's own GoogleTest has its own layout of classes: the source is compiled with it.
    add_library(drydock::seed_test INTERFACE IMPORTED)
    set_target_properties(drydock::seed_test PROPERTIES
      INTERFACE_SOURCES "${_drydock_prefix}/include/drydock/seed_tests.cc"
      INTERFACE_LINK_LIBRARIES "drydock::drydock;GTest::gtest_main;GTest::gtest")
  endif()
endif()
unset(_drydock_prefix)
