dnl ASC_FIND_MPI
dnl --with-mpi[=COMPILER]: sets and substitutes MPICC; mpi says which MPI it is of, or no. Only a module of its own is
dnl compiled with it.
AC_DEFUN([ASC_FIND_MPI], [
    AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi@<:@=MPICC@:>@],
        [trainings on several machines, by this compiler of Open MPI 4 or MPICH 4 (mpicc, if it is there)])],
        [], [with_mpi=check])
    mpi=no
    dnl In a cross build it would be this machine's.
    AS_IF([test "$cross_compiling$with_mpi" = yescheck], [with_mpi=no])
    AS_CASE([$with_mpi],
        [no], [MPICC=],
        [yes|check], [AC_PATH_PROGS([MPICC], [mpicc mpicc.openmpi mpicc.mpich])],
        [MPICC=$with_mpi])
    AS_IF([test -n "$MPICC"], [
        AC_MSG_CHECKING([for MPI by $MPICC])
        cat >conftest.c <<'EOF'
#include <mpi.h>
#if defined OPEN_MPI
asc_mpi "Open MPI" OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION
#elif defined MPICH_VERSION
asc_mpi "MPICH" MPICH_VERSION
#endif
EOF
        mpi=`$MPICC -E -P conftest.c 2>/dev/null |
            sed -n '/^asc_mpi/{s/"//g;s/^asc_mpi //;s/ \([[0-9]]*\) \([[0-9]]*\) \([[0-9]]*\)$/ \1.\2.\3/;p;}'`
        dnl Our flags are those of another compiler.
        AS_IF([test -n "$mpi"], [
            echo 'int asc_mpi;' >conftest.c
            $MPICC $ASC_OPT $ASC_CFLAGS $CFLAGS -fPIC -shared $LDFLAGS $HARDEN_LDFLAGS -o conftest.so conftest.c \
                >&AS_MESSAGE_LOG_FD 2>&1 || mpi=
        ])
        rm -f conftest.c conftest.so
        AC_MSG_RESULT([${mpi:=no}])
    ])
    AS_IF([test "$mpi" = no && test "$with_mpi" != no && test "$with_mpi" != check],
        [AC_MSG_ERROR([--with-mpi: ${MPICC:-mpicc} finds neither Open MPI nor MPICH, or refuses CFLAGS or LDFLAGS])])
    AS_IF([test "$mpi" != no],
        [AC_DEFINE_UNQUOTED([ASC_MPI_VERSION], ["$mpi"], [The MPI that the module for several ranks is built with.])])
    AC_SUBST([MPICC])
    AM_CONDITIONAL([HAVE_MPI], [test "$mpi" != no])
])
