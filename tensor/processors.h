/* tensor/processors.h: how many threads can run at the same time, and how much memory they have. */
#ifndef TENSOR_PROCESSORS_H
#define TENSOR_PROCESSORS_H

/* The processors that the process may use: those it is allowed to run on (taskset, cpusets), but no more than the time
 * that its control groups grant it (containers). 1 … 256. */
int asc_processors(void);

/* The control groups' part: the least quota of the process's groups and of those above them, in processors, rounded up:
 * a quota stops all threads of a group together, so that one thread too many waits with the others, while one too few
 * would leave time unused. `most` where there is no quota, or it is larger. Files are looked for below `root`, "" for
 * the machine's: /proc/self/cgroup, and groups where they are usually mounted (cgroups(7)). */
int asc_processors_granted(const char *root, int most);

/* The memory in bytes that the process may use: the machine's, but no more than its control groups allow; as it was
 * when first asked. */
double asc_memory_bytes(void);

/* What of it nobody uses now, where the system tells it. */
double asc_memory_available(void);

/* The control groups' limit, as asc_processors_granted; `most` where there is none, or it is larger. */
double asc_memory_granted(const char *root, double most);

/* As the system tells it, "unknown" if it does not; static. */
const char *asc_processor_name(void);

#endif
