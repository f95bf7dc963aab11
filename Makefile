# The front door: each target calls a script or a preset. On a machine without make, begin with scripts/setup.

JOBS := $(shell nproc)
# Seconds for each fuzz target.
TIME := 60
# Minutes after which `make lint` begins no further analysis; empty: as long as it takes.
TIDY_MINUTES :=
# Paillier takes seconds between threads that are watched; gRPC is not built to be watched, and looks like races.
SLOW_UNDER_TSAN := EncryptedContract|PaillierContract|EncryptedHostile|Hostile.*paillier|PlannedBytes|OverTls
# Distributions of many runs, costs, every bit of long messages: the same memory over and over. Decoders are fuzzed, too,
# and of a shared top and embeddings *OnASpoiltLink* spoils every kind of message in seconds.
SLOW_UNDER_ASAN := Contract|Schemes/Hostile.*paillier|Every(FlippedBit|Truncation)|Rerandomisation|CircuitPrivacy|MaskWidth|UniformMasks|ScalarCost|Transcript|TablesLearn|ManySeeds|HundredsOfCuts|HostilePeer|EmbedHostile|MeasuredWays|OfAllThatAPerceptronSends

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo demo-three test test-all sanitizers fuzzing fuzz mutants check lint bench package format clean

help: ## print this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: ## install the Debian packages that are missing
	@scripts/setup

build: build/release/build.ninja ## build what users get (build/release)
	cmake --build --preset release

demo: build/release/build.ninja ## two parties, two processes: from tables to predictions, over TLS
	cmake --build --preset release --target blindfl_program blindfl_demo
	scripts/demo build/release build/demo

demo-three: build/release/build.ninja ## three parties, three processes: a lender and two companies that add their columns, over TLS
	cmake --build --preset release --target blindfl_program blindfl_demo_three
	scripts/demo_three build/release build/demo_three

test: build ## every test of what users get (20 minutes on 2 cores from a clean clone)
	ctest --preset release -j$(JOBS)

test-all: test sanitizers fuzzing ## that, the quick tests again under sanitizers, and a little fuzzing

sanitizers: build/asan/build.ninja build/tsan/build.ninja ## quick tests under the address, undefined-behaviour and thread sanitizers
	cmake --build --preset asan --target quick_tests
	ctest --preset asan -L quick -E '$(SLOW_UNDER_ASAN)' -j$(JOBS)
	cmake --build --preset tsan --target base_tests net_tests protocol_tests
	ctest --preset tsan -R '^(base|net|protocol)\.' -E '$(SLOW_UNDER_TSAN)' -j$(JOBS)

fuzzing:
	$(MAKE) fuzz TIME=5

fuzz: build/asan/build.ninja ## fuzz every decoder of a peer's bytes, each for TIME=60 seconds
	cmake --build --preset asan --target fuzzers
	scripts/fuzz build/asan $(TIME)

mutants: setup ## break what hides secrets, one piece at a time: tests must notice each (minutes; not part of CI)
	scripts/mutants

check: lint build ## before every commit: format, includes, clang-tidy, quick tests
	ctest --preset release -L quick -j$(JOBS)

lint: setup ## the part of `check` that needs no build
	scripts/check_format
	scripts/check_includes --self-test
	scripts/check_includes
	scripts/check_tidy $(if $(TIDY_MINUTES),--minutes $(TIDY_MINUTES))

bench: build ## run every benchmark
	cmake --build --preset release --target benches
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
