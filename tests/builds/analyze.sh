#!/bin/sh
# What an analyser has to say of sources, less what is known to be wrong (analyze.known); called by `make analyze`.
# Usage: FLAGS='as a shell reads them' analyze.sh gcc|clang FILE...
set -u
abs_top_srcdir=$(cd "${abs_top_srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99 # as in the #lines of twins
: "${FLAGS:=}"
tool=$1
shift
command -v "$tool" >/dev/null || { echo "analyze: $tool is not there"; exit 1; }
case $tool in
gcc) analyse='gcc -O1 -fanalyzer -S -o /dev/null' ;; # without -O it knows less of values
clang) analyse='clang --analyze --analyzer-output text' ;;
esac
said=$(mktemp -d) || exit 99
trap 'rm -rf "$said"' EXIT
trap 'exit 1' INT TERM
export LC_ALL=C abs_top_srcdir said

# Each file by itself, so that none waits for another.
printf '%s\n' "$@" | xargs -P "${JOBS-$(getconf _NPROCESSORS_ONLN)}" -n 1 sh -c '
    eval "$1 $2 \"\$abs_top_srcdir/\$3\"" >"$said/$(echo "$3" | tr / +)" 2>&1 ||
        echo "$3 [${1%% *}] fails" >>"$said/failed"
' sh "$analyse" "$FLAGS"
known=$abs_top_srcdir/tests/builds/analyze.known
failed=0
: >>"$said/failed"
grep -vxF -f "$known" "$said/failed" && failed=1

# A warning's key is FILE [CHECKER] SOURCE LINE: lines move. What is made of a source is named as seen from the build.
grep -h 'warning: .*\]$' "$said"/* | sed "s,^$abs_top_srcdir/,,; s,^\(\.\./\)*,," | sort -u >"$said/warnings"
while IFS=: read -r file line column text; do
    checker=$(echo "$text" | sed 's/.*\[\(.*\)\]$/\1/')
    source=$(sed -n "${line}s/^ *//p" "$abs_top_srcdir/$file")
    key="$file [$checker] $source"
    grep -qxF -e "$key" "$known" && continue
    echo "$file:$line:$column:$text"
    printf '    %s\n' "$key"
    failed=1
done <"$said/warnings"
exit "$failed"
