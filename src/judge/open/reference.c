#include "judge/open/reference.h"

#include "judge/request/judge_settings.h"

#include <string.h>
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
