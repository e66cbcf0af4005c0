#!/bin/sh
# Prints the completions of a shell, bash, zsh or fish, from the program's own tables of commands and options.
# usage: completions.sh PROGRAM SHELL
set -u
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
program=$1 shell=$2

commands() {
    "$program" --help | awk '/^  [a-z]/ { print $1 } /^$/ && NR > 2 { exit }'
}

# table WORD...: the tables of a command and of its kinds, one after the other.
table() {
    "$program" "$@" --help-table </dev/null
    "$program" "$@" --help-table </dev/null | awk -F '\t' '$1 == "kind" { print $2 }' | while read -r kind; do
        table "$@" "$kind"
    done
}

tables() {
    commands | while read -r command; do
        table "$command"
    done
}

bash_completions() {
    cat <<'END'
# Completions of ascgrad for bash. Made by doc/completions.sh: make update-help.
# shellcheck shell=bash disable=SC2207,SC2034

_ascgrad_command() { # COMMAND: its kinds, options, and what its operands are
    kinds='' options='' operands=files
    case $1 in
END
    tables | awk -F '\t' '
    function finish() {
        if (name == "") return
        printf "    %s)\n", name ~ / / ? "\047" name "\047" : name
        if (kinds != "") print "        kinds=\047" kinds "\047"
        print "        options=\047" options "--help --help-all\047"
        print "        operands=" (ops ? "ops" : operands == "" || kinds != "" ? "none" : "files")
        print "        ;;"
    }
    $1 == "command" { finish(); name = $2; kinds = options = operands = ops = "" }
    $1 == "operands" { operands = $2; ops = $2 ~ /OP\.\.\./ }
    $1 == "kind" { kinds = kinds (kinds == "" ? "" : " ") $2 }
    $1 == "option" { options = options "--" $2 " " }
    END { finish() }'
    cat <<'END'
    esac
}

_ascgrad_argument() { # COMMAND OPTION: what the option's argument is
    values='' paths=''
    case "$1 $2" in
END
    tables | awk -F '\t' '
    $1 == "command" { name = $2 }
    $1 == "option" && $5 != "none" {
        names = "\047" name " --" $2 "\047" ($3 == "-" ? "" : " | \047" name " -" $3 "\047")
        values = $6 == "-" ? "" : $6
        paths = $5 == "file" ? "files" : $5 == "folder" ? "folders" : values ~ /:/ ? "files" : ""
        print "    " names ") values=\047" values "\047 paths=\047" paths "\047 ;;"
    }'
    echo "    *) return 1 ;;"
    printf '    esac\n}\n\n'
    printf "_ascgrad_commands='%s help'\n" "$(commands | tr '\n' ' ' | sed 's/ $//')"
    cat <<'END'

_ascgrad() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} kinds options operands values paths first=2
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "$_ascgrad_commands --help --version" -- "$cur"))
        return
    fi
    if [[ $command == help ]]; then
        command=${COMP_WORDS[2]}
        first=3
        if [[ $COMP_CWORD -eq 2 ]]; then
            COMPREPLY=($(compgen -W "$_ascgrad_commands" -- "$cur"))
            return
        fi
    fi
    _ascgrad_command "$command"
    if [[ -n $kinds ]]; then
        if [[ $COMP_CWORD -eq $first ]]; then
            COMPREPLY=($(compgen -W "$kinds $options" -- "$cur"))
            return
        fi
        command+=" ${COMP_WORDS[first]}"
        _ascgrad_command "$command"
    fi
    if [[ $cur == = ]]; then # --model= is cut into words
        cur=''
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $prev == -* ]] && _ascgrad_argument "$command" "$prev"; then
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        return
    elif [[ $operands == ops ]]; then
        COMPREPLY=($(compgen -W "$(ascgrad info 2>/dev/null | sed -n 's/^ops  *//p')" -- "$cur"))
        return
    else
        paths=$operands
    fi
    local IFS=$'\n'
    case $paths in
    files) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")) ;;
    folders) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$cur")) ;;
    esac
}
complete -F _ascgrad ascgrad
END
}

