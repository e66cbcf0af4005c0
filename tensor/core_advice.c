/* tensor/core_advice.c: OpenBLAS with DYNAMIC_ARCH chooses its kernels by the processor's model number (its
 * driver/others/dynamic.c). A model that is younger than the library gets kernels of an older one, down to SSE. */
#include "tensor/core_advice.h"

#include <stddef.h>
#include <string.h>

#include "tensor/locale.h"

/* Its core types by the instruction set of their kernels. */
static const struct {
    enum asc_isa isa;
    const char *cores[26];
} kernels[] = {
    {ASC_ISA_PLAIN,
     {"Unknown", "Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Atom", "Core2", "Penryn", "Dunnington",
      "Nehalem", "Athlon", "Opteron", "Opteron_SSE3", "Barcelona", "Nano", "Sandybridge", "Bobcat", "Bulldozer",
      "Piledriver", "Steamroller", "Excavator"}},
    {ASC_ISA_AVX2, {"Haswell", "Zen"}},
};

/* The oldest core type of each, which every OpenBLAS has that has any. */
static const char *const oldest[ASC_ISA_COUNT] = {[ASC_ISA_AVX2] = "Haswell", [ASC_ISA_AVX512] = "SkylakeX"};

/* A core type that is not listed is younger than this list, and taken to suit. */
static enum asc_isa kernels_of(const char *core)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        for (const char *const *name = kernels[i].cores; *name; name++) {
            if (asc_strcasecmp(core, *name) == 0) {
                return kernels[i].isa;
            }
        }
    }
    return ASC_ISA_AVX512;
}

const char *asc_core_advice(enum asc_isa best, const char *core, const char *config, const char *chosen)
{
    if (chosen || !strstr(config, "DYNAMIC_ARCH")) {
        return NULL;
    }
    return kernels_of(core) < best ? oldest[best] : NULL;
}
