#!/usr/bin/env bash
# Installs what is missing, builds the demo and runs it.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/install_packages.sh"

configure release -DWORDLOOM_BUILD_EXAMPLES=ON
run cmake --build --preset release --parallel "$jobs" --target demo
run build/release/examples/demo
