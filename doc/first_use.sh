#!/bin/sh
# doc/first_use.sh PROGRAM >doc/first-use.md: what a first user sees, in a real terminal (tmux), a dumb one and a pipe.
set -eu
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
program=$(realpath "$1")
folder=$(mktemp -d)
socket=first-use-$$ screens=0
trap 'tmux -L $socket kill-server 2>/dev/null || :; rm -rf "$folder"' EXIT
ln -s "$program" "$folder/ascgrad"
cd "$folder"
PATH=$folder:$PATH
export PATH

# screen COLUMNS TERM: a terminal with a shell in it.
screen() {
    screens=$((screens + 1)) socket=first-use-$$-$screens
    tmux -L $socket -f /dev/null new-session -d -x "$1" -y 40 "PS1='$ ' TERM=$2 exec sh"
    sleep 1
}

# shown PATTERN: waits until the terminal shows it.
shown() {
    for _ in $(seq 3000); do
        tmux -L $socket capture-pane -p -J | grep -q -e "$1" && return
        sleep 0.05
    done
    echo "$0: the terminal does not show '$1'" >&2
    exit 1
}

# keys TEXT...: typed.
keys() {
    tmux -L $socket send-keys "$@"
}

# picture TEXT: what the terminal shows now, as a block.
picture() {
    printf '\n%s\n\n' "$1"
    tmux -L $socket capture-pane -p | sed -e 's/[ ]*$//' -e '/./,$!d' | awk '
        { line[NR] = $0; last = /./ ? NR : last }
        END { for (i = 1; i <= last; i++) print (line[i] == "" ? "" : "    " line[i]) }'
}

end() {
    tmux -L $socket kill-server
}

cat <<'END'
# First use

What a first user sees. `doc/first_use.sh` made this page, in real terminals; speeds are those of its machine.
END

screen 100 screen
keys 'ascgrad train --preset quickstart --data builtin --steps 300 --out first' Enter
shown 'step 200/'
shown '/s  .*left'
picture 'A terminal of 100 columns, while it trains:'
shown '^\$ *$'
picture 'At the end:'
keys 'clear; ascgrad generate first --prompt "the cat" -n 20; ascgrad eval first --split test' Enter
shown 'the source itself'
picture 'After `ascgrad generate first --prompt "the cat" -n 20` and `ascgrad eval first --split test`:'
end

screen 60 screen
keys 'ascgrad train --preset quickstart --data builtin --out second --minutes 1' Enter
shown ' of [01]:'
sleep 3
picture 'A terminal of 60 columns, with a limit of time:'
keys C-c
shown '^\$ *$'
picture 'Ctrl-C:'
end

screen 60 dumb
keys 'ascgrad train --preset tiny --data builtin --out third --steps 20' Enter
sleep 1
shown '^\$ *$'
picture 'A dumb terminal (`TERM=dumb`):'
end

printf '\n%s\n\n' 'A pipe, with samples of what the model writes:'
command='ascgrad train --preset tiny --data builtin --out fourth --steps 20 --sample-every 20'
{ echo "$ $command 2>&1 | cat"; $command 2>&1 | cat; } | sed 's/^\(.\)/    \1/'
