# Headers, both libraries, the command, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)
install(DIRECTORY include/surety DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS surety surety_shared EXPORT surety_targets)
install(TARGETS surety_static EXPORT surety_static_targets)
foreach(set surety_targets surety_static_targets)
  install(EXPORT ${set} NAMESPACE surety:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# -l for every library of OpenMP: gomp with gcc, omp with clang.
list(TRANSFORM OpenMP_C_LIB_NAMES PREPEND -l OUTPUT_VARIABLE SURETY_OPENMP)
list(JOIN SURETY_OPENMP " " SURETY_OPENMP)
configure_file(cmake/surety.pc.in ${PROJECT_BINARY_DIR}/surety.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/surety.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/surety-config.cmake.in ${PROJECT_BINARY_DIR}/surety-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
