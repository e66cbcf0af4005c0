#!/bin/sh
# The functions of one float at all of the 2^32 floats.
cd "$abs_top_builddir" && make check-all-floats
