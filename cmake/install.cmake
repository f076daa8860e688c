# Headers, both libraries, the command, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)
install(DIRECTORY include/surety DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS surety surety_shared EXPORT surety_targets)
install(TARGETS surety_static EXPORT surety_static_targets)
foreach(set surety_targets surety_static_targets)
  install(EXPORT ${set} NAMESPACE surety:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The way back to the prefix, so that it may be chosen when installing. OpenMP: gcc finds its own library by name, clang's
# lies in a folder of its own.
file(RELATIVE_PATH SURETY_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" SURETY_PREFIX "${SURETY_PREFIX}")
set(SURETY_OPENMP -lgomp)
if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(JOIN OpenMP_C_LIBRARIES " " SURETY_OPENMP)
endif()
configure_file(cmake/surety.pc.in ${PROJECT_BINARY_DIR}/surety.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/surety.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/surety-config.cmake.in ${PROJECT_BINARY_DIR}/surety-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
