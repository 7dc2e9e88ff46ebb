#include "server/submit.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "judge/evaluate.h"
#include "judge/request/judge_settings.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "server/server_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FULL_RETRY_AFTER_S 5

struct submission {
    struct evaluation_request request; /* borrows from its JSON object */
    char key[HASH_HEX_BYTES];          /* "": results of other jobs do not apply */
    char problem[HASH_HEX_BYTES];      /* the hash of a known problem */
    const char *needs;
    char *payload;
    char *refusal;          /* a verdict, if the request is not to be evaluated */
    struct queue_job known; /* with its result, if there is one */
    bool is_known;
};

static void refuse_request(struct http_response *response, const char *where, const struct err *err)
{
    bool large = err->code == ERR_LIMIT;
    http_refuse(response, large ? 413 : 400, large ? "too_large" : "bad_request", "%s%s%s",
                where ? where : "", where ? ": " : "", err->text);
}

/* If no GPU is visible, a job for one goes to any worker that may have one. */
static const char *needs_of(struct service *service, const struct evaluation_request *request,
                            const struct settings *settings)
{
    const struct language *language = language_of(NULL, request->candidate_name,
                                                  request->candidate_source);
    bool cpu = !language->gpu && language->format == PROBLEM_NATIVE;
    if (cpu || torch_settings(settings)->device == TORCH_CPU)
        return "cpu";
    return worker_registry_count(service->workers, true) > 0 ? "gpu" : "any";
}

/* Adds the problem's hash, so that no worker evaluates another problem of that name. */
static int add_problem_hash(struct service *service, const json_t *object, struct submission *out,
                            json_t **named, struct err *err)
{
    const char *wanted = out->request.problem_hash;
    const char *id = out->request.problem_id;
    *named = json_copy((json_t *)object);
    if (out->request.format != EVALUATION_KNOWN || out->request.refused)
        return 0;
    if (problem_hashes_get(service->problem_hashes, id, out->problem, err) < 0)
        return err->code;
    if (wanted && strcmp(wanted, out->problem) != 0)
        return err_set(err, ERR_INPUT, "problem: 'hash' is %.64s, but problem %s has %s here",
                       wanted, id, out->problem);
    json_put(*named, "problem", json_pack("{s:s, s:s}", "id", id, "hash", out->problem));
    return 0;
}

/* Hash of problem, candidate, settings, and the device models that may run the job. */
static void make_key(struct service *service, struct submission *submission)
{
    char content[HASH_HEX_BYTES], judges[HASH_HEX_BYTES];
    if (!worker_registry_models_hash(service->workers, submission->needs, judges))
        return;
    evaluation_request_hash(&submission->request, submission->problem, content);
    struct hash *hash = hash_new();
    hash_update_string(hash, content);
    hash_update_string(hash, judges);
    hash_finish(hash, submission->key);
}

static int write_refusal(struct submission *submission, struct err *err)
{
    struct verdict verdict;
    evaluation_request_refuse(&submission->request, submission->request.refused, &verdict);
    json_t *json = verdict_json(&verdict);
    submission->refusal = json_line_text(json, LIMIT_QUEUE_BODY_BYTES, err);
    json_decref(json);
    verdict_deinit(&verdict);
    return submission->refusal ? 0 : err->code;
}

static int submission_prepare(struct service *service, const json_t *object, struct submission *out,
                              struct err *err)
{
    struct settings settings;
    json_t *named = NULL;
    int result = evaluation_request_parse(object, &out->request, err);
    if (result == 0)
        result = add_problem_hash(service, object, out, &named, err);
    if (result == 0 && !(out->payload = json_line_text(named, LIMIT_QUEUE_BODY_BYTES, err)))
        result = err->code;
    json_decref(named);
    if (result < 0 || out->request.refused) {
        out->needs = "any";
        return result < 0 ? result : write_refusal(out, err);
    }
    result = evaluation_request_settings(&out->request, service->settings, &settings, err);
    if (result < 0)
        return result;
    out->needs = needs_of(service, &out->request, &settings);
    settings_deinit(&settings);
    make_key(service, out);
    return 0;
}

static int check_id(const json_t *object, struct err *err)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    return id && strchr(id, '/')
               ? err_set(err, ERR_INPUT, "'id' must not contain '/': it becomes part of a path")
               : 0;
}

/* Whether that verdict's speedup is so great that one measurement is not to confirm itself. */
static bool is_doubtful(const struct service *service, const struct queue_job *known)
{
    json_t *verdict = json_loadb(known->result, known->result_bytes, 0, NULL);
    const json_t *timing = json_object_get(verdict, "timing");
    double speedup = json_number_value(json_object_get(timing, "speedup"));
    json_decref(verdict);
    return speedup > server_settings(service->settings)->remembered_speedup;
}

