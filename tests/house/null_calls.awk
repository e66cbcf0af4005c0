# Writes a C function for each function that the public headers and the program's declare, which calls it with any of
# its arguments NULL, and a table of them, for tests/house/test_null.c.
# usage: awk -f null_calls.awk NAMES include/ascgrad/*.h include/program/*.h, NAMES being what list_api.sh prints
#
# What stands for an argument that is not NULL follows from its type: a function of test_null.c, real_lm() for an
# asc_lm, where `real` has one; else zeroed memory.

BEGIN {
    real["asc_tensor"] = "real_tensor"
    split("asc_ctx asc_call asc_op asc_params asc_optim asc_lm asc_lm_cache asc_layer asc_tokenizer asc_decoder " \
          "asc_dataset asc_split asc_text asc_settings asc_model asc_profile asc_safetensors asc_piece_fn asc_run " \
          "asc_encoder asc_sentences asc_features asc_encoded_fn " \
          "asc_experiment asc_lm_carried asc_recompute_fn asc_observer asc_grad_hook", names, " ")
    for (i in names) {
        real[names[i] " *"] = "real_" substr(names[i], 5)
    }
    real["char *"] = "real_string"
    real["FILE *"] = "real_file"
    real["names"] = "real_names"
    real["results"] = "real_results"
    real["asc_tensor *"] = "real_tensors"
}

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# Splits s at the commas outside of parentheses.
function arguments(s, out,    i, c, depth, n) {
    n = 1
    out[1] = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        depth += c == "(" ? 1 : c == ")" ? -1 : 0
        if (c == "," && depth == 0) {
            out[++n] = ""
        } else {
            out[n] = out[n] c
        }
    }
    for (i = 1; i <= n; i++) {
        out[i] = trim(out[i])
    }
    return n == 1 && out[1] == "void" ? 0 : n
}

# The expression for argument i of the call `p`; `letter` gets its kind: c context, p pointer, t tensor, i whole number,
# r another.
function argument(declared, i,    type, name, bare) {
    if (match(declared, /\(\*[a-z_]+\)/)) { # a pointer to a function, written out
        names_of[i] = substr(declared, RSTART + 2, RLENGTH - 3)
        letter = "p"
        return "p->null[" i "] ? NULL : real_" names_of[i]
    }
    match(declared, /[A-Za-z_0-9]+$/)
    name = names_of[i] = substr(declared, RSTART)
    type = trim(substr(declared, 1, RSTART - 1))
    bare = type
    gsub(/const /, "", bare)
    gsub(/const/, "", bare)
    gsub(/\*/, " *", bare)
    gsub(/ +/, " ", bare)
    bare = trim(bare)
    if (bare == "asc_tensor") {
        letter = "t"
        return "p->null[" i "] ? asc_null() : real_tensor(p, \"" name "\")"
    }
    if (bare ~ /\*$/) {
        letter = bare == "asc_ctx *" ? "c" : "p"
        if (type ~ /char \*const \*/) {
            bare = "names"
        }
        if (type == "asc_tensor *") {
            bare = "results"
        }
        if (bare in real) {
            return "p->null[" i "] ? NULL : (" type ")" real[bare] "(p, \"" name "\")"
        }
        return "p->null[" i "] ? NULL : (" type ")real_memory(" i ")"
    }
    letter = bare == "int" || bare == "int32_t" || bare == "int64_t" || bare ~ /^asc_/ ? "i" : "r"
    return letter == "i" ? "(" type ")p->number[" i "]" : "(" type ")p->other"
}

# The statement that makes the call and notes what it returned.
function statement(type, call) {
    if (type == "asc_status") {
        return "p->status = " call
    }
    if (type == "asc_tensor") {
        return "p->none = asc_is_null(" call ")"
    }
    if (type == "asc_ctx *") {
        return "asc_ctx_free(" call ")"
    }
    return type ~ /\*$/ ? "p->none = " call " == NULL" : call
}

function declaration(s,    type, name, n, i, list, letters, names, inner, call, kind) {
    gsub(/ASC_PRINTF\([0-9, ]*\)/, "", s)
    match(s, /asc_[a-z0-9_]+\(/)
    name = substr(s, RSTART, RLENGTH - 1)
    type = trim(substr(s, 1, RSTART - 1))
    inner = substr(s, RSTART + RLENGTH)
    sub(/\)[^)]*$/, "", inner)
    n = arguments(inner, list)
    call = name
    if (list[n] == "...") { # through a type without the check of its format
        n--
        call = "((" type "(*)(" inner "))" name ")"
    }
    call = call "("
    for (i = 0; i < n; i++) {
        call = call (i ? ",\n        " : "") argument(list[i + 1], i)
        letters = letters letter
        names = names (i ? ", " : "") "\"" names_of[i] "\""
    }
    printf "static void do_%s(pick *p)\n{\n    (void)p;\n    %s;\n}\n\n", name, statement(type, call ")")
    kind = type == "asc_status" ? "s" : type == "asc_tensor" ? "t" : type ~ /\*$/ ? "p" : "v"
    table = table sprintf("    {\"%s\", do_%s, \"%s\", '%s', {%s}},\n", name, name, letters, kind, n ? names : "NULL")
}

NR == FNR { exported = exported "    \"" $0 "\",\n"; next }
FNR == 1 { open = 0 }
{
    gsub(/\/\*.*\*\//, "")
}
/^ASC_API / { open = 1; text = "" }
open {
    text = text " " $0
    if (/;/) {
        sub(/;.*/, "", text)
        sub(/^ *ASC_API /, "", text)
        declaration(text)
        open = 0
    }
}
END {
    printf "static const function functions[] = {\n%s};\n\n", table
    printf "static const char *const exported[] = {\n%s};\n", exported
}
