#include "judge/measure/trial_choice.h"

#include "judge/measure/trial.h"
#include "judge/numeric/choice.h"

#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 32) /* of the values: more are not brought to this process */

/* What choices.py says of an output. */
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
    for (uint32_t i = 0; result == 0 && i + 1 < count; i += 2) {
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

/* Its answer to the inputs at hand, where the rest of the trial expects it. */
static int answer_again(struct trials *trials, const struct trial *trial, struct err *err)
{
    struct child *child = &trials->reference->child;
    struct trial_answer *answer = &trials->state->answer;
    struct child_time ignored;
    int result = trial_in(trials, trial, child, WIRE_RUN, &ignored, err);
    for (uint32_t i = 0; result == 0 && i < answer->count; i++)
        result = child_output(child, 0, i, &answer->reference[i], err);
    return result;
}

int trial_choice_agrees(struct trials *trials, const struct trial *trial, uint32_t slot,
                        uint32_t output, const struct tensor *expected, const struct tensor *got,
                        bool *agrees, struct err *err)
{
    struct lists lists = {.count = got->count, .choice.position_dtype = got->dtype};
    struct child_time ignored;
    bool known = trials->job->problem->format == PROBLEM_TORCH &&
                 !trials->job->problem->cases_from && !dtype_facts(got->dtype)->floating &&
                 got->dtype != DTYPE_BOOL && expected->dtype == got->dtype;
    *agrees = false;
    if (!known)
        return 0;
    int result = copy_of(trials, expected, &lists.expected, err);
    if (result == 0)
        result = copy_of(trials, got, &lists.got, err);
    if (result == 0)
        result = trial_in(trials, trial, &trials->reference->child, WIRE_CHOICES, &ignored, err);
    if (result == 0)
        result = find_choice(trials, slot, output, &lists, agrees, err);
    if (result == 0)
        result = answer_again(trials, trial, err);
    mem_free(lists.expected);
    mem_free(lists.got);
    return result;
}
