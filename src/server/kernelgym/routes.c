/* kernelgym_routes: KernelGYM's evaluations over our queue. translate.h and result.h translate
 * requests and answers; this file connects them to jobs.
 *
 * As in the original, POST /evaluate answers when the task has ended. Its clients set their own
 * timeouts, so ours is the longest possible; a task continues when its client disconnects. */
#include "server/kernelgym/routes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/kernelgym/translate.h"
#include "server/long_poll.h"
#include "server/submit.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MS LIMIT_EVALUATION_MS

void kernelgym_send(struct http_response *response, struct kernelgym_reply *reply)
{
    http_set_status(response, reply->status);
    if (reply->error_code)
        http_set_header(response, "X-Error-Code", reply->error_code);
    http_set_json(response, json_incref(reply->body));
    kernelgym_reply_deinit(reply);
}

struct task {
    struct kernelgym_job job;
    enum kernelgym_part part;
    struct evaluation_json *view;
    json_t *notes;
    struct verdict verdict; /* empty: there is none */
};

static json_t *parse_json(const char *text)
{
    struct err err;
    json_t *value = NULL;
    if (!text || json_parse("job", text, strlen(text), &value, &err) < 0)
        return NULL;
    return value;
}

static void task_deinit(struct task *task)
{
    evaluation_json_unref(task->view);
    json_decref(task->notes);
    verdict_deinit(&task->verdict);
}

/* An id with a suffix may be a task's own; else it names a part of a task. */
static int task_find(struct service *service, const char *id, struct task *task, struct err *err)
{
    char base[QUEUE_ID_BYTES];
    size_t base_bytes;
    *task = (struct task){.part = KERNELGYM_WHOLE};
    int result = evaluation_json_get(service->evaluation_jsons, service->queue, id, &task->view,
                                     err);
    if (result == ERR_MISSING && kernelgym_part(id, &base_bytes) != KERNELGYM_WHOLE &&
        base_bytes < sizeof base) {
        snprintf(base, sizeof base, "%.*s", (int)base_bytes, id);
        task->part = kernelgym_part(id, &base_bytes);
        result = evaluation_json_get(service->evaluation_jsons, service->queue, base, &task->view,
                                     err);
    }
    if (result < 0)
        return result;
    const struct queue_job *job = &task->view->job;
    task->notes = parse_json(task->view->notes);
    json_t *verdict = parse_json(task->view->verdict);
    if (verdict)
        verdict_recover(&(struct verdict_source){.id = job->id, .json = verdict}, &task->verdict);
    task->job = (struct kernelgym_job){
        .id = job->id,
        .state = evaluation_has_ended(job)     ? KERNELGYM_ENDED
                 : job->state == QUEUE_RUNNING ? KERNELGYM_PROCESSING
                                               : KERNELGYM_PENDING,
        .cancelled = job->state == QUEUE_CANCELLED,
        .put_ms = job->put_ms,
        .started_ms = job->claimed_ms,
        .ended_ms = job->ended_ms,
        .queue_position = -1,
        .worker = job->worker[0] ? job->worker : NULL,
        .reason = job->reason[0] ? job->reason : NULL,
        .notes = task->notes,
        .verdict = verdict ? &task->verdict : NULL,
    };
    json_decref(verdict);
    return 0;
}

/* 404 in KernelGYM's format. */
static void refuse_task(struct http_response *response, const char *id, const struct err *err)
{
    struct kernelgym_reply reply;
    if (err->code != ERR_MISSING && err->code != ERR_INPUT) {
        service_refuse_queue(response, err);
        return;
    }
    kernelgym_not_found(&reply, id);
    kernelgym_send(response, &reply);
}

/* `answer`: NULL if there is none yet. */
static void send_or_missing(struct http_response *response, const char *id, json_t *answer)
{
    const struct err missing = {.code = ERR_MISSING};
    if (answer)
        http_set_json(response, answer);
    else
        refuse_task(response, id, &missing);
}

struct tasks {
    struct submitted jobs;
    char batch[QUEUE_ID_BYTES]; /* the client's */
    bool is_batch, is_workflow;
    int64_t put_ms;
};

static void tasks_free(void *context)
{
    struct tasks *tasks = context;
    submitted_deinit(&tasks->jobs);
    mem_free(tasks);
}

static json_t *results_of(struct service *service, const struct tasks *tasks, struct err *err)
{
    json_t *results = json_array();
    for (size_t i = 0; i < tasks->jobs.count; i++) {
        struct task task;
        int result = task_find(service, tasks->jobs.ids[i], &task, err);
        if (result < 0) {
            json_decref(results);
            task_deinit(&task);
            return NULL;
        }
        json_t *answer = tasks->is_workflow ? kernelgym_workflow_result(&task.job, KERNELGYM_WHOLE)
                                            : kernelgym_result(&task.job, KERNELGYM_WHOLE);
        json_array_append_new(results, answer ? answer : json_null());
        task_deinit(&task);
    }
    return results;
}

static void answer_tasks(struct service *service, void *context, bool ended,
                         struct http_response *response)
{
    const struct tasks *tasks = context;
    struct err err = {0};
    if (!ended) {
        http_refuse(response, 504, "timeout", "Task %.255s has not ended yet", tasks->jobs.ids[0]);
        return;
    }
    json_t *results = results_of(service, tasks, &err);
    if (!results) {
        refuse_task(response, tasks->jobs.ids[0], &err);
    } else if (tasks->is_batch) {
        http_set_json(response, kernelgym_batch_result(tasks->batch, results, tasks->put_ms,
                                                       clock_wall_ms()));
    } else {
        http_set_json(response, json_incref(json_array_get(results, 0)));
        json_decref(results);
    }
}

