dnl ASC_HARDENING
dnl What makes a hole harder to use: HARDEN_CFLAGS for all code but the kernels, HARDEN_LDFLAGS for the program and
dnl the shared library, PIE_CFLAGS for all code and PIE_LDFLAGS for the program. Sanitizers see more without it.
AC_DEFUN([ASC_HARDENING], [
    AC_ARG_ENABLE([hardening], [AS_HELP_STRING([--disable-hardening],
        [leave out stack protection, fortified functions, position independence, read-only relocations])])
    HARDEN_CFLAGS= HARDEN_LDFLAGS= PIE_CFLAGS= PIE_LDFLAGS=
    hardening=${enable_hardening-yes}
    AS_CASE([" $CC $CFLAGS"], [*-fsanitize*], [hardening=no])
    AS_IF([test "$hardening" != no], [
        ASC_CHECK_CFLAGS([HARDEN_CFLAGS], [-fstack-protector-strong])
        ASC_CHECK_CFLAGS([PIE_CFLAGS], [-fPIE])
        asc_saved_CFLAGS=$CFLAGS
        AC_MSG_CHECKING([for fortified functions])
        CFLAGS="$asc_saved_CFLAGS $ASC_OPT $asc_werror"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #if !(_FORTIFY_SOURCE >= 2)
            #error not by the compiler itself, or by the user
            #endif
            ]])], [AC_MSG_RESULT([they are])],
            [CFLAGS="$CFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
             AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]])],
                [AC_MSG_RESULT([yes])
                 HARDEN_CFLAGS="$HARDEN_CFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"], [AC_MSG_RESULT([no])])])
        CFLAGS="$asc_saved_CFLAGS $HARDEN_CFLAGS $PIE_CFLAGS"
        asc_saved_LDFLAGS=$LDFLAGS
        for asc_flag in -Wl,-z,relro -Wl,-z,now -pie; do
            AC_MSG_CHECKING([whether the linker takes $asc_flag])
            LDFLAGS="$asc_saved_LDFLAGS $asc_flag"
            AC_LINK_IFELSE([AC_LANG_PROGRAM()],
                [AC_MSG_RESULT([yes])
                 AS_IF([test x$asc_flag = x-pie], [PIE_LDFLAGS=-pie],
                     [AS_VAR_APPEND([HARDEN_LDFLAGS], [" $asc_flag"])])], [AC_MSG_RESULT([no])])
        done
        CFLAGS=$asc_saved_CFLAGS
        LDFLAGS=$asc_saved_LDFLAGS
    ])
    AC_SUBST([HARDEN_CFLAGS])
    AC_SUBST([PIE_CFLAGS])
    AC_SUBST([HARDEN_LDFLAGS])
    AC_SUBST([PIE_LDFLAGS])
])
