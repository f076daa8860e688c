# Headers, both libraries, the command with its manual, pkg-config and CMake package files. Components are the Debian
# packages of package.cmake.
include(CMakePackageConfigHelpers)
install(DIRECTORY include/surety ${PROJECT_BINARY_DIR}/include/surety DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(TARGETS surety EXPORT surety_targets COMPONENT command)
install(TARGETS surety_shared EXPORT surety_targets LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS surety_static EXPORT surety_static_targets COMPONENT dev)
# Packages are stripped; CMake strips programs and shared libraries only.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND ${CMAKE_STRIP} --strip-debug \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsurety.a)
endif()" COMPONENT dev)
foreach(set surety_targets surety_static_targets)
  install(EXPORT ${set} NAMESPACE surety:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety COMPONENT dev)
endforeach()
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)

# Man pages and completion, which the command writes from its own option tables.
if(NOT SURETY_SANITIZE)
  add_custom_command(OUTPUT manual/surety.1 DEPENDS surety packaging/manual.sh
                     COMMAND sh ${PROJECT_SOURCE_DIR}/packaging/manual.sh $<TARGET_FILE:surety> manual)
  add_custom_target(surety_manual ALL DEPENDS manual/surety.1)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command
          FILES_MATCHING PATTERN "*.1")
  install(FILES ${PROJECT_BINARY_DIR}/manual/completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME surety COMPONENT command)
endif()

# The Python package over this build's library (target surety_python), for the tests and for a Debian package of its own;
# a plain installation leaves it to pip. Debian's python3 first: it has the packages of script/packages.
find_program(SURETY_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SURETY_PYTHON python3)
set(made ${PROJECT_BINARY_DIR}/python)
file(MAKE_DIRECTORY ${made}/temp)
set(SURETY_PYTHON_BUILD ${SURETY_PYTHON} -W ignore setup.py -q egg_info --egg-base ${made}/temp
    build --build-base ${made}/temp --build-lib ${made}/package install_egg_info --install-dir ${made}/package)
add_custom_target(surety_python WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/python DEPENDS surety_static
                  COMMAND ${CMAKE_COMMAND} -E env SURETY_BUILD=${PROJECT_BINARY_DIR} ${SURETY_PYTHON_BUILD})
install(DIRECTORY ${made}/package/ DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL OPTIONAL
        PATTERN __pycache__ EXCLUDE)
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded
                  \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/python3/dist-packages/surety/_core.abi3.so)
endif()" COMPONENT python EXCLUDE_FROM_ALL)

# cmake --build build --target uninstall: removes what the last installation wrote.
add_custom_target(uninstall COMMAND sh ${PROJECT_SOURCE_DIR}/packaging/uninstall.sh
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR})

# The way back to the prefix, so that it may be chosen when installing. OpenMP: gcc finds its own library by name, clang's
# lies in a folder of its own.
file(RELATIVE_PATH SURETY_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" SURETY_PREFIX "${SURETY_PREFIX}")
set(SURETY_OPENMP -lgomp)
if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
  list(JOIN OpenMP_C_LIBRARIES " " SURETY_OPENMP)
endif()
configure_file(packaging/surety.pc.in ${PROJECT_BINARY_DIR}/surety.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/surety.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

configure_package_config_file(packaging/surety-config.cmake.in ${PROJECT_BINARY_DIR}/surety-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/surety-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surety-config.cmake ${PROJECT_BINARY_DIR}/surety-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/surety COMPONENT dev)
