#!/bin/sh
# Writes the man pages of all commands and the completions of all shells from the program's tables of options.
# usage: update_help.sh PROGRAM FOLDER, FOLDER/man and FOLDER/completions being written
set -eu
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
program=$1 folder=$2 here=$(dirname "$0")
mkdir -p "$folder/man" "$folder/completions"

page() {
    # shellcheck disable=SC2086  # a command, and perhaps its kind
    sh "$here/man_page.sh" "$program" $1 <"$here/ascgrad.1" >"$folder/man/ascgrad-$(echo "$1" | tr ' ' -).1"
}

"$program" --help | awk '/^  [a-z]/ { print $1 } /^$/ && NR > 2 { exit }' | while read -r command; do
    page "$command"
    "$program" "$command" --help-table | awk -F '\t' '$1 == "kind" { print $2 }' | while read -r kind; do
        page "$command $kind"
    done
done
sh "$here/completions.sh" "$program" bash >"$folder/completions/ascgrad"
sh "$here/completions.sh" "$program" zsh >"$folder/completions/_ascgrad"
sh "$here/completions.sh" "$program" fish >"$folder/completions/ascgrad.fish"
