/* reference: the reference side that a session keeps. Declared in context.h. */
#include "judge/context.h"

#include <string.h>
#include <unistd.h>

bool reference_ready(struct session *session)
{
    return session->reference_open && session->reference.gpu == session->gpu &&
           strcmp(session->problem_hash, session->problem->hash) == 0 &&
           !boxed_ended(&session->reference.boxed);
}

void reference_forget(struct session *session)
{
    if (session->reference_open)
        side_close(&session->reference);
    session->reference_open = session->reference_oracle = false;
    session->problem_hash[0] = '\0';
    artifact_deinit(&session->reference_artifact);
    artifact_deinit(&session->oracle_artifact);
    memset(&session->reference_artifact, 0, sizeof session->reference_artifact);
    memset(&session->oracle_artifact, 0, sizeof session->oracle_artifact);
    if (session->description >= 0)
        close(session->description);
    if (session->weights >= 0)
        close(session->weights);
    session->description = session->weights = -1;
    session->torch_layout = (struct layout){0};
}
