#!/bin/sh
# Prints the names of the functions that the headers in a folder declare with ASC_API, sorted.
# usage: list_api.sh FOLDER
LC_ALL=C
export LC_ALL
grep -h '^ASC_API ' "$1"/*.h | sed 's/^ASC_API [^(]*[ *]\(asc_[a-z0-9_]*\).*/\1/' | sort -u