/* `where` prefixes errors; NULL: nothing. Call submission_deinit in any case. */
static bool submission_init(struct service *service, const json_t *object, const char *where,
                            const struct submit_options *options, struct submission *out,
                            struct http_response *response)
{
    struct err err;
    *out = (struct submission){0};
    if ((options->path_ids && check_id(object, &err) < 0) ||
        submission_prepare(service, object, out, &err) < 0) {
        refuse_request(response, where, &err);
        return false;
    }
    if (!out->key[0] || out->request.fresh)
        return true;
    int result = queue_find(service->queue, out->key, QUEUE_RESULT, &out->known, &err);
    out->is_known = result == 0 && out->known.result &&
                    !(options->doubts && is_doubtful(service, &out->known));
    if (result < 0 && result != ERR_MISSING) {
        service_refuse_queue(response, &err);
        return false;
    }
    return true;
}

static void submission_deinit(struct submission *submission)
{
    mem_free(submission->payload);
    mem_free(submission->refusal);
    queue_job_deinit(&submission->known);
}

/* Uses the last statistics plus later puts; if those exceed the limit, reads the current ones. */
static bool queue_has_capacity(struct service *service, size_t count,
                               struct http_response *response)
{
    uint64_t most = (uint64_t)server_settings(service->settings)->queue_max;
    for (int look = 0; look < 2; look++) {
        struct queue_stats stats;
        struct err err;
        uint64_t depth = atomic_load(&service->put_since) + count;
        if (look == 1 && maintenance_refresh(service, &err) < 0) {
            service_refuse_queue(response, &err);
            return false;
        }
        if (!service_stats(service, &stats))
            return true;
        if (look == 1)
            depth = count;
        for (size_t i = 0; i < QUEUE_PRIORITIES; i++)
            depth += stats.priorities[i].depth;
        if (depth <= most)
            return true;
    }
    http_refuse_for(response, 429, FULL_RETRY_AFTER_S, "queue_full",
                    "the queue is full: %llu jobs (server.queue_max); try again later",
                    (unsigned long long)most);
    return false;
}

static void submission_fill_put(const struct submission *from, const char *batch,
                                struct queue_result *result, struct queue_submission *put)
{
    *put = (struct queue_submission){
        .id = from->request.id,
        .batch = batch,
        .key = from->key[0] ? from->key : NULL,
        .needs = from->needs,
        .priority = (enum queue_priority)from->request.priority,
        .force = from->request.fresh,
        .payload = from->payload,
        .payload_bytes = strlen(from->payload),
    };
    if (from->refusal)
        *result = (struct queue_result){.outcome = "unsupported",
                                        .reason = from->request.refused,
                                        .bytes = from->refusal,
                                        .count = strlen(from->refusal)};
    else if (from->is_known)
        *result = (struct queue_result){.outcome = from->known.outcome,
                                        .reason = from->known.reason,
                                        .bytes = from->known.result,
                                        .count = from->known.result_bytes,
                                        .answers_key = true};
    if (from->refusal || from->is_known)
        put->result = result;
}

static const char *result_name(const struct submission *submission,
                               const struct queue_submission *put)
{
    static const char *const names[] = {"new", "joined", "answered", "replaced"};
    if (put->put_result == QUEUE_PUT_NEW && submission->is_known)
        return "cached";
    return names[put->put_result];
}

static void submission_log(const struct submission *submission, const struct queue_submission *put)
{
    const char *before = log_set_job(put->put_id);
    log_event(LOG_LEVEL_DEBUG, "server", "taken", "as", result_name(submission, put), "batch",
              put->batch ? put->batch : "", NULL);
    log_set_job(before);
}

/* Fills put_id and put_result of `puts`, one for each submission. */
static bool put_all(struct service *service, const struct submission *submissions, size_t count,
                    const char *batch, struct queue_submission *puts,
                    struct http_response *response)
{
    size_t judged = 0;
    struct err err;
    struct queue_result *results = mem_alloc((count + 1) * sizeof *results);
    for (size_t i = 0; i < count; i++) {
        submission_fill_put(&submissions[i], batch, &results[i], &puts[i]);
        judged += !puts[i].result;
    }
    bool done = judged == 0 || queue_has_capacity(service, judged, response);
    if (done && queue_put(service->queue, puts, count, &err) < 0) {
        service_refuse_queue(response, &err);
        done = false;
    }
    for (size_t i = 0; done && i < count; i++) {
        puts[i].result = NULL; /* freed with this function's locals */
        if (log_enabled(LOG_LEVEL_DEBUG))
            submission_log(&submissions[i], &puts[i]);
        if (puts[i].put_result == QUEUE_PUT_NEW || puts[i].put_result == QUEUE_PUT_REPLACED)
            atomic_fetch_add(&service->put_since,
                             !submissions[i].refusal && !submissions[i].is_known);
    }
    mem_free(results);
    return done;
}

/* Whether a job's problem, candidate and settings are the request's. A KNOWN problem's hash, which
 * the server has added to the job, matters if the client has named it. */
