/* Losses for callers of warpgym_rl.h. */
#include "rl/library/library.h"

#include <math.h>

static int check_tokens(const struct warpgym_rl_tokens *tokens, struct err *err)
{
    if (!tokens->trained || !tokens->sampled || !tokens->advantage)
        return err_set(err, ERR_INPUT, "a loss needs trained, sampled and advantage of each token");
    if (tokens->tokens > WARPGYM_RL_TOKENS_MOST)
        return err_set(err, ERR_INPUT, "a step has at most %zu tokens, not %zu",
                       WARPGYM_RL_TOKENS_MOST, tokens->tokens);
    for (size_t i = 0; i < tokens->tokens; i++)
        if (!isfinite(tokens->advantage[i]) ||
            (tokens->advantage[i] != 0 &&
             !(isfinite(tokens->trained[i]) && isfinite(tokens->sampled[i]))))
            return err_set(err, ERR_INPUT,
                           "token %zu: trained is %g, sampled %g and advantage %g; all must be "
                           "finite, or the advantage 0",
                           i, (double)tokens->trained[i], (double)tokens->sampled[i],
                           (double)tokens->advantage[i]);
    return 0;
}

int warpgym_rl_loss(const char *const *settings, const struct warpgym_rl_tokens *tokens,
                    float *gradient, warpgym_rl_put put, void *context,
                    struct warpgym_rl_error *error)
{
    struct settings read;
    struct loss_config config;
    struct loss_sums sums;
    struct err err;
    const struct loss *loss = NULL;
    int status = rl_library_settings(&read, settings, &err);
    if (status == 0)
        status = check_tokens(tokens, &err);
    if (status == 0) {
        loss = loss_of_policy(method_settings(&read)->loss);
        method_settings_loss(&config, method_settings(&read));
        status = loss_config_check(loss, &config, &err);
    }
    if (status == 0 && config.entropy != 0 && !tokens->entropy)
        status = err_set(&err, ERR_INPUT, "a bonus for entropy needs the entropy of each token");
    if (status == 0) {
        const struct loss_input input = {.count = tokens->tokens,
                                         .targets_per_row = 1,
                                         .logprob = tokens->trained,
                                         .weights = tokens->weight,
                                         .sampled = tokens->sampled,
                                         .advantages = tokens->advantage};
        loss_apply(loss, &config, &input, gradient, &sums);
        if (tokens->entropy)
            loss_entropy(loss, &config, &input, tokens->entropy, NULL, &sums);
#define X(name)                                                                                    \
    if (put)                                                                                       \
        put(context, #name, sums.name);
        LOSS_SUMS(X)
#undef X
    }
    settings_deinit(&read);
    return rl_library_status(status, &err, error);
}
