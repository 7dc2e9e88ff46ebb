#include "judge/open/opening.h"

#include "base/log.h"

#include <string.h>

void opening_take_reference(struct opening *opening, struct reference *from)
{
    struct reference *reference = opening->reference;
    reference_close(reference);
    *reference = *from;
    *from = REFERENCE_NONE;
    reference->child.cancelled = opening->job->cancelled;
    if (reference->child.requests.builder) /* another session's */
        reference->child.requests.builder = opening->builder;
}

bool opening_has_reference(struct opening *opening)
{
    struct reference *reference = opening->reference;
    const char *hash = opening->job->reference_hash;
    struct reference found;
    if (reference->open && reference->child.gpu == opening->gpu &&
        strcmp(reference->hash, hash) == 0 && !sandboxed_ended(&reference->child.process))
        return true;
    if (!reference_cache_take(opening->references, hash, opening->gpu, &found))
        return false;
    log_write(LOG_LEVEL_DEBUG, "judge", "its reference is open already");
    opening_take_reference(opening, &found);
    return true;
}
