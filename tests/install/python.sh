#!/usr/bin/env bash
# Installs examples/python by pip into a virtual environment, from the installed library and without
# downloads, tests the module, and runs the program of its README. Exits with 77 where packages that
# this needs are missing.
# Usage: python.sh SOURCE PREFIX COMPILER FOLDER
set -euo pipefail
source=$1 prefix=$2 compiler=$3 folder=$4

# Debian's packages are for its own Python.
for python in /usr/bin/python3 python3 none; do
  if "$python" -c 'import numpy, setuptools, wheel, venv, ensurepip' 2>/dev/null; then break; fi
done
if [ "$python" = none ] || [ ! -e /usr/include/pybind11/pybind11.h ]; then
  echo "skipped: this case cannot run here: it needs the packages python3-dev, python3-venv," \
    "python3-setuptools, python3-wheel, python3-numpy and pybind11-dev"
  exit 77
fi

rm -rf "$folder"
cp -r "$source/examples/python" "$folder" # pip writes into it
cd "$folder"
"$python" -m venv --system-site-packages environment
CXX=$compiler CMAKE_PREFIX_PATH=$prefix environment/bin/pip --isolated install --no-index \
  --no-build-isolation --no-deps --disable-pip-version-check .
environment/bin/python "$source/tests/install/test_python.py"

sed -n '/^```python$/,/^```$/{/^```/!p}' README.md >readme.py
printf 'the king and the queen of %s\n' spain france italy spain france italy >corpus.txt
environment/bin/python readme.py
