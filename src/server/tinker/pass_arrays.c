#include "server/tinker/pass_arrays.h"

#include "base/limits.h"

#include <inttypes.h>
#include <string.h>

enum { TARGETS, WEIGHTS, SAMPLED, ADVANTAGES, ROLES };

static const struct role {
    const char *name;
    bool ids;
    bool plain, ratio; /* losses without and with a ratio take it */
    bool needed;
} roles[ROLES] = {
    [TARGETS] = {"target_tokens", true, true, true, true},
    [WEIGHTS] = {"weights", false, true, false, false},
    [SAMPLED] = {"logprobs", false, false, true, true},
    [ADVANTAGES] = {"advantages", false, false, true, true},
};

const bool *tinker_array_holds_ids(const char *name)
{
    for (size_t i = 0; i < ROLES; i++)
        if (strcmp(roles[i].name, name) == 0)
            return &roles[i].ids;
    return NULL;
}

int tinker_array_unknown(const char *name, struct err *err)
{
    return err_set(err, ERR_INPUT,
                   "'%.60s' is no array of a loss here: target_tokens, weights, logprobs, "
                   "advantages",
                   name);
}

int tinker_array_shape(struct tinker_array *array, const int64_t *shape, size_t dimensions,
                       struct err *err)
{
    const int64_t columns = dimensions == 2 ? shape[1] : 1;
    if (dimensions > 2)
        return err_set(err, ERR_INPUT, "'%s' has %zu dimensions; 1 and 2 are known", array->name,
                       dimensions);
    if (dimensions == 2 && (columns < 1 || columns > LIMIT_LM_TARGETS))
        return err_set(err, ERR_INPUT, "'%s' has %" PRId64 " columns, not 1 to %d", array->name,
                       columns, LIMIT_LM_TARGETS);
    if (dimensions > 0 && (shape[0] < 0 || shape[0] > LIMIT_LM_POSITIONS ||
                           (size_t)(shape[0] * columns) != array->count))
        return err_set(err, ERR_INPUT, "'%s' has %zu numbers, which its shape does not say",
                       array->name, array->count);
    array->columns = dimensions == 2 ? (size_t)columns : 0;
    return 0;
}

void *tinker_pass_numbers(struct tinker_pass *pass, size_t count, struct err *err)
{
    pass->numbers += count;
    if (count > LIMIT_TINKER_NUMBERS || pass->numbers > LIMIT_TINKER_NUMBERS) {
        err_set(err, ERR_LIMIT, "the pass has more than %zu numbers: send fewer datums at once",
                LIMIT_TINKER_NUMBERS);
        return NULL;
    }
    return arena_alloc(&pass->arena, (count + 1) * 4);
}

/* Each role's array, NULL where there is none. */
static int sort_roles(const struct tinker_pass *pass, const struct tinker_array *arrays,
                      size_t count, const struct tinker_array *found[ROLES], struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t role = 0;
        while (role < ROLES && strcmp(roles[role].name, arrays[i].name) != 0)
            role++;
        if (role == ROLES)
            return tinker_array_unknown(arrays[i].name, err);
        if (!(pass->loss->ratio ? roles[role].ratio : roles[role].plain))
            return err_set(err, ERR_INPUT, "the loss %s takes no '%s'", pass->loss->name,
                           arrays[i].name);
        found[role] = &arrays[i];
    }
    for (size_t role = 0; role < ROLES; role++)
        if (!found[role] && roles[role].needed &&
            (pass->loss->ratio ? roles[role].ratio : roles[role].plain))
            return err_set(err, ERR_INPUT, "'%s' is missing, which the loss %s needs",
                           roles[role].name, pass->loss->name);
    return 0;
}

static int check_rows(const struct tinker_array *array, size_t tokens, size_t columns,
                      struct err *err)
{
    const size_t wide = columns > 0 ? columns : 1;
    if (!array)
        return 0;
    if ((array->columns > 0 ? array->columns : 1) != wide)
        return err_set(err, ERR_INPUT, "'%s' has %zu columns; 'target_tokens' has %zu", array->name,
                       array->columns, columns);
    if (array->count != tokens * wide)
        return err_set(err, ERR_INPUT, "'%s' has %zu numbers for an input of %zu tokens",
                       array->name, array->count, tokens);
    return 0;
}

int tinker_pass_add(struct tinker_pass *pass, const int32_t *tokens, size_t count,
                    const struct tinker_array *arrays, size_t array_count, struct err *err)
{
    const struct tinker_array *found[ROLES] = {0};
    int result = sort_roles(pass, arrays, array_count, found, err);
    if (result < 0 || !found[TARGETS]) /* which every loss needs */
        return result;
    const size_t columns = found[TARGETS]->columns;
    for (size_t role = 0; role < ROLES && result == 0; role++)
        result = check_rows(found[role], count, role == TARGETS || role == WEIGHTS ? columns : 0,
                            err);
    if (result < 0)
        return result;
    const size_t wide = columns > 0 ? columns : 1;
    float *logprob = tinker_pass_numbers(pass, count * wide, err);
    if (!logprob)
        return ERR_LIMIT;
    pass->datums[pass->count] = (struct lm_datum){
        .count = count,
        .tokens = tokens,
        .targets_per_row = wide,
        .targets = found[TARGETS]->ids,
        .weights = found[WEIGHTS] ? found[WEIGHTS]->floats : NULL,
        .sampled = found[SAMPLED] ? found[SAMPLED]->floats : NULL,
        .advantages = found[ADVANTAGES] ? found[ADVANTAGES]->floats : NULL,
        .logprob = logprob,
    };
    pass->columns[pass->count++] = columns;
    pass->tokens += count;
    return 0;
}
