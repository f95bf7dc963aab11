# What the rooms link against. Used by the build and by find_package(BlindFL) alike.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(LibLZMA REQUIRED)
find_package(ZLIB REQUIRED)
# Torch's own variables carry compiler flags; wrap them once so that only the rooms that say so see torch.
if(NOT TARGET blindfl_torch AND (NOT DEFINED BLINDFL_TORCH OR BLINDFL_TORCH))
  find_package(Torch REQUIRED)
  add_library(blindfl_torch INTERFACE IMPORTED)
  target_include_directories(blindfl_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(blindfl_torch INTERFACE ${TORCH_LIBRARIES})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(blindfl_torch INTERFACE "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/torch_with_clang.h")
  endif()
endif()

# gRPC without protobuf: packets are bytes. Debian's CMake files for it ask for the protobuf compiler all the same, so it
# is found by its libraries.
if(NOT TARGET blindfl_grpc)
  find_path(GRPC_INCLUDE_DIR grpcpp/grpcpp.h REQUIRED)
  add_library(blindfl_grpc INTERFACE IMPORTED)
  target_include_directories(blindfl_grpc SYSTEM INTERFACE ${GRPC_INCLUDE_DIR})
  foreach(library grpc++ grpc gpr absl_synchronization)
    find_library(GRPC_LIBRARY_${library} ${library} REQUIRED)
    target_link_libraries(blindfl_grpc INTERFACE ${GRPC_LIBRARY_${library}})
  endforeach()
endif()

# zstd comes with CMake files here and without them there.
if(NOT TARGET blindfl_zstd)
  find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
  find_library(ZSTD_LIBRARY zstd REQUIRED)
  add_library(blindfl_zstd INTERFACE IMPORTED)
  target_include_directories(blindfl_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
  target_link_libraries(blindfl_zstd INTERFACE ${ZSTD_LIBRARY})
endif()

# GMP comes without CMake files.
if(NOT TARGET blindfl_gmp)
  find_path(GMP_INCLUDE_DIR gmp.h REQUIRED)
  find_library(GMP_LIBRARY gmp REQUIRED)
  add_library(blindfl_gmp INTERFACE IMPORTED)
  target_include_directories(blindfl_gmp SYSTEM INTERFACE ${GMP_INCLUDE_DIR})
  target_link_libraries(blindfl_gmp INTERFACE ${GMP_LIBRARY})
endif()

# libsodium, too.
if(NOT TARGET blindfl_sodium)
  find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)
  find_library(SODIUM_LIBRARY sodium REQUIRED)
  add_library(blindfl_sodium INTERFACE IMPORTED)
  target_include_directories(blindfl_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE_DIR})
  target_link_libraries(blindfl_sodium INTERFACE ${SODIUM_LIBRARY})
endif()
