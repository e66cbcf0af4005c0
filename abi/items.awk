# Reads the public headers and writes what a program compiled against them relies on, one item a line, as an input of
# abi/measure.awk:
#   FUNCTION name declaration
#   TYPE declaration              a typedef of a function, or of a struct whose inside is hidden
#   STRUCT type                   and its fields:
#   FIELD type name declaration   of which @ stands for the name
#   VALUE name                    an enumerator, or a macro that is a whole number
# A function that is declared `extern` is no part of it: the caller's plugin has it, not the library.
# usage: awk -f items.awk include/ascgrad/*.h

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# The next part of `rest` up to `mark` outside of parentheses and braces, which it is shortened by.
function next_part(mark,    i, c, depth, part) {
    for (i = 1; i <= length(rest); i++) {
        c = substr(rest, i, 1)
        depth += c ~ /[({]/ ? 1 : c ~ /[)}]/ ? -1 : 0
        if (c == mark && depth == 0) {
            break
        }
    }
    part = trim(substr(rest, 1, i - 1))
    rest = trim(substr(rest, i + 1))
    return part
}

# One declarator, "*name[3]" or "(*name)(int)", with the type before it.
function field(type, before, declarator,    name) {
    if (match(declarator, /\( *\*+ *[a-z0-9_]+/)) {
        name = substr(declarator, RSTART, RLENGTH)
        sub(/^\( *\*+ */, "", name)
    } else {
        name = declarator
        sub(/ *\[.*/, "", name)
        sub(/.*[ *]/, "", name)
    }
    match(declarator, "(^|[^a-z0-9_])" name "([^a-z0-9_]|$)")
    if (substr(declarator, RSTART, 1) !~ /[a-z_]/) {
        RSTART++
    }
    print "FIELD " type " " name " " before substr(declarator, 1, RSTART - 1) "@" \
        substr(declarator, RSTART + length(name))
}

function struct_of(type, body,    outer, list, first, before) {
    print "STRUCT " type
    outer = rest
    rest = body
    while (rest != "") {
        list = next_part(";")
        if (list == "") {
            continue
        }
        if (list ~ /\{/) {
            print "items.awk: " type ": a struct in a struct is not known here: " list >"/dev/stderr"
            exit failed = 1
        }
        body = rest
        rest = list
        first = next_part(",")
        field(type, "", first)
        before = first
        sub(/[ *]*[a-z0-9_]+ *(\[.*)?$/, "", before)
        while (rest != "") {
            field(type, before " ", next_part(","))
        }
        rest = body
    }
    rest = outer
}

function enum_of(body,    outer, item) {
    outer = rest
    rest = body
    while (rest != "") {
        item = next_part(",")
        sub(/[ =].*/, "", item)
        if (item != "") {
            print "VALUE " item
        }
    }
    rest = outer
}

# Without the inline functions that it begins with.
function no_inline(s,    i, depth) {
    while (s ~ /^static inline /) {
        depth = 0
        i = index(s, "{")
        do {
            depth += substr(s, i, 1) == "{" ? 1 : substr(s, i, 1) == "}" ? -1 : 0
            i++
        } while (depth > 0)
        s = trim(substr(s, i))
    }
    return s
}

function inside(s) {
    sub(/^[^{]*\{/, "", s)
    sub(/\}[^}]*$/, "", s)
    return s
}

function statement(s,    name) {
    gsub(/ASC_PRINTF\([0-9, ]*\)/, "", s)
    s = no_inline(trim(s))
    name = s
    if (s ~ /^ASC_API /) {
        sub(/^ASC_API /, "", s)
        match(s, /asc_[a-z0-9_]+ *\(/)
        print "FUNCTION " substr(s, RSTART, RLENGTH - 1) " " s
    } else if (s ~ /^(typedef )?enum/) {
        enum_of(inside(s))
    } else if (s ~ /^typedef struct[^{]*\{/) {
        sub(/.*\} */, "", name)
        struct_of(name, inside(s))
    } else if (s ~ /^struct [a-z0-9_]+ *\{/) {
        sub(/ *\{.*/, "", name)
        sub(/^struct /, "", name)
        struct_of(name, inside(s))
    } else if (s ~ /^typedef /) {
        print "TYPE " s
    } else if (s != "" && s !~ /^(struct [a-z0-9_]+$|extern )/) {
        print "items.awk: not understood: " s >"/dev/stderr"
        exit failed = 1
    }
}

# Comments go, and what is for C++ alone; a line that ends in a backslash goes on.
{
    line = $0
    if (comment) {
        if (!sub(/^.*\*\//, "", line)) {
            next
        }
        comment = 0
    }
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    comment = sub(/\/\*.*/, "", line)
}
/^#ifdef __cplusplus/ { skip = 1 }
/^#endif/ { skip = 0; next }
skip { next }
line ~ /^#/ || continued {
    if (line !~ /ASC_VERSION/ && line ~ /^#define ASC_[A-Z0-9_]+ +\(?-?([0-9]+u?|INT64_M[AI][XN])\)?[ \t]*$/) {
        print "VALUE " $2
    }
    continued = line ~ /\\$/
    next
}
{ all = all " " line }
END {
    if (failed) {
        exit 1
    }
    gsub(/[ \t]+/, " ", all)
    rest = all
    while (rest != "") {
        statement(next_part(";"))
    }
}
