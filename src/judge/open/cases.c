#include "judge/open/cases.h"

#include "base/json.h"
#include "base/printable.h"

#include <stdio.h>

static int parse_case(struct cases *cases, uint32_t at, const json_t *object, struct err *err)
{
    const char *name = "";
    int64_t outputs = 0;
    int64_t tensors = 0;
    struct tolerance *tolerance = &cases->items[at].tolerance;
    int result = json_get_string(object, "name", &name, err);
    if (result == 0)
        result = json_get_int(object, "expected", &outputs, err);
    if (result == 0)
        result = json_get_int(object, "tensors", &tensors, err);
    if (result == 0)
        result = json_get_double(object, "relative", &tolerance->relative, err);
    if (result == 0)
        result = json_get_double(object, "absolute", &tolerance->absolute, err);
    if (result < 0)
        return result;
    if (outputs < 0 || outputs > WIRE_OUTPUTS || tensors < 0 || tensors > LIMIT_ARGUMENTS)
        return err_set(err, ERR_LIMIT,
                       "%.64s: %d tensors that it expects and %d that it takes are "
                       "the most",
                       name, WIRE_OUTPUTS, LIMIT_ARGUMENTS);
    if (!(tolerance->relative >= 0) || !(tolerance->absolute >= 0))
        return err_set(err, ERR_INPUT, "%.64s: rtol and atol must not be negative", name);
    snprintf(cases->items[at].name, CASE_NAME_BYTES, "%.*s", CASE_NAME_BYTES - 1, name);
    printable_text(cases->items[at].name, false);
    cases->items[at].outputs = (uint32_t)outputs;
    cases->compared += outputs > 0;
    if (at == 0)
        cases->first_tensors = (uint32_t)tensors;
    return 0;
}

static int parse_all(struct cases *cases, const json_t *description, struct err *err)
{
    json_t *list = NULL;
    uint32_t outputs = 0;
    int result = json_get_array(description, "cases", &list, err);
    if (result < 0)
        return result;
    if (json_array_size(list) == 0 || json_array_size(list) > CASES_MOST)
        return err_set(err, ERR_LIMIT, "there are %zu cases; 1 to %d can be judged",
                       json_array_size(list), CASES_MOST);
    cases->count = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; result == 0 && i < cases->count; i++) {
        result = parse_case(cases, i, json_array_get(list, i), err);
        outputs += cases->items[i].outputs;
    }
    if (result == 0 && outputs > WIRE_OUTPUTS)
        result = err_set(err, ERR_LIMIT, "the cases expect %u tensors; %d are the most", outputs,
                         WIRE_OUTPUTS);
    return result;
}

int cases_parse(struct cases *cases, const char *text, size_t bytes, struct err *err)
{
    json_t *description;
    *cases = (struct cases){0};
    int result = json_parse("cases", text, bytes, &description, err);
    if (result < 0)
        return result;
    result = parse_all(cases, description, err);
    json_decref(description);
    if (result < 0)
        cases->count = 0;
    return result;
}

uint32_t cases_find(const struct cases *cases, uint32_t output, uint32_t *within)
{
    uint32_t at = 0;
    while (at + 1 < cases->count && output >= cases->items[at].outputs)
        output -= cases->items[at++].outputs;
    *within = output;
    return at;
}
