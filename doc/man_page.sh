#!/bin/sh
# Prints the man page of a command, or of a kind of one, from the program's own table of its options.
# usage: man_page.sh PROGRAM COMMAND [KIND] <doc/ascgrad.1, whose date it has, too
set -u
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
program=$1
shift
date=$(sed -n 's/^\.Dd //p')
page=ascgrad-$1${2+-$2}

"$program" "$@" --help-table </dev/null | awk -F '\t' -v date="$date" -v page="$page" '
function escape(s) {
    gsub(/\\/, "\\e", s)
    gsub(/--/, "\\-\\-", s)
    return s
}
# Lines of at most 79 bytes; a sentence begins a new one.
function text(s,   words, n, i, line, out) {
    n = split(escape(s), words, / +/)
    for (i = 1; i <= n; i++) {
        if (line != "" && (length(line) + 1 + length(words[i]) > 79 || line ~ /[.]$/)) {
            out = out line "\n"
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
        if (line ~ /^[.\047]/) line = "\\&" line
    }
    return out line
}
function close_list() {
    if (listed) print ".El"
    listed = 0
}
function open_list(width) {
    if (!listed) print ".Bl -tag -width " width
    listed = 1
}
# What was read of a paragraph.
function flush() {
    if (paragraph != "") print ".Pp\n" text(paragraph)
    paragraph = ""
}
# A line that is an item of a list: a name, two blanks or more, what it is.
function item(line) {
    flush()
    open_list("PREFIX-training")
    match(line, /^ +[^ ]+  +/)
    name = substr(line, 1, RLENGTH)
    gsub(/ /, "", name)
    print ".It " escape(name) "\n" text(substr(line, RLENGTH + 1))
}
$1 == "command" { name = $2 }
$1 == "summary" {
    print ".\\\" Made from the options by doc/man_page.sh: make update-help."
    print ".Dd " date "\n.Dt " toupper(page) " 1\n.Os\n.Sh NAME\n.Nm " page "\n.Nd " $2
    summary = $2
}
$1 == "operands" {
    print ".Sh SYNOPSIS\n.Nm ascgrad " name "\n.Op Ar option ..."
    if ($2 != "") print ".Ar " escape($2)
    print ".Sh DESCRIPTION\n.Nm ascgrad " name
    print text(summary ".")
}
$1 == "details" && $2 ~ /^ +[^ ]+  +/ { item($2); next }
$1 == "details" {
    close_list()
    if ($2 == "") flush()
    else paragraph = paragraph (paragraph == "" ? "" : " ") $2
    next
}
{ flush() }
$1 == "kind" {
    if (!kinds++) print ".Pp\nIts kinds have options of their own:"
    open_list("generate")
    print ".It Cm " $2 "\n" text($3) ":\n.Xr " page "-" $2 " 1 ."
}
$1 == "group" && $2 != group {
    close_list()
    if (!options) print ".Sh OPTIONS"
    options = 1
    group = $2
    print ".Ss " group
}
$1 == "option" {
    if (!options) {
        close_list()
        print ".Sh OPTIONS"
    }
    options = 1
    open_list("checkpoint")
    argument = $4 == "-" ? "" : $5 == "none" ? " Ns Op = Ns Ar " $4 : " Ar " $4
    print ".It " ($3 == "-" ? "" : "Fl " $3 " , ") "Fl -" $2 argument "\n" text($8)
}
$1 == "example" {
    close_list()
    if (!examples++) print ".Sh EXAMPLES"
    print ".Dl " escape($2)
}
END {
    close_list()
    print ".Sh SEE ALSO\n.Xr ascgrad 1"
}'
