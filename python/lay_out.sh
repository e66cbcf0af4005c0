#!/bin/sh
# lay_out.sh SOURCE LIBRARY FOLDER: the package as an installation has it, in FOLDER/ascgrad, for PYTHONPATH=FOLDER.
set -eu
python=${PYTHON-python3}
rm -rf "$3/ascgrad"
mkdir -p "$3/ascgrad"
cp "$1"/python/src/ascgrad/* "$3/ascgrad/"
ln -sf "$2" "$3/ascgrad/libascgrad.so.1"
"$python" -B "$1/python/generate" "$1" "$2" "$3/ascgrad"
