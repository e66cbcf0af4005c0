#!/bin/sh
# Makes configure and Makefile.in from configure.ac and Makefile.am. Needs autoconf, automake, libtool, pkg-config.
set -e
cd "$(dirname "$0")"
exec autoreconf --force --install "$@"
