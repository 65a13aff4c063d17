#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the tests.
# Usage: cmake/test.sh [PRESET], `release` without. WORDLOOM_WERROR=ON makes warnings errors.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/install_packages.sh"

preset=${1:-release}
configure "$preset" -DWORDLOOM_BUILD_TESTS=ON -DWORDLOOM_BUILD_EXAMPLES=ON \
  -DWORDLOOM_BUILD_BENCHMARKS=ON -DWORDLOOM_WERROR="${WORDLOOM_WERROR:-OFF}"
run cmake --build --preset "$preset" --parallel "$jobs"
run ctest --preset "$preset" --output-on-failure --parallel "$jobs"
