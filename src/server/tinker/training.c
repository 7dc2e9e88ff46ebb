/* Passes and steps of a run. */
#include "base/mem.h"
#include "policy/tinker_proto.h"
#include "server/tinker/body.h"
#include "server/tinker/names.h"
#include "server/tinker/pass_read.h"
#include "server/tinker/queue.h"
#include "server/tinker/results.h"
#include "server/tinker/routes.h"
#include "server/tinker/runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- forward, forward_backward --- */

static int pass_run(struct tinker_service *service, struct tinker_request *request,
                    struct buf *result, struct err *err)
{
    struct tinker_run *run = request->run;
    struct tinker_pass *pass = request->pass;
    struct loss_sums sums;
    int code = tinker_run_check(run, err);
    if (code == 0)
        code = (pass->forward ? lm_trainer_forward
                              : lm_trainer_forward_backward)(run->trainer, pass->datums,
                                                             pass->count, pass->loss, &pass->config,
                                                             &sums, err);
    if (code == 0 && !pass->forward && !isfinite(sums.loss))
        code = err_set(err, ERR_INPUT,
                       "the loss is %g: a weight, an advantage or a log-probability is far off, or "
                       "the adapter diverged; all gradients since the last step were dropped",
                       sums.loss);
    if (code < 0 && !pass->forward && !run->failed)
        run->failed = mem_strdup(err->text);
    if (code == 0)
        tinker_pass_write(result, pass, &sums);
    return code;
}

static const struct tinker_operation pass_operation = {"forward_backward", TINKER_RESULT_PASS,
                                                       pass_run};

static bool is_protobuf(const struct http_request *request)
{
    const char *type = http_header(request, "Content-Type");
    return type && strncmp(type, TINKER_PROTOBUF, strlen(TINKER_PROTOBUF)) == 0;
}

static int read_pass(struct tinker_pass *pass, struct http_request *request,
                     struct http_response *response, const char *input, struct err *err)
{
    size_t count;
    const char *bytes = http_body(request, &count);
    if (is_protobuf(request))
        return tinker_pass_read_proto(pass, bytes, count, err);
    const json_t *body = tinker_body(request, response);
    if (!body)
        return err_set(err, ERR_INTERNAL, "refused already");
    return tinker_pass_read_json(pass, body, input, err);
}

static void submit_pass(struct tinker_service *service, struct http_request *request,
                        struct http_response *response, const char *input, bool forward)
{
    struct tinker_pass *pass = mem_alloc(sizeof *pass);
    struct err err = {0};
    pass->number = -1;
    int result = read_pass(pass, request, response, input, &err);
    pass->forward |= forward;
    if (pass->model && tinker_is_plain(pass->model)) {
        /* A pass that cannot be read is refused in its turn. */
        char model[TINKER_ID_BYTES];
        snprintf(model, sizeof model, "%s", pass->model);
        tinker_queue_submit(service, &pass_operation, model, pass->number > 0 ? pass->number : -1,
                            NULL, pass, result < 0 ? &err : NULL, response);
        return;
    }
    if (result == 0)
        err_set(&err, ERR_INPUT, "'model_id' is missing or no id");
    if (err.code == ERR_PROTOCOL)
        err.code = ERR_INPUT;
    if (err.code != ERR_INTERNAL)
        http_refuse_err(response, &err);
    tinker_pass_deinit(pass);
    mem_free(pass);
}

static void answer_forward_backward(void *context, struct http_request *request,
                                    struct http_response *response)
{
    submit_pass(context, request, response, "forward_backward_input", false);
}

/* Of the SDK up to 0.24. */
static void answer_forward(void *context, struct http_request *request,
                           struct http_response *response)
{
    submit_pass(context, request, response, "forward_input", true);
}

/* --- optim_step --- */

static int read_adam(const json_t *body, struct lm_adam *adam, struct err *err)
{
    const json_t *given = json_object_get(body, "adam_params");
    const struct {
        const char *name;
        double *to;
    } rows[] = {{"learning_rate", &adam->rate}, {"beta1", &adam->beta1},
                {"beta2", &adam->beta2},        {"eps", &adam->epsilon},
                {"weight_decay", &adam->decay}, {"grad_clip_norm", &adam->clip}};
    *adam = lm_adam_defaults;
    if (json_object_get(body, "optimizer_params"))
        return err_set(err, ERR_UNSUPPORTED,
                       "'optimizer_params' are of another optimiser; adam_params are known here");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int result = json_find_double(given, rows[i].name, rows[i].to, err);
        if (result < 0)
            return err_prefix(err, "adam_params");
    }
    adam->clip = adam->clip > 0 ? adam->clip : 0;
    return 0;
}

/* A step of gradients that a failed pass left incomplete would train on something else than what
 * was asked for. */
static int check_gradients(struct tinker_run *run, struct err *err)
{
    if (!run->failed)
        return 0;
    err_set(err, ERR_INPUT,
            "a pass since the last step failed (%.400s): its gradients are missing, so nothing was "
            "changed and the others were dropped; send the passes again",
            run->failed);
    mem_free(run->failed);
    run->failed = NULL;
    lm_model_zero_gradients(run->model);
    return ERR_INPUT;
}

static int step_run(struct tinker_service *service, struct tinker_request *request,
                    struct buf *result, struct err *err)
{
    struct tinker_run *run = request->run;
    struct lm_adam adam;
    double norm = 0;
    int code = tinker_run_check(run, err);
    if (code == 0)
        code = check_gradients(run, err);
    if (code == 0)
        code = read_adam(request->body, &adam, err);
    if (code == 0)
        code = lm_trainer_step(run->trainer, &adam, &norm, err);
    if (code == 0)
        buf_printf(result,
                   "{\"type\":\"optim_step\",\"metrics\":{\"unclipped_grad_l2:mean\":%.17g}}",
                   norm);
    return code;
}

static const struct tinker_operation step_operation = {"optim_step", TINKER_RESULT_JSON, step_run};

static void answer_optim_step(void *context, struct http_request *request,
                              struct http_response *response)
{
    tinker_queue_submit_body(context, &step_operation, request, response);
}

const struct http_route tinker_training_routes[] = {
    TINKER_POST("/forward", forward, HTTP_BODY_STANDARD),
    TINKER_POST("/forward_backward", forward_backward, HTTP_BODY_STANDARD),
    TINKER_POST("/optim_step", optim_step, TINKER_SMALL),
    {0},
};
