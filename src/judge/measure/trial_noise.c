#include "judge/measure/trial_noise.h"

#include "judge/measure/trial.h"
#include "judge/measure/trial_compare.h"

#include <math.h>
#include <string.h>

#define OWN_ERRORS 4 /* the reference's largest: an honest candidate's are no larger */

/* What the reference says of its outputs: the noise of each, and the most that there can be. */
static int read_noise(const struct trials *trials, const struct tensor *tensor,
                      double said[WIRE_OUTPUTS], struct err *err)
{
    uint32_t count = trials->state->answer.count;
    size_t bytes = (count + 1) * sizeof *said;
    if (count == WIRE_OUTPUTS || tensor->dtype != DTYPE_F64 || tensor->bytes != bytes)
        return err_set(err, ERR_PROTOCOL, "it did not say how its outputs are rounded");
    if (tensor->data) {
        memcpy(said, tensor->data, bytes);
        return 0;
    }
    const struct cuda *cuda = &trials->gpu->cuda;
    return cuda_check(cuda, cuda->copy_to_host(said, tensor->at, bytes),
                      "cannot read how outputs are rounded", err);
}

/* The reference's largest error on the inputs at hand, where it does not count as a part of the
 * output. */
static int find_own_noise(struct trials *trials, uint32_t output, double *noise, struct err *err)
{
    const struct trial_answer *answer = &trials->state->answer;
    const struct tensor *plain = &answer->reference[output];
    const struct tensor *oracle = &answer->oracle[output];
    struct comparison spec = {.dtype = plain->dtype,
                              .expected_dtype = oracle->dtype,
                              .count = plain->count};
    struct difference difference;
    bool is_part = answer->own_error[output] > 0 &&
                   answer->own_error[output] <= TRIAL_MOST_OWN_ERROR;
    *noise = 0;
    if (is_part || !dtype_facts(plain->dtype)->floating || oracle->count != plain->count)
        return 0;
    int result = trial_compare(trials, &spec, oracle, plain, &difference, err);
    *noise = result < 0 ? 0 : OWN_ERRORS * difference.max_absolute;
    return result;
}

int trial_take_noise(struct trials *trials, const struct trial *trial, struct err *err)
{
    struct trial_answer *answer = &trials->state->answer;
    double said[WIRE_OUTPUTS] = {0};
    bool torch = trials->job->problem->format == PROBLEM_TORCH;
    if (!torch || !trial->oracle || !answer->has_oracle)
        return 0;
    int result = read_noise(trials, &answer->oracle[answer->count], said, err);
    answer->noise_most = said[answer->count];
    for (uint32_t i = 0; result == 0 && i < answer->count; i++) {
        double own;
        result = find_own_noise(trials, i, &own, err);
        answer->noise[i] = fmax(answer->noise[i], fmax(said[i], fmin(own, answer->noise_most)));
    }
    return result;
}

bool trial_noise_possible(const struct trials *trials, const struct tensor *got,
                          const struct difference *difference)
{
    return !trials->state->noise_measured && difference->mismatches > 0 &&
           !difference->nan_mismatch && dtype_facts(got->dtype)->floating &&
           trials->job->problem->format == PROBLEM_TORCH && trials->reference->oracle &&
           difference->max_absolute <= trials->state->answer.noise_most;
}

int trial_noise_measure(struct trials *trials, const struct trial *trial, struct err *err)
{
    struct child *child = &trials->reference->child;
    struct trial_answer *answer = &trials->state->answer;
    struct child_time ignored;
    trials->state->noise_measured = true;
    int result = trial_in(trials, trial, child, WIRE_ROUNDING, &ignored, err);
    for (uint32_t slot = 0; result == 0 && slot < child->slots; slot++) {
        double said[WIRE_OUTPUTS] = {0};
        struct tensor tensor;
        result = child_output(child, slot, 0, &tensor, err);
        if (result == 0)
            result = read_noise(trials, &tensor, said, err);
        for (uint32_t i = 0; result == 0 && i < answer->count; i++)
            answer->noise[i] = fmax(answer->noise[i], fmin(said[i], answer->noise_most));
    }
    return result < 0 ? result : trial_answer_again(trials, trial, err);
}
