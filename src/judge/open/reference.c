#include "judge/open/reference.h"

#include "judge/process/memory_budget.h"
#include "judge/request/judge_settings.h"
#include "sandbox/memory_use.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void reference_key(const struct problem *problem, const struct settings *settings,
                   char key[HASH_HEX_BYTES])
{
    const struct torch_settings *torch = torch_settings(settings);
    memcpy(key, problem->hash, HASH_HEX_BYTES);
    const char *tolerance = check_settings(settings)->tolerance;
    bool plain = problem->format != PROBLEM_TORCH ||
                 (torch->precision == TORCH_AUTO_PRECISION && torch->compile == TORCH_EAGER);
    if (plain && tolerance[0] == '\0')
        return;
    struct hash *hash = hash_new();
    hash_update_string(hash, problem->hash);
    hash_update_string(hash, word_at(WORDS_IN(TORCH_PRECISIONS), torch->precision));
    hash_update_string(hash, word_at(WORDS_IN(TORCH_COMPILE_MODES), torch->compile));
    hash_update_string(hash, tolerance);
    hash_finish(hash, key);
}

uint64_t reference_weight_bytes(const struct reference *reference)
{
    struct stat facts = {0};
    if (reference->weights >= 0)
        (void)!fstat(reference->weights, &facts);
    return (uint64_t)facts.st_size;
}

uint64_t reference_bytes(const struct reference *reference)
{
    const struct child *child = &reference->child;
    return child->gpu ? child->arrays.bytes + child->requests.segment_bytes
                      : memory_use_bytes(child->process.pid, false);
}

/* While it was opened it was alone: it made an oracle then, and gave back what that took. */
uint64_t reference_evaluation_bytes(const struct reference *reference)
{
    const struct child_requests *requests = &reference->child.requests;
    uint64_t copies = MEMORY_BUDGET_CHILDREN + 1; /* answers are kept where they are compared */
    uint64_t both = copies * (reference->child.layout.bytes + requests->segment_bytes);
    return both > requests->segment_peak_bytes ? both : requests->segment_peak_bytes;
}

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
