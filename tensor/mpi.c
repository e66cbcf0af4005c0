/* tensor/mpi.c: finds and loads the module that is linked with MPI. Nothing else of the library knows MPI, so that a
 * machine without it has all else, and a program that does not need it starts as quickly. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/comm.h"
#include "tensor/mpi_module.h"
#include "tensor/need.h"

#define FILE_NAME "ascgrad_mpi.so"

static const asc_mpi_module *module; /* once it is open */

bool asc_mpi_launched(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = getenv(sizes[i]);
        if (size && atoi(size) > 1) {
            return true;
        }
    }
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    return tasks && atoi(tasks) > 1 && (getenv("PMIX_RANK") || getenv("PMI_RANK"));
}

#ifdef ASC_MPI_FOLDER
enum { PATH = PATH_MAX + sizeof FILE_NAME };

/* The module's file: beside the program, as in a build folder, else where it is installed. */
static const char *find_file(char path[PATH])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) {
        snprintf(slash + 1, sizeof FILE_NAME, "%s", FILE_NAME);
    }
    return slash && access(path, R_OK) == 0 ? path : ASC_MPI_FOLDER "/" FILE_NAME;
}

const char *asc_mpi_version(void)
{
    char path[PATH];
    return access(find_file(path), R_OK) == 0 ? ASC_MPI_VERSION : NULL;
}

static void *load(char *why, size_t bytes)
{
    char path[PATH];
    void *found = dlopen(find_file(path), RTLD_NOW | RTLD_GLOBAL);
    snprintf(why, bytes, "%s", found ? "" : dlerror());
    return found;
}
#else
const char *asc_mpi_version(void)
{
    return NULL;
}

static void *load(char *why, size_t bytes)
{
    snprintf(why, bytes, "it was not there when ascgrad was built");
    return NULL;
}
#endif

asc_status asc_mpi_open(asc_ctx *ctx, double timeout_s, asc_comm *comm)
{
    asc_status status = ASC_NEED(ctx, "mpi_open: comm", comm);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    char why[300];
    void *file = load(why, sizeof why);
    const asc_mpi_module *found = file ? dlsym(file, ASC_MPI_MODULE) : NULL;
    if (file && !found) {
        snprintf(why, sizeof why, "%s", dlerror());
    }
    if (!found) {
        return asc_fail(ctx, ASC_ERR_IO, "a job of several processes needs MPI: %s", why);
    }
    if (found->version != ASC_VERSION_NUMBER) {
        return asc_fail(ctx, ASC_ERR_IO, "%s is of another version", FILE_NAME);
    }
    if (found->open(timeout_s, comm, why, sizeof why)) {
        return asc_fail(ctx, ASC_ERR_IO, "%s", why);
    }
    if (comm->size == 1 && asc_mpi_launched()) { /* each of the processes would train alone, in the same folder */
        found->close();
        *comm = (asc_comm){0};
        return asc_fail(ctx, ASC_ERR_IO, "the launcher began several processes, and %s, which ascgrad was built with, "
                        "knows of one: is mpirun, or srun's --mpi, another MPI's?", asc_mpi_version());
    }
    module = found;
    return ASC_OK;
}

void asc_mpi_close(asc_comm *comm)
{
    if (comm && comm->size > 0 && module) {
        module->close();
        *comm = (asc_comm){0};
    }
}

void asc_mpi_abort(const asc_comm *comm, int status)
{
    if (comm && comm->size > 0 && module) {
        module->abort(status);
    }
}
