/*
 * train/run/claim.h: a claim: a file that says which process works on something, and that one process at a time has.
 *
 * The file comes into being by link(2), and a dead process's is replaced by rename(2): both hold on NFS, where locks
 * often don't. It names host and process, and a thread of its own touches it every few seconds. On the host of its
 * process the kernel knows whether that lives; elsewhere a claim that was not touched for a minute is a dead process's.
 *
 * Who takes a dead process's claim over first claims the taking over, "PATH.ID.over", where ID is the dead claim's and
 * no other's: so of several that find it dead one replaces it, and no claim that came after it is lost.
 */
#ifndef TRAIN_CLAIM_H
#define TRAIN_CLAIM_H

#include <ascgrad/base.h>

/* One that says nothing is being written, or what the loss of power has left of it. */
enum { ASC_CLAIM_BEAT_S = 5, ASC_CLAIM_STALE_S = 60, ASC_CLAIM_WRITING_S = 5 };

typedef struct asc_claim asc_claim;

/* Who has a claim; host "" and pid 0: the file does not say. */
typedef struct asc_claim_holder {
    char host[128];
    long long pid;
} asc_claim_holder;

/* Takes the claim `path`, in a folder that exists. New; *claim is NULL where a live process has it, this one perhaps:
 * *other, no error. ASC_ERR_IO, also where something other than a regular file stands there; ASC_ERR_MEMORY. */
asc_status asc_claim_take(asc_ctx *ctx, const char *path, asc_claim **claim, asc_claim_holder *other);

/* Whether the claim is still this one: another host takes over from a process that stood still for too long. */
bool asc_claim_held(const asc_claim *claim);

/* Removes the file, unless another has taken over. NULL is accepted. */
void asc_claim_drop(asc_claim *claim);

/* Whether a live process has the claim `path`: *holder, unless NULL. */
bool asc_claim_alive(const char *path, asc_claim_holder *holder);

#endif
