/* Whatever a client of the Tinker API sends as a pass, in either encoding, is refused with a reason
 * or is datums whose arrays have as many numbers as they say. */
#include "base/json.h"
#include "base/limits.h"
#include "server/tinker/pass_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static volatile double sum; /* so that every number is read */

static void check_datum(const struct lm_datum *datum, size_t columns)
{
    const size_t numbers = datum->count * datum->targets_per_row;
    check(datum->targets_per_row == (columns > 0 ? columns : 1));
    check(datum->targets_per_row <= LIMIT_LM_TARGETS && datum->targets);
    for (size_t i = 0; i < datum->count; i++) {
        check(datum->tokens[i] >= 0 && datum->tokens[i] < LIMIT_LM_VOCAB);
        sum += datum->sampled ? (double)datum->sampled[i] : 0;
        sum += datum->advantages ? (double)datum->advantages[i] : 0;
    }
    for (size_t i = 0; i < numbers; i++) {
        check(datum->targets[i] >= 0 && datum->targets[i] < LIMIT_LM_VOCAB);
        sum += datum->weights ? (double)datum->weights[i] : 0;
        datum->logprob[i] = 0;
    }
}

static void check_pass(int result, struct tinker_pass *pass, const struct err *err)
{
    check(result == 0 || err->text[0]);
    check(!pass->model || pass->model[0]);
    if (result == 0) {
        check(pass->loss);
        for (size_t i = 0; i < pass->count; i++)
            check_datum(&pass->datums[i], pass->columns[i]);
    }
    tinker_pass_deinit(pass);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tinker_pass pass;
    struct err err = {0};
    json_t *body = NULL;
    int result = tinker_pass_read_proto(&pass, data, size, &err);
    check_pass(result, &pass, &err);
    if (json_parse("body", (const char *)data, size, &body, NULL) < 0)
        return 0;
    result = tinker_pass_read_json(&pass, body, "forward_backward_input", &err);
    check_pass(result, &pass, &err);
    json_decref(body);
    return 0;
}
