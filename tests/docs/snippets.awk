# Writes every block of code ```c or ```cpp of a Markdown page into a file of its own, OUT/HEADING_NN.h, where HEADING
# is the heading that it stands under and NN counts the blocks there; and their names, one a line, into OUT/list.
# usage: awk -v out=FOLDER -f snippets.awk PAGE
/^#/ && !inside {
    heading = tolower($0)
    gsub(/[^a-z0-9]+/, "_", heading)
    gsub(/^_|_$/, "", heading)
    count = 0
}
/^ *```/ {
    if (inside) {
        close(file)
        inside = 0
        next
    }
    match($0, /^ */)
    indent = RLENGTH
    language = substr($0, indent + 4)
    inside = 1
    wanted = language == "c" || language == "cpp"
    if (wanted) {
        name = sprintf("%s_%02d", heading, ++count)
        file = out "/" name ".h"
        print name >(out "/list")
        printf "#line %d \"%s\"\n", FNR + 1, FILENAME >file
    }
    next
}
inside && wanted { print substr($0, indent + 1) >file }
