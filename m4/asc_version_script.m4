dnl ASC_VERSION_SCRIPT(CONDITIONAL)
dnl Whether the linker gives symbols versions by a script; sets the condition of automake.
AC_DEFUN([ASC_VERSION_SCRIPT], [
    AC_CACHE_CHECK([whether the linker takes a version script], [asc_cv_version_script], [
        echo 'ASC_1 { global: *; };' >conftest.map
        asc_saved_LDFLAGS=$LDFLAGS
        LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map"
        AC_LINK_IFELSE([AC_LANG_SOURCE([[int one;]])], [asc_cv_version_script=yes], [asc_cv_version_script=no])
        LDFLAGS=$asc_saved_LDFLAGS
        rm -f conftest.map
    ])
    AM_CONDITIONAL([$1], [test $asc_cv_version_script = yes])
])
