#!/bin/sh
# Prints the reference of the settings, doc/settings.md, from their tables.
# usage: settings_reference.sh PROGRAM
set -u
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
cat <<'TEXT'
# Settings

Made from the tables of settings by `make update-settings-reference`; `ascgrad info --settings` prints the same.

A setting is a key of a JSON object (`--config FILE`, a model's configuration, a run's config.json) and of
`--set KEY=VALUE`; those of `train`, and those that name an option, are options of `ascgrad train`, too. [layer]: a list
with one value a layer may stand in place of the value; [head]: one a head. A mixing's settings are read by the layers
that have that mixing. A model's `layers`, `d_model`, `block`, `vocab` and `heads` have to be given in C, and to
Python's `asc.LM`: their defaults are those of the program and of `asc.train`, that of `heads` also of `asc.Layer`.
TEXT
"$1" info --settings | awk -v tick='`' '
/^settings$/ { on = 1; next }
!on { next }
/^[a-z]/ {
    printf "\n## %s\n\n| key | values | default | what |\n| --- | --- | --- | --- |\n", $1
    next
}
{
    sub(/^  /, "")
    n = split($0, field, /  +/)
    what = field[4]
    gsub(/[|]/, "\\|", what)
    gsub(/[*_]/, "\\\\&", what)
    printf "| %s%s%s | %s | %s | %s |\n", tick, field[1], tick, field[2], field[3] == "-" ? "" : field[3], what
}'
