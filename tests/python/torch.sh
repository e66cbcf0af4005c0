#!/bin/sh
# The tests of ascgrad.torch, of the package's examples, and of what doc/python.md shows: as package.sh, with PyTorch.
# ASCGRAD_ORACLE names the folder of the layers that it is compared with; transformers and matplotlib serve an example
# each.
if ! "${PYTHON-python3}" -c 'import torch.compiler' 2>/dev/null; then
    echo "skipped: needs a python3 with torch, 2.1 or later"
    exit 77
fi
exec sh "$abs_top_srcdir/tests/python/package.sh" test_examples test_torch
