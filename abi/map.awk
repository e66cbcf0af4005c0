# Writes the linker's version script: each exported function with the version that brought it, which is that of the first
# baseline that declares it, or the one that is being made.
# usage: awk -v now=MAJOR.MINOR -f map.awk [abi/MAJOR.MINOR.c...] libascgrad.sym, baselines in order of version
FNR == 1 {
    version = FILENAME
    sub(/.*\//, "", version)
    if (!sub(/\.c$/, "", version)) {
        version = now
    }
    if (!(version in functions)) {
        functions[version] = ""
        order[++n] = version
    }
}
/^    \(any \*\)asc_[a-z0-9_]+,$/ { seen[substr($2, 7, length($2) - 7)] = version; next }
FILENAME ~ /\.c$/ { next }
{
    version = $1 in seen ? seen[$1] : now
    functions[version] = functions[version] "        " $1 ";\n"
}
END {
    for (i = 1; i <= n; i++) {
        printf "ASCGRAD_%s {\n    global:\n%s", order[i], functions[order[i]]
        print (i == 1 ? "    local: *;\n};" : "} ASCGRAD_" order[i - 1] ";")
    }
}
