dnl ASC_FIND_OPENBLAS
dnl Sets and substitutes OPENBLAS_CFLAGS and OPENBLAS_LIBS; openblas_from says where they come from.
dnl Distributions without openblas.pc keep cblas.h in one of a few folders.
AC_DEFUN([ASC_FIND_OPENBLAS], [
    PKG_CHECK_MODULES([OPENBLAS], [openblas], [openblas_from=pkg-config], [openblas_from=])
    AS_IF([test -z "$openblas_from"], [
        asc_saved_CPPFLAGS=$CPPFLAGS
        asc_saved_LIBS=$LIBS
        LIBS="${OPENBLAS_LIBS:--lopenblas} $LIBS"
        AC_MSG_CHECKING([for OpenBLAS without pkg-config])
        for asc_flag in "$OPENBLAS_CFLAGS" -I/usr/include/openblas -I/usr/local/include/openblas \
                        -I/usr/include/$host_cpu-linux-gnu -I/opt/OpenBLAS/include; do
            CPPFLAGS="$asc_saved_CPPFLAGS $asc_flag"
            AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cblas.h>]], [[openblas_set_num_threads(1)]])],
                [openblas_from="cblas.h and -lopenblas" OPENBLAS_CFLAGS=$asc_flag
                 OPENBLAS_LIBS=${OPENBLAS_LIBS:--lopenblas}
                 break])
        done
        CPPFLAGS=$asc_saved_CPPFLAGS
        LIBS=$asc_saved_LIBS
        AC_MSG_RESULT([${openblas_from:-no}])
        AS_IF([test -z "$openblas_from"],
            [AC_MSG_ERROR(m4_normalize([OpenBLAS was not found: install its development package,
                or set OPENBLAS_CFLAGS and OPENBLAS_LIBS]))])
    ])
])