static bool is_same(const struct submission *submission, const char *payload, size_t bytes)
{
    const struct evaluation_request *ours = &submission->request;
    struct evaluation_request theirs;
    struct err ignored;
    char our_hash[HASH_HEX_BYTES], their_hash[HASH_HEX_BYTES];
    const char *named = ours->problem_hash ? ours->problem_hash : "";
    json_t *object = json_loadb(payload, bytes, 0, NULL);
    bool same = object && evaluation_request_parse(object, &theirs, &ignored) == 0;
    if (same) {
        evaluation_request_hash(ours, named, our_hash);
        evaluation_request_hash(&theirs, *named && theirs.problem_hash ? theirs.problem_hash : "",
                                their_hash);
        same = strcmp(our_hash, their_hash) == 0;
    }
    json_decref(object);
    return same;
}

static bool refuse_id(const struct submission *submission, struct http_response *response)
{
    http_refuse(response, 409, "exists",
                "evaluation '%.255s' exists with another problem, candidate or settings",
                submission->request.id);
    return false;
}

/* False: there is a job of that id for another request. One that is gone by now stands for none,
 * and so does one that ended, if the request may replace it. */
static bool check_same(struct service *service, const struct submission *submission,
                       bool may_replace, struct http_response *response)
{
    struct err err;
    struct queue_job job = {0};
    int result = queue_get(service->queue, submission->request.id, QUEUE_PAYLOAD, &job, &err);
    if (result < 0 && result != ERR_MISSING)
        service_refuse_queue(response, &err);
    bool same = result == ERR_MISSING;
    if (result == 0)
        same = (may_replace && job.ended_ms > 0) ||
               is_same(submission, job.payload, job.payload_bytes) ||
               refuse_id(submission, response);
    queue_job_deinit(&job);
    return same;
}

struct named {
    const char *id;
    const struct submission *submission;
};

/* Those of one id stay in the order of the batch. */
static int by_id(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->id, b->id);
    return order ? order : (a->submission > b->submission) - (a->submission < b->submission);
}

/* Whether none of the batch is another request than a job of its id, or an earlier one of its id
 * in the batch. Compares each with its neighbour only: a batch may have one id a thousand times. */
static bool check_batch(struct service *service, const struct submission *submissions, size_t count,
                        struct http_response *response)
{
    struct named *named = mem_alloc((count + 1) * sizeof *named);
    size_t names = 0;
    bool same = true;
    for (size_t i = 0; i < count; i++)
        if (submissions[i].request.id)
            named[names++] = (struct named){submissions[i].request.id, &submissions[i]};
    qsort(named, names, sizeof *named, by_id);
    for (size_t i = 0; same && i < names; i++) {
        const struct submission *mine = named[i].submission;
        const char *earlier = i > 0 && strcmp(named[i - 1].id, named[i].id) == 0
                                  ? named[i - 1].submission->payload
                                  : NULL;
        same = earlier ? is_same(mine, earlier, strlen(earlier)) || refuse_id(mine, response)
                       : check_same(service, mine, mine->request.fresh, response);
    }
    mem_free(named);
    return same;
}

/* Those that were not put because there was one: after check_batch, one that another client has put
 * meanwhile. */
static bool check_put(struct service *service, const struct submission *submissions,
                      const struct queue_submission *puts, size_t count,
                      struct http_response *response)
{
    bool same = true;
    for (size_t i = 0; same && i < count; i++)
        if (puts[i].put_result == QUEUE_PUT_JOINED || puts[i].put_result == QUEUE_PUT_ANSWERED)
            same = check_same(service, &submissions[i], false, response);
    return same;
}

bool submit_all(struct service *service, const json_t *requests,
                const struct submit_options *options, struct submitted *out,
                struct http_response *response)
{
    size_t count = json_array_size(requests), prepared = 0;
    struct submission *submissions = mem_alloc((count + 1) * sizeof *submissions);
    struct queue_submission *puts = mem_alloc((count + 1) * sizeof *puts);
    bool fine = true;
    for (; fine && prepared < count; prepared++) {
        char where[48];
        snprintf(where, sizeof where, "evaluations[%zu]", prepared);
        fine = submission_init(service, json_array_get(requests, prepared),
                               options->names      ? options->names[prepared]
                               : options->numbered ? where
                                                   : NULL,
                               options, &submissions[prepared], response);
    }
    if (fine && count > 1)
        fine = check_batch(service, submissions, count, response);
    fine = fine && put_all(service, submissions, count, options->batch, puts, response) &&
           check_put(service, submissions, puts, count, response);
    if (fine) {
        *out = (struct submitted){.count = count,
                                  .ids = mem_alloc((count + 1) * sizeof *out->ids),
                                  .results = mem_alloc((count + 1) * sizeof *out->results)};
        for (size_t i = 0; i < count; i++) {
            snprintf(out->ids[i], QUEUE_ID_BYTES, "%s", puts[i].put_id);
            out->results[i] = result_name(&submissions[i], &puts[i]);
        }
    }
    for (size_t i = 0; i < prepared; i++)
        submission_deinit(&submissions[i]);
    mem_free(submissions);
    mem_free(puts);
    return fine;
}

void submitted_deinit(struct submitted *submitted)
{
    mem_free(submitted->ids);
    mem_free(submitted->results);
}
