#include "judge/measure/trial_choice.h"

#include "judge/measure/trial.h"
#include "judge/numeric/choice.h"

#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 32) /* of the values: more are not brought to this process */

/* What choices.py says of an output, in one tensor; its values are another. */
#define EACH 2
enum fact { OUTPUT, OUTER, LENGTH, TAKEN, INNER, DISTINCT, SLACK, FACTS };

/* A copy in this process, wherever the tensor lies. */
static int copy_of(const struct trials *trials, const struct tensor *tensor, void **copy,
                   struct err *err)
{
    *copy = mem_alloc(tensor->bytes + 1);
    if (tensor->data || tensor->bytes == 0) {
        memcpy(*copy, tensor->data ? tensor->data : "", tensor->bytes);
        return 0;
    }
    const struct cuda *cuda = &trials->gpu->cuda;
    return cuda_check(cuda, cuda->copy_to_host(*copy, tensor->at, tensor->bytes),
                      "cannot read an output", err);
}

static int read_facts(const struct trials *trials, uint32_t slot, uint32_t index,
                      double facts[FACTS], struct err *err)
{
    struct tensor tensor;
    void *copy = NULL;
    int result = child_output(&trials->reference->child, slot, index, &tensor, err);
    if (result == 0 && (tensor.dtype != DTYPE_F64 || tensor.bytes != FACTS * sizeof *facts))
        result = err_set(err, ERR_PROTOCOL, "it did not say which values its positions are of");
    if (result == 0)
        result = copy_of(trials, &tensor, &copy, err);
    if (result == 0)
        memcpy(facts, copy, FACTS * sizeof *facts);
    mem_free(copy);
    return result;
}

/* The two lists, and how they are held against each other. */
struct lists {
    void *expected, *got;
    uint64_t count;
    struct choice choice;
};

static int compare_lists(const struct trials *trials, uint32_t slot, uint32_t values_at,
                         const struct lists *lists, bool *agrees, struct err *err)
{
    struct tensor tensor;
    struct choice choice = lists->choice;
    void *values = NULL;
    int result = child_output(&trials->reference->child, slot, values_at, &tensor, err);
    if (result < 0)
        return result;
    if (tensor.bytes > MOST_BYTES || choice.outer * choice.taken * choice.inner != lists->count ||
        choice.outer * choice.length * choice.inner != tensor.count)
        return 0;
    choice.value_dtype = tensor.dtype;
    result = copy_of(trials, &tensor, &values, err);
    if (result == 0)
        *agrees = choice_agrees(&choice, values, lists->expected, lists->got);
    mem_free(values);
    return result;
}

static int find_choice(struct trials *trials, uint32_t slot, uint32_t output, struct lists *lists,
                       bool *agrees, struct err *err)
{
    const struct child *child = &trials->reference->child;
    uint32_t count = child->outputs.done.count ? child_output_count(child) : 0;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i + 1 < count; i += EACH) {
        double facts[FACTS] = {0};
        result = read_facts(trials, slot, i, facts, err);
        if (result < 0 || facts[OUTPUT] != output)
            continue;
        lists->choice.outer = (uint64_t)facts[OUTER];
        lists->choice.length = (uint64_t)facts[LENGTH];
        lists->choice.taken = (uint64_t)facts[TAKEN];
        lists->choice.inner = (uint64_t)facts[INNER];
        lists->choice.distinct = facts[DISTINCT] != 0;
        lists->choice.slack = facts[SLACK];
        return compare_lists(trials, slot, i + 1, lists, agrees, err);
    }
    return result;
}

static bool may_be_positions(const struct trials *trials, enum dtype dtype)
{
    const struct problem *problem = trials->job->problem;
    return problem->format == PROBLEM_TORCH && !problem->cases_from &&
           !dtype_facts(dtype)->floating && dtype != DTYPE_BOOL;
}

uint32_t trial_choice_tensors(const struct trials *trials)
{
    const struct trial_answer *answer = &trials->state->answer;
    uint32_t described = 0;
    for (uint32_t i = 0; i < answer->count; i++)
        described += may_be_positions(trials, answer->reference[i].dtype) ? EACH : 0;
    return described > answer->count ? described : answer->count;
}

bool trial_choice_possible(const struct trials *trials, const struct tensor *expected,
                           const struct tensor *got)
{
    return may_be_positions(trials, got->dtype) && expected->dtype == got->dtype;
}

static int copy_lists(const struct trials *trials, const struct trial_positions *positions,
                      struct lists *lists, struct err *err)
{
    lists->count = positions->got.count;
    lists->choice.position_dtype = positions->got.dtype;
    int result = copy_of(trials, &positions->expected, &lists->expected, err);
    return result < 0 ? result : copy_of(trials, &positions->got, &lists->got, err);
}

int trial_choice_agree(struct trials *trials, const struct trial *trial,
                       const struct trial_positions *positions, uint32_t count, uint32_t *agree,
                       struct err *err)
{
    struct lists *lists = mem_alloc(count * sizeof *lists);
    struct child_time ignored;
    bool agrees = true;
    int result = 0;
    *agree = 0;
    for (uint32_t i = 0; result == 0 && i < count; i++)
        result = copy_lists(trials, &positions[i], &lists[i], err);
    if (result == 0)
        result = trial_in(trials, trial, &trials->reference->child, WIRE_CHOICES, &ignored, err);
    for (uint32_t i = 0; result == 0 && agrees && i < count; i++) {
        agrees = false;
        result = find_choice(trials, positions[i].slot, positions[i].output, &lists[i], &agrees,
                             err);
        *agree += agrees;
    }
    if (result == 0)
        result = trial_answer_again(trials, trial, err);
    for (uint32_t i = 0; i < count; i++) {
        mem_free(lists[i].expected);
        mem_free(lists[i].got);
    }
    mem_free(lists);
    return result;
}
