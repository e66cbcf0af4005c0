dnl ASC_CHECK_FOLDERS: refuses paths that make, libtool and the shell take apart: they would fail later, and strangely.
AC_DEFUN([ASC_CHECK_FOLDERS], [
    for asc_folder in "$(pwd)" "$(cd "$srcdir" && pwd)"; do
        AS_IF([test -n "$(printf '%s' "$asc_folder" | tr '\n' ' ' | LC_ALL=C tr -d 'A-Za-z0-9/._+@~\200-\377-')"],
            [AC_MSG_ERROR(m4_normalize([make can't build under the path '$asc_folder': expected letters, digits and
                /._+@~-; ./quickstart builds it by way of a link]))])
    done
])
