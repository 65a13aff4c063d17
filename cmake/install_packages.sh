# Sourced by demo.sh and test.sh: moves to the project's folder and sees to it that what the build
# needs is there.

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

packages=(g++ cmake ninja-build libeigen3-dev libhwy-dev libopenblas-dev zlib1g-dev
          liblinear-dev libhnswlib-dev libcli11-dev nlohmann-json3-dev catch2 libbenchmark-dev
          libopenmpi-dev openmpi-bin)

say() { printf '\n==> %s\n' "$*"; }

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "This is neither Debian nor Ubuntu. Install what these packages of Debian hold, if it is
    not there yet: ${packages[*]}"
    return
  fi
  local package missing=() as_root=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "All packages are installed: ${packages[*]}"
    return
  fi
  say "Installing what is missing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "Neither root nor sudo: have an administrator run
    apt-get install --no-install-recommends ${missing[*]}"
      return
    fi
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  run "${as_root[@]}" update || say "apt-get update failed; using the package lists that are here."
  run "${as_root[@]}" install --yes --no-install-recommends "${missing[@]}"
}

# CMake reads our presets from 3.25 on; an older one only says that their version is unknown.
check_cmake() {
  local version
  if ! version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p'); then
    version=none
  fi
  if [ "$(printf '%s\n' 3.25 "$version" | sort --version-sort | head -n 1)" != 3.25 ] ||
    [ "$version" = none ]; then
    say "CMake 3.25 or newer is needed, found: $version (https://cmake.org/download)"
    exit 1
  fi
}

# configure PRESET [CMAKE_ARGUMENT...]; an existing build folder keeps its generator.
configure() {
  if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=Ninja
  fi
  run cmake --preset "$@"
}

install_packages
check_cmake
jobs=$(nproc 2>/dev/null || echo 2)
