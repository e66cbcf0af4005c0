#!/bin/sh
# package.sh [MODULE…]: the Python package's own tests, those of NumPy alone unless modules are named, on the library of
# this build, from a folder laid out as an installation is.
# Needs python3 (another one: PYTHON) with NumPy, and a build with the shared library.
set -e
python=${PYTHON-python3}
library=$abs_top_builddir/.libs/libascgrad.so.1
[ $# -gt 0 ] || set -- test_given test_models test_ops test_sentences test_tensor test_types
if ! "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "skipped: needs python3, of 3.9 or later, with NumPy"
    exit 77
fi
if [ ! -e "$library" ]; then
    echo "skipped: this build has no shared library"
    exit 77
fi
if grep -q __asan_init "$library"; then
    echo "skipped: python3 can't load a library with sanitizers"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHON=$python "$abs_top_srcdir/python/lay_out.sh" "$abs_top_srcdir" "$library" "$folder"
cd "$abs_top_srcdir/python/tests"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$folder${PYTHONPATH:+:$PYTHONPATH} "$python" -c '
import faulthandler, sys, unittest
faulthandler.dump_traceback_later(int(sys.argv[1]), exit=True)  # a hang says where it is
unittest.main(None, argv=["unittest", *sys.argv[2:]])' $((${SCRIPT_TIMEOUT:-900} * 8 / 9)) "$@"
