"""python3 generate SOURCE LIBRARY FOLDER: writes _c.py, ops.py, ops.pyi and _methods.pyi into FOLDER.

SOURCE is the library's source tree, whose headers are read; LIBRARY the built library, whose registry is asked."""

import ctypes
import re
import sys
from pathlib import Path

import c_types
import functions
import headers


def registry(path, structs):
    """The library's ops: name, inputs and equation of each."""
    library = ctypes.CDLL(str(path))
    library.asc_op_at.restype = ctypes.POINTER(structs["asc_op"])
    found, i = {}, 0
    while op := library.asc_op_at(i):
        row = op.contents
        found[row.name.decode()] = {"inputs": row.inputs.decode().split(), "equation": row.equation.decode()}
        i += 1
    return found


def main(source, library, folder):
    include = Path(source) / "include" / "ascgrad"
    read = headers.read(include)
    text = c_types.text(read)
    names = {}
    exec(text, names)  # what was just written
    ops = "".join(path.read_text(encoding="utf-8") for path in sorted(include.glob("*ops.h")))
    declared = re.findall(r"\b(asc_\w+)\(asc_ctx \*ctx", ops)
    source, stub, methods = functions.texts(read, registry(library, names), declared)
    for name, content in (("_c.py", text), ("ops.py", source), ("ops.pyi", stub), ("_methods.pyi", methods)):
        (Path(folder) / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
