#include "rl/method/token_loss.h"

#include "base/mem.h"

#include <math.h>

#define EXPONENT_MOST 20.0
#define K3_MOST 10.0

void rl_turn_loss(const struct loss *loss, const struct loss_config *config,
                  const struct loss_input *input, float *slope, struct loss_sums *sums)
{
    struct loss_input turn = *input;
    float *logprob = mem_alloc((input->count + 1) * sizeof *logprob);
    double sum = 0, count = 0;
    for (size_t i = 0; i < input->count; i++)
        if (input->advantages[i] != 0) {
            sum += (double)input->logprob[i] - (double)input->sampled[i];
            count++;
        }
    for (size_t i = 0; i < input->count; i++)
        logprob[i] = input->advantages[i] != 0 ? (float)((double)input->sampled[i] + sum / count)
                                               : input->logprob[i];
    turn.logprob = logprob;
    loss_apply(loss, config, &turn, slope, sums);
    mem_free(logprob);
}

struct term {
    double value, slope; /* of p */
};

static struct term kl_term(enum rl_kl_estimator estimator, double p, double base)
{
    double off = p - base, exponent = fmin(fmax(-off, -EXPONENT_MOST), EXPONENT_MOST);
    double k3 = exp(exponent) - exponent - 1;
    bool bounded = fabs(off) > EXPONENT_MOST || k3 > K3_MOST;
    const struct term terms[] = {
        [RL_K1] = {off, 1},
        [RL_K2] = {off * off / 2, off},
        [RL_K3] = {fmin(k3, K3_MOST), bounded ? 0 : 1 - exp(exponent)},
    };
    return terms[estimator];
}

void rl_kl_loss(enum rl_kl_estimator estimator, double coefficient, const struct loss_input *input,
                const float *base, float *slope, struct loss_sums *sums)
{
    for (size_t i = 0; i < input->count; i++) {
        if (isnan(base[i]))
            continue;
        double weight = coefficient * (input->weights ? (double)input->weights[i] : 1);
        struct term term = kl_term(estimator, (double)input->logprob[i], (double)base[i]);
        sums->loss += weight * term.value;
        slope[i] += (float)(weight * term.slope);
    }
}
