#include "judge/open/reference.h"

#include <unistd.h>

void reference_close(struct reference *reference)
{
    if (reference->open)
        child_close(&reference->child);
    artifact_deinit(&reference->artifact);
    artifact_deinit(&reference->oracle_artifact);
    if (reference->description >= 0)
        close(reference->description);
    if (reference->weights >= 0)
        close(reference->weights);
    *reference = REFERENCE_NONE;
}
