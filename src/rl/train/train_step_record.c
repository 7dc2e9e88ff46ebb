/* A step reads the records of problems (rl/collect/problem_record.h), and adds to them. */
#include "rl/train/train_step.h"

#include <math.h>
#include <string.h>

void train_step_values(struct train_step *step, const struct problem_records *records)
{
    struct rl_batch *batch = &step->batch;
    size_t row = 0;
    for (size_t r = 0; r < step->rollout_count; r++) {
        size_t index = problem_records_find(records, step->rollouts[r]->problem);
        for (size_t t = 0; t < step->rollouts[r]->count; t++, row++)
            for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
                batch->value[i] = (float)problem_records_value(records, index, t);
    }
}

/* One problem's episodes. */
struct outcome {
    double episodes, solved;
    double *returns, *counts; /* [turns] */
};

/* `row` is the rollout's first. */
static void add_rollout(struct outcome *outcome, const struct train_step *step,
                        const struct rl_rollout *rollout, size_t row, size_t turns)
{
    bool judged = false, solved = false;
    for (size_t t = 0; t < rollout->count; t++) {
        if (rollout->turns[t].excluded)
            continue;
        judged = true;
        solved |= rollout->turns[t].correct;
        if (t < turns) {
            outcome->returns[t] += step->batch.returns[row + t];
            outcome->counts[t]++;
        }
    }
    outcome->episodes += judged;
    outcome->solved += solved;
}

static void learn_problem(const struct train_step *step, struct problem_records *records,
                          size_t index, double memory, double critic, struct outcome *outcome)
{
    size_t row = 0;
    for (size_t r = 0; r < step->rollout_count; row += step->rollouts[r++]->count)
        if (problem_records_find(records, step->rollouts[r]->problem) == index)
            add_rollout(outcome, step, step->rollouts[r], row, records->turns);
    for (size_t t = 0; t < records->turns; t++)
        outcome->returns[t] = outcome->counts[t] > 0 ? outcome->returns[t] / outcome->counts[t]
                                                     : NAN;
    problem_records_learn(records, index,
                          outcome->episodes > 0 ? outcome->solved / outcome->episodes : NAN, memory,
                          outcome->returns, critic);
}

void train_step_record(const struct train_step *step, struct problem_records *records,
                       double memory, double critic)
{
    bool *done = mem_alloc(records->count + 1);
    double *numbers = mem_alloc((2 * records->turns + 1) * sizeof *numbers);
    for (size_t r = 0; r < step->rollout_count; r++) {
        size_t index = problem_records_find(records, step->rollouts[r]->problem);
        if (index >= records->count || done[index])
            continue;
        struct outcome outcome = {.returns = numbers, .counts = numbers + records->turns};
        done[index] = true;
        memset(numbers, 0, 2 * records->turns * sizeof *numbers);
        learn_problem(step, records, index, memory, critic, &outcome);
    }
    mem_free(numbers);
    mem_free(done);
}
