#include "cli/eval/remote.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"
#include "client/remote_batch.h"
#include "judge/request/language.h"
#include "judge/request/request.h"

#include <string.h>

struct run {
    const struct eval_remote *how;
    struct eval_report *report;
    json_t *settings; /* NULL: none */
    char *own_suite;  /* "…/problems/" */
    const struct batch_task **sent;
};

/* "--set KEY=VALUE" as part of a request; settings that concern only this side stay here. */
static int read_assignments(const struct cli_words *assignments, json_t **settings, struct err *err)
{
    static const char *const ours[] = {"client.", "problems."};
    json_t *object = json_object();
    for (size_t i = 0; i < assignments->count; i++) {
        const char *item = assignments->items[i], *equals = strchr(item, '=');
        if (strncmp(item, ours[0], strlen(ours[0])) == 0 ||
            strncmp(item, ours[1], strlen(ours[1])) == 0)
            continue;
        char *key = mem_printf("%.*s", (int)(equals - item), item);
        json_put(object, key, json_text(equals + 1));
        mem_free(key);
    }
    /* Checked as the server will, so that a refusal comes before anything is sent. */
    struct evaluation_request request;
    json_t *probe = json_pack("{s:{s:s}, s:{s:s}, s:O}", "problem", "id", "x", "candidate",
                              "source", "x", "settings", object);
    int result = evaluation_request_parse(probe, &request, err);
    json_decref(probe);
    if (result < 0) {
        json_decref(object);
        return err_prefix(err, "only some settings can be changed on a server");
    }
    *settings = object;
    return 0;
}

static bool goes_by_id(const struct run *run, const struct eval_problem *problem)
{
    const char *directory = problem->problem.directory;
    if (problem->sent || strcmp(problem->wanted, problem->problem.id) != 0)
        return false;
    return !directory || strncmp(directory, run->own_suite, strlen(run->own_suite)) == 0;
}

static json_t *problem_json(const struct run *run, const struct eval_problem *problem)
{
    if (problem->sent)
        return json_incref(problem->sent);
    if (goes_by_id(run, problem))
        return json_pack("{s:o}", "id", json_text(problem->problem.id));
    return evaluation_problem_json(&problem->problem);
}

/* The end of a long path: its extension and its last folders. */
static const char *name_of(const char *path)
{
    size_t length = strlen(path);
    if (length <= LIMIT_NAME_BYTES)
        return path;
    path += length - LIMIT_NAME_BYTES;
    while (((unsigned char)*path & 0xC0) == 0x80) /* not inside a character */
        path++;
    return path;
}

static json_t *make_request(void *context, size_t index)
{
    struct run *run = context;
    const struct batch_task *task = run->sent[index];
    const struct eval_problem *problem = (const struct eval_problem *)task->problem;
    json_t *request = json_object();
    json_put(request, "problem", problem_json(run, problem));
    json_put(request, "candidate",
             json_pack("{s:o, s:o}", "source",
                       json_text_bytes(task->candidate.text, task->candidate.bytes), "name",
                       json_text(name_of(task->candidate.path))));
    if (json_object_size(run->settings) > 0)
        json_put(request, "settings", json_incref(run->settings));
    if (!run->how->timing)
        json_put(request, "timing", json_false());
    if (run->how->fresh)
        json_put(request, "fresh", json_true());
    return request;
}

static void name_it(struct verdict *verdict, const struct run *run, const struct batch_task *task)
{
    const struct candidate *candidate = &task->candidate;
    verdict_identify(verdict, task->problem, candidate,
                     language_of(&run->how->tasks->languages, candidate->path, candidate->text));
}

/* With the problem's id and the candidate's path as they are known here. */
static void report_evaluation(void *context, size_t index,
                              const struct remote_evaluation *evaluation)
{
    struct run *run = context;
    const struct batch_task *task = run->sent[index];
    struct verdict verdict;
    remote_verdict(evaluation, &verdict);
    if (verdict_was_judged(&verdict)) {
        verdict.problem_id = task->problem->id;
        verdict.candidate_path = task->candidate.path;
    } else {
        name_it(&verdict, run, task);
    }
    eval_report_verdict(run->report, task, &verdict);
    verdict_deinit(&verdict);
}

static void report_refusal(void *context, size_t index, const struct err *why)
{
    struct run *run = context;
    struct err err = *why;
    err_prefix(&err, "%s", run->sent[index]->candidate.path);
    progress_hide(run->report->progress);
    run->how->tasks->complain(&err);
    progress_show(run->report->progress);
    run->how->tasks->complaints++;
}

static void report_tick(void *context)
{
    struct run *run = context;
    eval_report_tick(run->report);
}

/* A candidate that is not text cannot be sent: its verdict is made here, as the judge makes it. */
static size_t sort_out(struct run *run, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct batch_task *task = &run->how->tasks->items[i];
        struct err err;
        if (candidate_check(&task->candidate, &err) == 0) {
            run->sent[kept++] = task;
            continue;
        }
        struct verdict verdict;
        verdict_init(&verdict);
        name_it(&verdict, run, task);
        verdict_fail(&verdict, STATUS_COMPILE_ERROR, "source", err.text, NULL);
        eval_report_verdict(run->report, task, &verdict);
        verdict_deinit(&verdict);
    }
    return kept;
}

int eval_remote_run(const struct eval_remote *remote, size_t count, struct eval_report *into,
                    struct err *err)
{
    struct run run = {.how = remote, .report = into};
    int result = read_assignments(remote->assignments, &run.settings, err);
    if (result < 0)
        return result;
    char *root = paths_root();
    run.own_suite = mem_printf("%s/problems/", root);
    run.sent = mem_alloc((count + 1) * sizeof(const struct batch_task *));
    struct remote_work work = {.count = sort_out(&run, count),
                               .max_in_flight = (size_t)remote->at_once,
                               .make = make_request,
                               .report = report_evaluation,
                               .refuse = report_refusal,
                               .tick = report_tick,
                               .context = &run};
    result = remote_batch_run(remote->settings, remote->url, &work, remote->cancelled, err);
    mem_free(run.sent);
    mem_free(run.own_suite);
    mem_free(root);
    json_decref(run.settings);
    return result;
}
