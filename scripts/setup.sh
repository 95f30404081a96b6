#!/usr/bin/env bash
# Makes the virtual environment from the lock file. Usage: setup.sh PYTHON VENV
set -euo pipefail
python=$1
venv=$2
cd "$(dirname "$0")/.."

"$python" - <<'PY' || { echo "Headwater needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
import sys
sys.exit(sys.version_info < (3, 11))
PY

if [ ! -x "$venv/bin/python" ]; then
  echo "Creating $venv"
  if ! "$python" -m venv "$venv"; then
    rm -rf "$venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && "$python" -m venv "$venv"
    else
      echo "Python's venv module is missing; run: apt-get install python3-venv" >&2
      exit 1
    fi
  fi
fi

echo "Installing dependencies from requirements.lock"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$(sed -n 's/^uv==\([^ ]*\).*/\1/p' scripts/uv.version)"
"$venv/bin/uv" pip install --quiet --compile-bytecode --python "$venv/bin/python" --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps -e .
mkdir -p build
