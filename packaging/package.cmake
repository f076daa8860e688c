# Debian packages: script/package builds them with CPack.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The surety authors <authors@surety.invalid>")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library dev python)
set(surety_library libsurety${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # as its soname
# component, package, what is in it, what it needs besides what its libraries say, what apt brings with it if it may
set(surety_packages
    "command|surety|The command: trains votes, attacks them, proves them, writes and verifies certificates.||"
    "library|${surety_library}|The shared library.||"
    "dev|libsurety-dev|Headers, static library, files for pkg-config and CMake.|${surety_library} (= ${PROJECT_VERSION}), zlib1g-dev, libjansson-dev, libssl-dev, libsleef-dev|"
    "python|python3-surety|The Python package: a classifier for scikit-learn, guarantees for any model.|python3 (>= 3.9), python3-cffi-backend (>= 1.15), python3-numpy, python3-sklearn|"
    "openmpi|surety-openmpi|The command's module for Open MPI.|surety (= ${PROJECT_VERSION})|openmpi-bin"
    "mpich|surety-mpich|The command's module for MPICH.|surety (= ${PROJECT_VERSION})|mpich")
foreach(package ${surety_packages})
  string(REPLACE "|" ";" parts "${package}")
  list(GET parts 0 component)
  string(TOUPPER ${component} COMPONENT)
  list(GET parts 1 CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME)
  list(GET parts 2 CPACK_DEBIAN_${COMPONENT}_DESCRIPTION)
  list(GET parts 3 CPACK_DEBIAN_${COMPONENT}_PACKAGE_DEPENDS)
  list(GET parts 4 CPACK_DEBIAN_${COMPONENT}_PACKAGE_RECOMMENDS)
  list(GET parts 1 package)
  install(FILES packaging/copyright DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(TARGET surety_${component} AND component MATCHES "mpi")
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endif()
endforeach()
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/packaging/python3-surety/postinst;${PROJECT_SOURCE_DIR}/packaging/python3-surety/prerm")
include(CPack)
