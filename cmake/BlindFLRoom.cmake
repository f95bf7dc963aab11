# Flags for our own code, not for whoever uses the installed library.
add_library(blindfl_flags INTERFACE)
# -fPIC everywhere: the libraries fit into shared ones, and programs can share their precompiled header.
target_compile_options(blindfl_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -fPIC)
if(BLINDFL_SANITIZE)
  target_compile_options(blindfl_flags INTERFACE -fsanitize=${BLINDFL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(BLINDFL_SANITIZE MATCHES address)
    # They take long to compile. What is read or written at a wrong address the address sanitizer reports without them.
    target_compile_options(blindfl_flags INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Sanitizers hide from g++ what is initialised where: its warning is then wrong more often than right.
    target_compile_options(blindfl_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(blindfl_flags INTERFACE -fsanitize=${BLINDFL_SANITIZE})
endif()
if(BLINDFL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BLINDFL_FUZZ needs Clang, whose libFuzzer it uses, not ${CMAKE_CXX_COMPILER_ID}: cmake --preset fuzz")
  endif()
  # The rooms report which of their branches were taken, but for tests and arithmetic, which takes twice as long with it; only
  # the targets in fuzz/ get libFuzzer's main().
  file(RELATIVE_PATH not_watched ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/fuzz/not_watched.txt)
  target_compile_options(blindfl_flags INTERFACE -fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=${not_watched})
endif()

# blindfl_sees_torch(<target>): its sources include torch, which takes longer to read than they do: precompiled once, and ten
# sources at a time, since the templates that it leaves to be instantiated cost seconds for each.
function(blindfl_sees_torch target)
  set_target_properties(${target} PROPERTIES BLINDFL_SEES_TORCH ON UNITY_BUILD ${BLINDFL_UNITY} UNITY_BUILD_BATCH_SIZE 10)
  if(target STREQUAL blindfl_nn)
    target_precompile_headers(${target} PRIVATE <torch/torch.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM blindfl_nn)
  endif()
endfunction()

# blindfl_room(<name> SOURCES <files> [DEPENDS <rooms and libraries>] [PRIVATE_DEPENDS <libraries>] [TORCH] [NO_INSTALL] [ALONE])
#
# One room of the house: a static library `blindfl_<name>`, known as `blindfl::<name>` here and after installation.
# TORCH: its sources see torch. ALONE: each source is compiled by itself, arithmetic that fuzz/not_watched.txt names.
# DEPENDS is the list of rooms that this one may include: scripts/check_includes enforces it.
function(blindfl_room name)
  cmake_parse_arguments(ROOM "TORCH;NO_INSTALL;ALONE" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target blindfl_${name})
  add_library(${target} STATIC ${ROOM_SOURCES})
  add_library(blindfl::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                              $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ROOM_DEPENDS} PRIVATE ${ROOM_PRIVATE_DEPENDS} $<BUILD_INTERFACE:blindfl_flags>)
  # Several sources at a time: half of the time goes into what they include. Names in anonymous namespaces of a room differ.
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(NOT ROOM_ALONE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${BLINDFL_UNITY} UNITY_BUILD_BATCH_SIZE 6)
  endif()
  if(ROOM_TORCH)
    blindfl_sees_torch(${target})
  endif()
  if(NOT ROOM_NO_INSTALL)
    install(TARGETS ${target} EXPORT BlindFLTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  endif()
endfunction()