zsh_completions() {
    cat <<'END'
#compdef ascgrad
# Completions of ascgrad for zsh. Made by doc/completions.sh: make update-help.

_ascgrad_ops() {
    local -a ops
    ops=(${=$(ascgrad info 2>/dev/null | sed -n 's/^ops  *//p')})
    compadd -a ops
}

_ascgrad_either() { # a word, or a file
    compadd -- "$@"
    _files
}

_ascgrad_options() { # COMMAND [KIND]
    case $1 in
END
    tables | awk -F '\t' '
    function quote(s) {
        gsub(/\\/, "\\\\", s)
        gsub(/[\[\]:]/, "\\\\&", s)
        gsub(/\047/, "\047\\\047\047", s)
        return s
    }
    function finish() {
        if (name == "") return
        print "    " (name ~ / / ? "\047" name "\047" : name) ")"
        print "        _arguments -s : \\"
        printf "%s", options
        print "            \047(-h --help)\047{-h,--help}\047[print the help]\047 \\"
        print "            \047--help-all[print all of it]\047 \\"
        print "            \047*:" (kinds != "" ? "kind:(" kinds ")" : ops ? "op:_ascgrad_ops" : \
                operands == "" ? "nothing: " : "file:_files") "\047 ;;"
    }
    $1 == "command" { finish(); name = $2; kinds = options = operands = ops = "" }
    $1 == "operands" { operands = $2; ops = $2 ~ /OP\.\.\./ }
    $1 == "kind" { kinds = kinds (kinds == "" ? "" : " ") $2 }
    $1 == "option" {
        values = $6 == "-" ? "" : $6
        files = $5 == "folder" ? "_files -/" : $5 == "file" || values ~ /:/ ? "_files" : ""
        what = values != "" && files != "" ? " _ascgrad_either " quote(values) : \
               values != "" ? "(" values ")" : files != "" ? files : " "
        argument = $5 == "none" ? "" : ":" quote($4) ":" what
        long = "--" $2 ($5 == "none" ? "" : "=")
        names = $3 == "-" ? "\047" long : "\047(-" $3 " --" $2 ")\047{-" $3 "," long "}\047"
        options = options "            " names "[" quote($8) "]" argument "\047 \\\n"
    }
    END { finish() }'
    cat <<'END'
    esac
}

_ascgrad() {
    local -a commands
    commands=(
END
    "$program" --help | awk '/^  [a-z]/ { print $1 } /^$/ && NR > 2 { exit }' | while read -r command; do
        printf "        '%s:%s'\n" "$command" "$("$program" "$command" --help-table |
            awk -F '\t' '$1 == "summary" { print $2 }' | sed "s/'/'\\\\''/g")"
    done
    cat <<'END'
        'help:explains a command'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    if [[ $command == help ]]; then
        (( CURRENT == 3 )) && _describe command commands
        return
    fi
    case $command in
END
    tables | awk -F '\t' '
    $1 == "command" { name = $2 }
    $1 == "kind" && !seen[name]++ { print "    " name ")" }
    $1 == "kind" && seen[name] == 1 {
        print "        if (( CURRENT > 3 )); then\n            command+=\" $words[3]\"\n            words[2]=()\n" \
            "            (( CURRENT-- ))\n        fi ;;"
        seen[name]++
    }'
    cat <<'END'
    esac
    words[1]=()
    (( CURRENT-- ))
    _ascgrad_options $command
}

_ascgrad "$@"
END
}

fish_completions() {
    cat <<'END'
# Completions of ascgrad for fish. Made by doc/completions.sh: make update-help.

# Whether the command, and its kind, stand on the command line.
function __ascgrad_at
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); or return 1
    for i in (seq (count $argv))
        test "$words[$i]" = "$argv[$i]"; or return 1
    end
end

# Whether the command is the last word.
function __ascgrad_behind
    __ascgrad_at $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))
end

function __ascgrad_first
    test (count (commandline -opc)) -eq 1
end

complete -c ascgrad -f
complete -c ascgrad -n __ascgrad_first -l help -s h -d 'print the commands'
complete -c ascgrad -n __ascgrad_first -l version -d 'print the version'
complete -c ascgrad -n __ascgrad_first -a help -d 'explains a command'
END
    echo "complete -c ascgrad -n '__ascgrad_at help' -a '$(commands | tr '\n' ' ' | sed 's/ $//')'"
    tables | awk -F '\t' '
    function quote(s) {
        gsub(/[\\\047]/, "\\\\&", s)
        return "\047" s "\047"
    }
    $1 == "command" {
        name = $2
        at = "complete -c ascgrad -n " quote("__ascgrad_at " name)
    }
    $1 == "summary" && name !~ / / { print "complete -c ascgrad -n __ascgrad_first -a " name " -d " quote($2) }
    $1 == "operands" && $2 ~ /OP\.\.\./ {
        print at " -a \047(ascgrad info 2>/dev/null | string replace -rf \"^ops +\" \"\" | string split \" \")\047"
    }
    $1 == "operands" && $2 != "" && $2 !~ /OP\.\.\.|KIND/ { print at " -F" }
    $1 == "kind" {
        print "complete -c ascgrad -n " quote("__ascgrad_behind " name) " -a " $2 " -d " quote($3)
    }
    $1 == "option" {
        folders = " -x -a \047(__fish_complete_directories)\047"
        files = $5 == "file" || $6 ~ /:/ ? " -r -F" : $5 == "folder" ? folders : $5 == "none" ? "" : " -x"
        print at " -l " $2 ($3 == "-" ? "" : " -s " $3) files ($6 == "-" ? "" : " -a " quote($6)) " -d " quote($8)
    }
    $1 == "example" && last != name { print at " -s h -l help -d \047print the help\047"; last = name }'
}

case $shell in
bash) bash_completions ;;
zsh) zsh_completions ;;
fish) fish_completions ;;
*) echo "usage: completions.sh PROGRAM bash|zsh|fish" >&2; exit 2 ;;
esac
