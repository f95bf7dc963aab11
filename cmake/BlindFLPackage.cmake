# Debian packages, by `make package`: `blindfl`, the program with its documents, and `libblindfl-dev`, what
# find_package(BlindFL) needs.
file(GLOB documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
file(GLOB appendices CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/appendix/*.md)
install(FILES README.md SECURITY.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/blindfl COMPONENT program)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/blindfl/docs COMPONENT program)
install(FILES ${appendices} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/blindfl/docs/appendix COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/blindfl RENAME copyright COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libblindfl-dev RENAME copyright COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR BlindFL)
set(CPACK_PACKAGE_CONTACT "BlindFL maintainers <maintainers@blindfl.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME blindfl)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "vertical federated learning without peeking\nTwo parties who hold different columns about the same people train one model together.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libblindfl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# What cmake/BlindFLDependencies.cmake looks for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libtorch-dev, libgmp-dev, libssl-dev, libsodium-dev, libgrpc++-dev, liblzma-dev, zlib1g-dev, libzstd-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "vertical federated learning without peeking: library\nStatic libraries, headers and CMake files for programs of one's own.")
include(CPack)