static void wait_for(struct service *service, struct tasks *tasks, struct http_request *request)
{
    const struct long_poll waiting = {.ids = tasks->jobs.ids,
                                      .count = tasks->jobs.count,
                                      .timeout_ms = WAIT_MS,
                                      .answer = answer_tasks,
                                      .release = tasks_free,
                                      .context = tasks};
    long_poll_begin(service, request, &waiting);
}

/* NULL: refused. */
static struct tasks *put_all(struct service *service, const struct kernelgym_request *requests,
                             size_t count, struct http_response *response)
{
    const char **names = mem_alloc(count * sizeof *names);
    const struct submit_options options = {.names = names, .doubts = true};
    struct tasks *tasks = mem_alloc(sizeof *tasks);
    json_t *evaluations = json_array();
    for (size_t i = 0; i < count; i++) {
        names[i] = requests[i].task_id;
        json_array_append_new(evaluations, kernelgym_translate(&requests[i], service->settings));
    }
    bool put = submit_all(service, evaluations, &options, &tasks->jobs, response);
    tasks->put_ms = clock_wall_ms();
    json_decref(evaluations);
    mem_free(names);
    if (put)
        return tasks;
    mem_free(tasks);
    return NULL;
}

/* NULL: `response` is a refusal. */
static struct tasks *put_one(struct service *service, struct http_request *request,
                             struct http_response *response, kernelgym_parse *read)
{
    struct kernelgym_request asked;
    struct kernelgym_reply reply;
    const json_t *body = http_json(request, response);
    if (!body)
        return NULL;
    if (read(body, clock_wall_ms(), &asked, &reply) == 0)
        return put_all(service, &asked, 1, response);
    kernelgym_send(response, &reply);
    return NULL;
}

static void tasks_evaluate(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct tasks *tasks = put_one(context, request, response, kernelgym_request_parse);
    if (tasks)
        wait_for(context, tasks, request);
}

static void submit_workflow(void *context, struct http_request *request,
                            struct http_response *response)
{
    struct tasks *tasks = put_one(context, request, response, kernelgym_workflow_parse);
    if (!tasks)
        return;
    tasks->is_workflow = true;
    wait_for(context, tasks, request);
}

static void evaluate_batch(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct kernelgym_reply reply;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    struct kernelgym_batch *batch = mem_alloc(sizeof *batch);
    if (kernelgym_batch_parse(body, clock_wall_ms(), batch, &reply) < 0) {
        kernelgym_send(response, &reply);
        mem_free(batch);
        return;
    }
    struct tasks *tasks = put_all(context, batch->tasks, batch->count, response);
    if (tasks) {
        tasks->is_batch = true;
        snprintf(tasks->batch, sizeof tasks->batch, "%s", batch->batch_id);
        wait_for(context, tasks, request);
    }
    mem_free(batch);
}

static void tasks_validate(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct kernelgym_request asked;
    struct kernelgym_reply reply;
    const json_t *body = http_json(request, response);
    if (!body)
        return;
    if (kernelgym_validate_parse(body, clock_wall_ms(), &asked, &reply) < 0)
        kernelgym_send(response, &reply);
    else
        http_set_json(response, kernelgym_validation(&asked));
}

/* Answers what `show` makes of the task, if that is something already. */
static void show_task(struct service *service, const struct http_request *request,
                      json_t *(*show)(const struct kernelgym_job *job, enum kernelgym_part part),
                      struct http_response *response)
{
    const char *id = http_parameter(request, "id");
    struct task task;
    struct err err;
    if (task_find(service, id, &task, &err) < 0)
        refuse_task(response, id, &err);
    else
        send_or_missing(response, id, show(&task.job, task.part));
    task_deinit(&task);
}

static void task_status(void *context, struct http_request *request, struct http_response *response)
{
    show_task(context, request, kernelgym_status, response);
}

static void task_result(void *context, struct http_request *request, struct http_response *response)
{
    show_task(context, request, kernelgym_result, response);
}

static void workflow_result(void *context, struct http_request *request,
                            struct http_response *response)
{
    show_task(context, request, kernelgym_workflow_result, response);
}

/* A part is not a job: cancels its task. */
static void task_cancel(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    const char *id = http_parameter(request, "id");
    enum queue_state state = QUEUE_DONE;
    struct task task;
    struct err err;
    int found = task_find(service, id, &task, &err);
    if (found == 0 && task.job.state != KERNELGYM_ENDED)
        found = service_cancel(service, task.job.id, &state, &err);
    if (found < 0)
        refuse_task(response, id, &err);
    else
        send_or_missing(response, id, state == QUEUE_DONE ? NULL : kernelgym_cancelled(id));
    task_deinit(&task);
}

const struct http_route kernelgym_routes[] = {
    {HTTP_POST, "/evaluate", tasks_evaluate, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/evaluate/batch", evaluate_batch, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/debug/validate", tasks_validate, 0, HTTP_BODY_STANDARD, NULL},
    {HTTP_POST, "/workflow/submit", submit_workflow, HTTP_BLOCKS, HTTP_BODY_STANDARD, NULL},
    {HTTP_GET, "/workflow/results/:id", workflow_result, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/results/:id", task_result, HTTP_BLOCKS, 0, NULL},
    {HTTP_GET, "/status/:id", task_status, HTTP_BLOCKS, 0, NULL},
    {HTTP_DELETE, "/tasks/:id", task_cancel, HTTP_BLOCKS, 0, NULL},
    {0},
};
