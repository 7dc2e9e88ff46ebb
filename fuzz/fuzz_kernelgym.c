/* Whatever is sent to KernelGYM's routes is refused with a whole reply, or becomes an evaluation
 * request that parses and asks for the same again; and whatever a queue kept (the key
 * "verdict") gets an answer. */
#include "base/json.h"
#include "base/json_mend.h"
#include "judge/request/request.h"
#include "server/kernelgym/report.h"
#include "server/kernelgym/result.h"
#include "server/kernelgym/translate.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS 1769860800000

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_reply(struct kernelgym_reply *reply)
{
    check(reply->status >= 400 && reply->status < 600 && json_is_object(reply->body));
    kernelgym_reply_deinit(reply);
}

static void check_answers(const struct evaluation_request *ours, const struct verdict *verdict)
{
    struct kernelgym_job job = {.id = ours->id ? ours->id : "x",
                                .state = KERNELGYM_ENDED,
                                .notes = ours->notes,
                                .verdict = verdict};
    size_t bytes;
    json_t *status = kernelgym_status(&job, kernelgym_part(job.id, &bytes));
    json_t *result = kernelgym_result(&job, KERNELGYM_WHOLE);
    json_t *workflow = kernelgym_workflow_result(&job, KERNELGYM_WHOLE);
    check(json_equal(json_object_get(status, "status"), json_object_get(result, "status")));
    check(json_equal(json_object_get(status, "status"), json_object_get(workflow, "status")));
    check(json_is_number(json_object_get(result, "speedup")));
    check(json_is_object(json_object_get(result, "metadata")));
    json_decref(status);
    json_decref(result);
    json_decref(workflow);
}

static void check_request(const struct kernelgym_request *request, const json_t *body)
{
    struct settings settings;
    struct evaluation_request ours;
    struct err err;
    settings_init(&settings);
    json_t *evaluation = kernelgym_translate(request, &settings);
    json_t *validation = kernelgym_validation(request);
    check(evaluation_request_parse(evaluation, &ours, &err) == 0);
    check(json_is_true(json_object_get(validation, "valid")) || ours.refused);
    struct verdict verdict;
    verdict_recover(&(struct verdict_source){.id = "x", .json = json_object_get(body, "verdict")},
                    &verdict);
    check_answers(&ours, &verdict);
    check_answers(&ours, NULL);
    verdict_deinit(&verdict);
    json_decref(validation);
    json_decref(evaluation);
    settings_deinit(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kernelgym_request request;
    struct kernelgym_query query;
    struct kernelgym_reply reply;
    struct err err;
    json_t *body;
    if (json_parse_mended("body", 1, (const char *)data, size, &body, &err) < 0) {
        check(kernelgym_refuse_body(&reply, &err, NOW_MS) == ERR_INPUT);
        check_reply(&reply);
        return 0;
    }
    if (kernelgym_request_parse(body, NOW_MS, &request, &reply) == 0)
        check_request(&request, body);
    else
        check_reply(&reply);
    if (kernelgym_validate_parse(body, NOW_MS, &request, &reply) == 0)
        check_request(&request, body);
    else
        check_reply(&reply);
    if (kernelgym_workflow_parse(body, NOW_MS, &request, &reply) == 0)
        check_request(&request, body);
    else
        check_reply(&reply);
    struct kernelgym_batch *batch = mem_alloc(sizeof *batch);
    if (kernelgym_batch_parse(body, NOW_MS, batch, &reply) == 0)
        for (size_t i = 0; i < batch->count; i++)
            check_request(&batch->tasks[i], body);
    else
        check_reply(&reply);
    mem_free(batch);
    for (unsigned kind = KERNELGYM_NODE; kind <= KERNELGYM_PROBLEMATIC; kind *= 2)
        if (kernelgym_query_parse(body, (enum kernelgym_query_kind)kind, NOW_MS, &query, &reply) <
            0)
            check_reply(&reply);
    json_decref(body);
    return 0;
}
