# Headers, both libraries, the command, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)
install(DIRECTORY include/surety DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS surety surety_shared EXPORT surety_targets)
install(TARGETS surety_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT surety_targets NAMESPACE surety:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_file(cmake/surety.pc.in ${PROJECT_BINARY_DIR}/surety.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/surety.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/surety-config.cmake.in ${PROJECT_BINARY_DIR}/surety-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
