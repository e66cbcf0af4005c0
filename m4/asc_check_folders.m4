dnl ASC_CHECK_FOLDERS: refuses paths that make, libtool and the shell take apart: they would fail later, and strangely.
AC_DEFUN([ASC_CHECK_FOLDERS], [
    asc_odd() { # PATH [CHARACTERS]: it has others than these and letters, digits, /._+@~-
        test -n "$(printf '%s' "$[]1" | tr '\n' ' ' | LC_ALL=C tr -d "A-Za-z0-9/._+@~\200-\377$[]2-")"
    }
    for asc_folder in "$(pwd)" "$(cd "$srcdir" && pwd)"; do
        AS_IF([asc_odd "$asc_folder"],
            [AC_MSG_ERROR(m4_normalize([make can't build under the path '$asc_folder': expected letters, digits and
                /._+@~-; ./quickstart builds it by way of a link]))])
    done
    for asc_folder in "$prefix" "$exec_prefix" "$bindir" "$libdir" "$includedir" "$datarootdir" "$datadir" "$mandir" \
        "$docdir"; do
        AS_IF([asc_odd "$asc_folder" '${}'],
            [AC_MSG_ERROR(m4_normalize([make can't install under the path '$asc_folder': expected letters, digits and
                /._+@~-]))])
    done
])
