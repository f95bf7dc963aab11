# The front door: each target calls a script or a preset. On a machine without make, begin with scripts/setup.

JOBS := $(shell nproc)
# Seconds for each fuzz target.
TIME := 60
# Paillier takes seconds between threads that are watched.
SLOW_UNDER_TSAN := EncryptedContract|EncryptedHostile|Hostile.*paillier|PlannedBytes
# Distributions of many runs, and every bit of long messages: the same memory over and over. Decoders are fuzzed, too.
SLOW_UNDER_ASAN := EncryptedContract|Schemes/Hostile.*paillier|Rerandomisation

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test fuzz mutants check lint bench package format clean

help: ## print this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: ## install the Debian packages that are missing
	@scripts/setup

build: build/release/build.ninja ## build what users get (build/release)
	cmake --build --preset release

demo: build/release/build.ninja ## two parties, two processes: from tables to predictions, over TLS
	cmake --build --preset release --target blindfl_program blindfl_demo
	scripts/demo build/release build/demo

test: build build/asan/build.ninja build/tsan/build.ninja build/fuzz/build.ninja ## all tests; the quick ones again under sanitizers; a little fuzzing
	ctest --preset release -j$(JOBS)
	cmake --build --preset asan --target quick_tests
	ctest --preset asan -L quick -E '$(SLOW_UNDER_ASAN)' -j$(JOBS)
	cmake --build --preset tsan --target base_tests net_tests protocol_tests
	ctest --preset tsan -R '^(base|net|protocol)\.' -E '$(SLOW_UNDER_TSAN)' -j$(JOBS)
	cmake --build --preset fuzz
	scripts/fuzz build/fuzz 5

fuzz: build/fuzz/build.ninja ## fuzz every decoder of a peer's bytes, each for TIME=60 seconds
	cmake --build --preset fuzz
	scripts/fuzz build/fuzz $(TIME)

mutants: setup ## break what hides secrets, one piece at a time: tests must notice each (minutes; not part of CI)
	scripts/mutants

check: lint build ## before every commit: format, includes, clang-tidy, quick tests
	ctest --preset release -L quick -j$(JOBS)

lint: setup ## the part of `check` that needs no build
	scripts/check_format
	scripts/check_includes --self-test
	scripts/check_includes
	scripts/check_tidy

bench: build ## run every benchmark
	scripts/bench build/release

package: build ## Debian packages of the program and the library (build/package)
	umask 022 && cpack --config build/release/CPackConfig.cmake -B build/package

format: setup ## apply clang-format
	scripts/format

clean: ## remove everything that was built
	rm -rf build

# Configured once; after that ninja itself notices when a CMake file changes.
build/%/build.ninja: | setup
	cmake --preset $*
