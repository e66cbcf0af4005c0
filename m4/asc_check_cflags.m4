dnl ASC_CHECK_CFLAGS(VARIABLE, FLAGS, [IF-ALL])
dnl Puts those of FLAGS that the compiler takes without a word into VARIABLE, and substitutes it.
dnl Runs IF-ALL if it takes them all. Where the user's flags are warned of, what it takes is what it does not refuse.
AC_DEFUN([ASC_CHECK_CFLAGS], [
    AC_REQUIRE([ASC_WERROR])
    $1=
    asc_all=yes
    asc_saved_CFLAGS=$CFLAGS
    for asc_flag in $2; do
        AC_MSG_CHECKING([whether $CC takes $asc_flag])
        CFLAGS="$asc_saved_CFLAGS $asc_werror $asc_flag"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
            [AC_MSG_RESULT([yes])
             AS_VAR_APPEND([$1], [" $asc_flag"])],
            [AC_MSG_RESULT([no])
             asc_all=no])
    done
    CFLAGS=$asc_saved_CFLAGS
    AC_SUBST([$1])
    AS_IF([test $asc_all = yes], [m4_default([$3], [:])])
])

dnl ASC_WERROR
dnl asc_werror: -Werror, if the compiler has no warning about the user's own CFLAGS.
AC_DEFUN([ASC_WERROR], [
    AC_MSG_CHECKING([whether $CC takes CFLAGS without a warning])
    asc_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
        [AC_MSG_RESULT([yes])
         asc_werror=-Werror],
        [AC_MSG_RESULT([no])
         asc_werror=])
    CFLAGS=$asc_saved_CFLAGS
])
