/* session_reference: the reference of the problem at hand. A session has it, takes it from the
 * shelf, or puts it there. Declared in context.h.
 */
#include "judge/context.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

bool session_reference_ready(struct session *session)
{
    struct reference *reference = &session->reference;
    const char *hash = session->problem->hash;
    if (reference->open && reference->side.gpu == session->gpu &&
        strcmp(reference->problem_hash, hash) == 0 && !boxed_ended(&reference->side.boxed))
        return true;
    struct reference found;
    if (!shelf_take(&session->judge->shelf, hash, session->gpu, &found))
        return false;
    reference_close(reference);
    *reference = found;
    if (reference->side.builder) /* another session's */
        reference->side.builder = &session->builds.builder;
    return true;
}

void session_rest_reference(struct session *session)
{
    struct reference *reference = &session->reference;
    if (reference->open && reference->problem_hash[0] && side_rest(&reference->side))
        shelf_put(&session->judge->shelf, reference);
    else
        reference_close(reference);
}

uint64_t session_weight_seed(const struct session *session)
{
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    hash_update(hash, &session->judge->weight_secret, sizeof session->judge->weight_secret);
    hash_update_string(hash, session->problem->hash);
    hash_finish(hash, hex);
    hex[15] = '\0';
    return strtoull(hex, NULL, 16);
}
