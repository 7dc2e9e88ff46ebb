/* workshop: a scratch directory, a sandbox and the cache, for what compiles for a torch child:
 * extension.c runs scripts there, step.c one program.
 *
 * Ownership: the workshop is the caller's storage; workshop_close removes the directory, and is
 * safe after a failure. One thread for each session.
 */
#ifndef WARPGYM_JUDGE_BUILD_SCRATCH_H
#define WARPGYM_JUDGE_BUILD_SCRATCH_H

#include "base/hash.h"
#include "base/process.h"
#include "compile/cache.h"

struct session;

struct workshop {
    struct session *session; /* the caller's */
    char *scratch;
};

NODISCARD int workshop_open(struct workshop *workshop, struct session *session, struct err *err);
void workshop_close(struct workshop *workshop);
NODISCARD int workshop_write(const struct workshop *workshop, const char *name, const void *bytes,
                             size_t count, struct err *err);
/* Runs a program of this machine there, not one of a bundle; `readable`, and nothing else. */
NODISCARD int workshop_command(const struct workshop *workshop, const char *const *argv,
                               const char *const *environment, const char *const *readable,
                               struct outcome *outcome, struct err *err);
/* Runs a shell script there. `readable`: NULL-terminated, beside what compilers need. */
NODISCARD int workshop_run(const struct workshop *workshop, const char *script,
                           const char *const *readable, struct outcome *outcome, struct err *err);
/* A file that a script has left, opened so that a link planted there is not followed; -1: none. */
int workshop_result(const struct workshop *workshop, const char *name);

/* The judge's cache by content. A miss is false; `object`: -1 for a failure that comes again. */
bool workshop_find(struct session *session, const char key[HASH_HEX_BYTES],
                   struct cache_entry *entry);
void workshop_keep(struct session *session, const char key[HASH_HEX_BYTES], int object,
                   const char *words);
/* Bytes of an object from its beginning; the caller's. `most`: how many there are at most. */
NODISCARD int workshop_read(int fd, uint64_t most, char **bytes, size_t *count, struct err *err);

#endif
