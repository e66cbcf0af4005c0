#!/bin/sh
# Reads the symbols of the objects: what the linker joins follows the order of the folders, as the includes do; no
# files of the library need each other in a circle; the examples use public functions only, the program those and
# what include/program has for it. A header that says which file its functions are in says the right one.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${abs_top_builddir:=$PWD}"
LC_ALL=C
export LC_ALL

# What is known to be wrong: a line for each arrow, the file that needs and the one that defines. None is the goal.
exceptions() {
    cat <<'EXCEPTIONS'
autograd/backward autograd/recompute
EXCEPTIONS
}

command -v nm >/dev/null || { echo 'no nm'; exit 77; }
. "$abs_top_srcdir/tests/house/folders.sh"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$abs_top_builddir" || exit 99

# A build without static libraries has its objects in .libs. The object of a source that is gone may still lie there.
objects() {
    # shellcheck disable=SC2086  # one word each
    find $library -name '*.lo' | sed 's/\.lo$//' | while read -r object; do
        folder=${object%/*} name=${object##*/}
        [ -f "$abs_top_srcdir/$folder/${name##lib*_la-}.c" ] || continue
        if [ -f "$object.o" ]; then echo "$object.o"; else echo "$folder/.libs/$name.o"; fi
    done
    find tools examples -name '*.o'
}

# A line for each symbol: its object's folder and name, the symbol, its type.
objects | xargs nm -A -P -g | sed -e 's,/\.libs/,/,' -e 's/\.o: / /' >"$scratch/symbols"
grep -q '^tensor/ctx asc_ctx_new T' "$scratch/symbols" || { echo 'no symbols in the objects'; exit 77; }
for folder in $library tools examples; do
    echo "$folder $(allowed "$folder/")"
done >"$scratch/folders"
exceptions >"$scratch/exceptions"
sh "$abs_top_srcdir/tests/house/list_api.sh" "$abs_top_srcdir/include/program" >"$scratch/program.sym"

# A line for each function of a header below the name of a file, or folder: header:line, that, the function.
cat >"$scratch/named.awk" <<'AWK'
FNR == 1 || /^\/\* ----/ { file = "" }
/^\/\* (---- )?[a-z0-9_\/]+(\.c|\/:)[^a-z0-9_]/ {
    file = $0
    sub(/^\/\* (---- )?/, "", file)
    sub(/(\.c[^a-z0-9_]|:).*/, "", file)
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
}
file && /^[a-z]/ && match($0, /asc_[a-z0-9_]+\(/) {
    print FILENAME ":" FNR, folder file, substr($0, RSTART, RLENGTH - 1)
}
AWK
# shellcheck disable=SC2086 # a list of folders
(cd "$abs_top_srcdir" && find $library -name '*.h' -exec awk -f "$scratch/named.awk" {} +) >"$scratch/named"
[ -s "$scratch/named" ] || exit 99

cat >"$scratch/links.awk" <<'AWK'
FILENAME ~ /folders$/ { for (i = 2; i <= NF; i++) allowed[$1, $i] = 1; next }
FILENAME ~ /exceptions$/ { known[$1, $2] = 1; next }
FILENAME ~ /named$/ { where[++names] = $1; file_of[names] = $2; named[names] = $3; next }
FILENAME ~ /libascgrad\.sym$/ { public["examples", $1] = public["tools", $1] = 1; next }
FILENAME ~ /program\.sym$/ { public["tools", $1] = 1; next }
$3 ~ /[Uvw]/ { user[++uses] = $1; used[uses] = $2; next }
{ home[$2] = $1 }

function folder(file) { return substr(file, 1, index(file, "/") - 1) }

# File `a` needs `symbol` of file `b`.
function arrow(a, b, symbol) {
    if ((a, b) in known) { met[a, b] = 1; return }
    if (folder(a) ~ /^(tools|examples)$/) {
        if (folder(a) != folder(b) && !((folder(a), symbol) in public))
            print a ": " symbol " of " b " is not a public function"
        return
    }
    if (!((folder(a), folder(b)) in allowed)) print a ": must not use " symbol " of " b
    if ((a, b) in by) return
    by[a, b] = symbol
    if (!(a in needs)) file[++files] = a
    need[a, ++needs[a]] = b
}

# Prints the shortest circle through `start`, if there is one and no file of it was in another.
function circle(start,    queue, first, last, from, a, b, i, path) {
    if (start in printed) return
    queue[first = last = 1] = start
    for (; first <= last && !(start in from); first++) {
        a = queue[first]
        for (i = 1; i <= needs[a]; i++) {
            b = need[a, i]
            if (b in from) continue
            from[b] = a
            queue[++last] = b
        }
    }
    if (!(start in from)) return
    b = start
    do {
        a = from[b]
        path = " -> " b " (" by[a, b] ")" path
        printed[b] = 1
        b = a
    } while (a != start)
    print "in a circle: " start path
}

END {
    for (i = 1; i <= uses; i++)
        if (used[i] in home && home[used[i]] != user[i]) arrow(user[i], home[used[i]], used[i])
    for (i = 1; i <= files; i++) circle(file[i])
    for (i = 1; i <= names; i++) if (named[i] in home) {
        is_in = home[named[i]]
        sub(/lib[a-z0-9_]*_la-/, "", is_in)
        if (is_in != file_of[i] && (file_of[i] !~ /\/$/ || index(is_in, file_of[i]) != 1))
            print where[i] ": " named[i] " is in " is_in ".c"
    }
    for (pair in known) if (!(pair in met)) {
        split(pair, ends, SUBSEP)
        print "no such arrow: take " ends[1] " " ends[2] " off the exceptions"
    }
}
AWK
awk -f "$scratch/links.awk" "$scratch/folders" "$scratch/exceptions" "$scratch/named" \
    "$abs_top_srcdir/libascgrad.sym" "$scratch/program.sym" "$scratch/symbols" >"$scratch/found" || exit 99
[ -s "$scratch/found" ] || exit 0
cat "$scratch/found"
exit 1
