/* tensor/mpi_module.h: what the part of the library that is linked with MPI has, a shared object of its own, which is
 * loaded where a job has several ranks. */
#ifndef TENSOR_MPI_MODULE_H
#define TENSOR_MPI_MODULE_H

#include <ascgrad/comm.h>

typedef struct asc_mpi_module {
    int version; /* ASC_VERSION_NUMBER: of the library that it was built with */
    /* Starts MPI; 0, or `why` says why it does not start. */
    int (*open)(double timeout_s, asc_comm *comm, char *why, size_t bytes);
    void (*close)(void);
    void (*abort)(int status);
} asc_mpi_module;

#define ASC_MPI_MODULE "asc_mpi_functions" /* the symbol */

#endif
