#!/bin/sh
# The distribution builds, passes its tests, installs and uninstalls by itself.
cd "$abs_top_builddir" && make -j"$(getconf _NPROCESSORS_ONLN)" distcheck
