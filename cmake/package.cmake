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
set(CPACK_COMPONENTS_ALL command library dev)
set(surety_library libsurety${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # as its soname
# component, package, what it is, what it needs besides what its libraries say
set(surety_packages
    "command|surety|votes with a guarantee against adversarial perturbations: the command|"
    "library|${surety_library}|votes with a guarantee against adversarial perturbations: the library|"
    "dev|libsurety-dev|headers and static library of surety|${surety_library} (= ${PROJECT_VERSION}), zlib1g-dev, libjansson-dev, libssl-dev, libsleef-dev"
    "openmpi|surety-openmpi|module of surety for Open MPI|surety (= ${PROJECT_VERSION})"
    "mpich|surety-mpich|module of surety for MPICH|surety (= ${PROJECT_VERSION})")
foreach(package ${surety_packages})
  string(REPLACE "|" ";" parts "${package}")
  list(GET parts 0 component)
  string(TOUPPER ${component} COMPONENT)
  list(GET parts 1 CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME)
  list(GET parts 2 CPACK_DEBIAN_${COMPONENT}_DESCRIPTION)
  list(GET parts 3 CPACK_DEBIAN_${COMPONENT}_PACKAGE_DEPENDS)
  if(TARGET surety_${component} AND component MATCHES "mpi")
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endif()
endforeach()
include(CPack)
