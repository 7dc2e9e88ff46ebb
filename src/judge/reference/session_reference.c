#include "judge/reference/session_reference.h"

#include "base/hash.h"
#include "judge/session_internal.h"

#include <stdlib.h>
#include <string.h>

void session_take_problem(struct session *session, const struct problem *problem)
{
    const struct settings *settings = session->job.settings;
    session->job.problem = problem;
    memcpy(session->job.reference_hash, problem->hash, sizeof session->job.reference_hash);
    if (problem->format != PROBLEM_TORCH ||
        (!settings->torch_precision[0] && !settings->torch_compile[0]))
        return;
    struct hash *hash = hash_new();
    hash_update_string(hash, problem->hash);
    hash_update_string(hash, settings->torch_precision);
    hash_update_string(hash, settings->torch_compile);
    hash_finish(hash, session->job.reference_hash);
}

bool session_reference_ready(struct session *session)
{
    struct reference *reference = &session->reference;
    const char *hash = session->job.reference_hash;
    if (reference->open && reference->child.gpu == session->lease.gpu &&
        strcmp(reference->hash, hash) == 0 && !sandboxed_ended(&reference->child.process))
        return true;
    struct reference found;
    if (!reference_cache_take(&session->judge->references, hash, session->lease.gpu, &found))
        return false;
    reference_close(reference);
    *reference = found;
    reference->child.cancelled = session->job.cancelled;
    if (reference->child.requests.builder) /* another session's */
        reference->child.requests.builder = &session->builder;
    return true;
}

void session_rest_reference(struct session *session)
{
    struct reference *reference = &session->reference;
    reference->child.cancelled = session->judge->options.cancelled; /* no evaluation's for now */
    if (reference->open && reference->hash[0] && child_rest(&reference->child))
        reference_cache_put(&session->judge->references, reference);
    else
        reference_close(reference);
}

uint64_t session_weight_seed(const struct session *session)
{
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    hash_update(hash, &session->judge->weight_secret, sizeof session->judge->weight_secret);
    hash_update_string(hash, session->job.problem->hash);
    hash_finish(hash, hex);
    hex[15] = '\0';
    return strtoull(hex, NULL, 16);
}
