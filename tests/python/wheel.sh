#!/bin/sh
# A wheel with the libraries beneath inside, made by auditwheel, serves an environment that has nothing but NumPy. zlib
# is the system's: manylinux counts on it.
# Needs python3 (another one: PYTHON) with pip, venv, auditwheel and patchelf, a build with the shared library, and
# NumPy from where pip finds packages.
set -e
python=${PYTHON-python3}
library=$abs_top_builddir/.libs/libascgrad.so.1
if [ ! -e "$library" ] || ! "$python" -c 'import auditwheel, pip, venv' 2>/dev/null ||
    ! PATH=$(dirname "$(command -v "$python")"):$PATH command -v patchelf >/dev/null; then
    echo "skipped: needs python3 with pip, venv, auditwheel and patchelf, and a build with the shared library"
    exit 77
fi
PATH=$(dirname "$(command -v "$python")"):$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ASCGRAD_LIBRARY=$library "$python" -m pip -q wheel --no-deps --wheel-dir plain "$abs_top_srcdir/python"
"$python" -m auditwheel repair --wheel-dir whole plain/ascgrad-*.whl >audit 2>&1 || { cat audit; exit 1; }
"$python" -m venv clean
if ! clean/bin/python -m pip -q install numpy; then
    echo "skipped: pip finds no NumPy"
    exit 77
fi
clean/bin/python -m pip -q install --no-index whole/ascgrad-*.whl
env -i PATH="$PATH" HOME="$folder" clean/bin/python -B - <<'END'
import ascgrad as asc

inside = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for name in ("libascgrad", "libopenblas", "libjansson", "libutf8proc"):
    found = [path for path in inside if f"/{name}" in path and "numpy" not in path]
    assert found and all("/clean/lib" in path for path in found), (name, found)
assert asc.gradcheck("attention")["passed"]
END
env -i PATH="$PATH" HOME="$folder" clean/bin/python -B -m unittest discover -s "$abs_top_srcdir/python/tests"
ls whole
[ -z "${OUT-}" ] || cp whole/ascgrad-*.whl "$OUT"
