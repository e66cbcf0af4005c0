dnl ASC_CHECK_CFLAGS(VARIABLE, FLAGS, [IF-ALL])
dnl Puts those of FLAGS that the compiler takes without a word into VARIABLE, and substitutes it.
dnl Runs IF-ALL if it takes them all.
AC_DEFUN([ASC_CHECK_CFLAGS], [
    $1=
    asc_all=yes
    asc_saved_CFLAGS=$CFLAGS
    for asc_flag in $2; do
        AC_MSG_CHECKING([whether $CC takes $asc_flag])
        CFLAGS="$asc_saved_CFLAGS -Werror $asc_flag"
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
