#!/bin/sh
# Prints include/ascgrad/typed_settings.h, the structs of settings, from their tables.
# usage: typed_settings.sh PROGRAM
set -u
LC_ALL=C # numbers, sorting and ranges as everywhere
export LC_ALL
cat <<'TEXT'
/*
 * ascgrad/typed_settings.h: a struct for the settings of the model and of each mixing. Made from the tables of them by
 * `make update-typed-settings`; ascgrad/typed.h says how they are used, doc/settings.md what they mean.
 */
#ifndef ASCGRAD_TYPED_SETTINGS_H
#define ASCGRAD_TYPED_SETTINGS_H

#include <ascgrad/typed.h>

#ifdef __cplusplus
extern "C" {
#endif
TEXT
"$1" info --settings | awk '
/^settings$/ { on = 1; next }
!on { next }
/^[a-z]/ {
    finish()
    owner = $1
    next
}
owner == "train" { next }
{
    sub(/^  /, "")
    split($0, field, /  +/)
    sub(/; option --.*/, "", field[4])
    add(field[1], field[2], field[3], field[4])
}

# The text in lines of at most 120 columns, those after the first indented.
function fill(text, indent,    n, i, word, line, out) {
    n = split(text, word, " ")
    line = word[1]
    sub(/[^ ].*/, "", text)
    line = text line
    for (i = 2; i <= n; i++) {
        if (length(line " " word[i]) > 120) {
            out = out line "\n"
            line = indent word[i]
        } else {
            line = line " " word[i]
        }
    }
    return out line "\n"
}

# A key, what it may be, its default, and what it is.
function add(key, values, fallback, help,    spread, zero, kind, names) {
    spread = sub(/ \[(layer|head)\]$/, "", values)
    zero = fallback != "0" && fallback != "false" && may_be_zero(values) # which is not its default
    if (values ~ /^list of lists/) {
        kind = "TUPLES"
    } else if (values ~ /^list of whole/) {
        kind = "LIST"
    } else if (values ~ /^list of names/) {
        kind = "NAMES"
    } else if (values ~ /^whole number/) {
        kind = spread || zero ? "INTS" : "INT"
    } else if (values ~ /^number/) {
        kind = spread || zero ? "REALS" : "REAL"
    } else if (values == "true, false") {
        kind = spread || zero ? "BOOLS" : "BOOL"
    } else if (values == "true, false, whole number") {
        kind = "COUNT"
    } else if (values == "text") {
        kind = spread ? "TEXTS" : "TEXT"
    } else {
        kind = "CHOICE"
        names = enumerate(key, values)
    }
    members = members fill("    /* " help " */", "     * ") sprintf("    %s%s;\n", type_of(kind, key), key)
    rows = rows sprintf("        {\"%s\", ASC_FIELD_%s, offsetof(asc_%s_settings, %s), %s},\n", key, kind, owner, key,
                        names ? names : "ASC_NULL")
}

# Whether 0, or false, is one of the values: "whole number, 1 to 8", "number >= 0".
function may_be_zero(values,    least) {
    if (values !~ /number/) {
        return values == "true, false"
    }
    least = values
    sub(/^[a-z ]*(, |>= )?/, "", least)
    return least == "" || least + 0 <= 0
}

function type_of(kind, key) {
    return kind == "INT" || kind == "COUNT" ? "int64_t " : kind == "REAL" ? "double " : kind == "BOOL" ? "bool " \
         : kind == "TEXT" ? "const char *" : kind == "CHOICE" ? "asc_" owner "_" key " " \
         : kind == "INTS" || kind == "LIST" ? "asc_ints " : kind == "REALS" ? "asc_reals " \
         : kind == "BOOLS" ? "asc_bools " : kind == "TUPLES" ? "asc_tuples " : "asc_texts "
}

# The enum of a choice; the name of the array of its names.
function enumerate(key, values,    n, i, name, upper, list, texts) {
    upper = toupper("asc_" owner "_" key "_")
    list = upper "DEFAULT"
    n = split(values, name, ", ")
    for (i = 1; i <= n; i++) {
        list = list ", " upper toupper(name[i])
        texts = texts "\"" name[i] "\", "
    }
    enums = enums fill("typedef enum asc_" owner "_" key " { " list " } asc_" owner "_" key ";", "    ")
    names_of = names_of fill(sprintf("    static const char *const %s[] = {%sASC_NULL};", key, texts), "        ")
    return key
}

function finish() {
    if (owner && owner != "train") {
        printf "\n/* ---- %s ---- */\n\n%s", owner, enums
        printf "\ntypedef struct asc_%s_settings {\n    int none; /* so that ASC_%s(0) gives nothing */\n%s", owner,
               toupper(owner), members
        printf "} asc_%s_settings;\n", owner
        printf "\nstatic inline const asc_field *asc_%s_fields(void)\n{\n%s", owner, names_of
        printf "    static const asc_field fields[] = {\n%s", rows
        printf "        {ASC_NULL, ASC_FIELD_INT, 0, ASC_NULL},\n    };\n"
        printf "    return fields;\n}\n"
        printf "#define ASC_%s(...) \\\n", toupper(owner)
        printf "    ((asc_typed){\"%s\", asc_%s_fields(), ", owner, owner
        printf "&(const asc_%s_settings){__VA_ARGS__}})\n", owner
    }
    members = rows = enums = names_of = ""
}
END { finish() }
'
cat <<'TEXT'

#ifdef __cplusplus
}
#endif
#endif
TEXT
