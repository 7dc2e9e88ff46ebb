#include "server/tinker/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "server/tinker/body.h"
#include "server/tinker/files.h"
#include "server/tinker/pass_read.h"
#include "server/tinker/runs.h"
#include "server/tinker/sessions.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <time.h>

#include <utlist.h>

#define WAITING_MAX 4096 /* requests of a run */
#define TICK_MS 1000
#define EXPIRE_MS 5000 /* how often checkpoints are looked at */

struct tinker_queued {
    struct tinker_request request;
    struct tinker_future *future;
    int64_t came_ns;
    struct err err; /* it is refused, in its turn */
    struct tinker_queued *prev, *next;
};

struct tinker_queue {
    struct tinker_service *service;
    pthread_t thread;
    pthread_cond_t work;
    /* Under the lock. */
    bool quit;
    uint64_t served;
};

static void queued_free(struct tinker_queued *queued)
{
    struct tinker_request *request = &queued->request;
    if (request->pass)
        tinker_pass_deinit(request->pass);
    mem_free(request->pass);
    json_decref(request->body);
    tinker_future_unref(queued->future);
    tinker_run_unref(request->run);
    mem_free(queued);
}

/* --- submission --- */

/* With the lock: by number; those without one before all others, as they came. */
static void put_in_order(struct tinker_run *run, struct tinker_queued *queued)
{
    struct tinker_queued *at = run->requests;
    while (at && at->request.number <= queued->request.number)
        at = at->next;
    if (at)
        DL_PREPEND_ELEM(run->requests, at, queued);
    else
        DL_APPEND(run->requests, queued);
    run->waiting++;
}

/* With the lock: why a request of this run cannot be taken; false: it can. */
static bool refuse_for_run(const struct tinker_run *run, const char *model, int64_t number,
                           struct http_response *response)
{
    if (!run || run->closed)
        http_refuse(response, 404, "not_found",
                    "no run '%.120s': it was unloaded, its session ended, or the server was "
                    "restarted; create a training client from its last checkpoint",
                    model);
    else if (number >= 0 && number < run->next)
        http_refuse(response, 410, "gone",
                    "request %" PRId64 " of run '%.120s' has run already, and its result is no "
                    "longer kept",
                    number, model);
    else if (run->waiting >= WAITING_MAX)
        http_refuse_for(response, 429, TINKER_RETRY_S, "busy",
                        "run '%.120s' has %d requests waiting", model, WAITING_MAX);
    else
        return false;
    return true;
}

/* With the lock. */
static void enqueue(struct tinker_service *service, struct tinker_run *run,
                    struct tinker_queued *queued, struct tinker_future *future)
{
    queued->request.run = tinker_run_ref(run);
    queued->future = tinker_future_ref(future);
    queued->came_ns = clock_now_ns();
    put_in_order(run, queued);
    tinker_queue_wake(service->queue);
}

void tinker_queue_submit(struct tinker_service *service, const struct tinker_operation *operation,
                         const char *model, int64_t number, json_t *body, struct tinker_pass *pass,
                         const struct err *err, struct http_response *response)
{
    struct tinker_queued *queued = mem_alloc(sizeof *queued);
    queued->request = (struct tinker_request){.operation = operation,
                                              .number = number,
                                              .body = json_deep_copy(body),
                                              .pass = pass};
    if (err)
        queued->err = *err;
    char *key = number >= 0 ? mem_printf("%s#%" PRId64, model, number) : NULL;
    pthread_mutex_lock(&service->lock);
    struct tinker_run *run = tinker_run_get(service, model);
    struct tinker_future *future = tinker_future_find(service, key);
    if (!future && !refuse_for_run(run, model, number, response)) {
        future = tinker_future_new(service, key, run->id, 0);
        enqueue(service, run, queued, future);
        queued = NULL;
    }
    pthread_mutex_unlock(&service->lock);
    if (future)
        tinker_future_show(future, response);
    tinker_future_unref(future);
    if (queued)
        queued_free(queued);
    mem_free(key);
}

void tinker_queue_submit_body(struct tinker_service *service,
                              const struct tinker_operation *operation,
                              struct http_request *request, struct http_response *response)
{
    json_t *body = tinker_body(request, response);
    const char *model = body ? tinker_word(body, "model_id", response) : NULL;
    if (model)
        tinker_queue_submit(service, operation, model, tinker_number(body, "seq_id"), body, NULL,
                            NULL, response);
}

/* --- the training thread --- */

static bool is_due(const struct tinker_run *run, const struct tinker_queued *first)
{
    return first &&
           (first->request.number < 0 || first->request.number == run->next || run->closed);
}

/* With the lock: a request whose predecessor never came, fails; those behind it go on. */
static void give_up_order(struct tinker_service *service, struct tinker_run *run)
{
    struct tinker_queued *first = run->requests;
    const int64_t limit_ms = tinker_of(service)->order_timeout_ms;
    if (!first || is_due(run, first) || clock_ms_since(first->came_ns) < (double)limit_ms)
        return;
    err_set(&first->err, ERR_INPUT,
            "request %" PRId64 " of this run did not arrive within %" PRId64
            " s, so that request %" PRId64 " cannot run",
            run->next, limit_ms / 1000, first->request.number);
    run->next = first->request.number;
}

/* With the lock: the due request of the run that has waited longest. */
static struct tinker_queued *take_next(struct tinker_queue *queue)
{
    struct tinker_service *service = queue->service;
    struct tinker_run *run, *best = NULL;
    for (run = service->runs; run; run = run->hh.next) {
        give_up_order(service, run);
        if (is_due(run, run->requests) && (!best || run->served < best->served))
            best = run;
    }
    if (!best)
        return NULL;
    struct tinker_queued *first = best->requests;
    DL_DELETE(best->requests, first);
    best->waiting--;
    best->served = ++queue->served;
    return first;
}

static void run_request(struct tinker_service *service, struct tinker_queued *queued)
{
    struct tinker_request *request = &queued->request;
    struct tinker_run *run = request->run;
    struct err err = queued->err;
    struct buf result;
    buf_init(&result, SIZE_MAX);
    pthread_mutex_lock(&service->lock);
    const bool closed = run->closed;
    pthread_mutex_unlock(&service->lock);
    int code = err.code;
    if (closed)
        code = err_set(&err, ERR_CANCELLED, "the run was unloaded, or its session ended");
    if (code == 0)
        code = request->operation->run(service, request, &result, &err);
    else if (request->pass && !request->pass->forward && !run->failed)
        run->failed = mem_strdup(err.text); /* the step that follows must not use what is there */
    pthread_mutex_lock(&service->lock);
    if (request->number >= 0)
        run->next = request->number + 1;
    pthread_mutex_unlock(&service->lock);
    tinker_future_end(service, queued->future, request->operation->kind, code, &result, &err);
    buf_deinit(&result);
    queued_free(queued);
}

static void *drive(void *context)
{
    struct tinker_queue *queue = context;
    struct tinker_service *service = queue->service;
    int64_t ticked_ns = clock_now_ns(), expired_ns = ticked_ns;
    pthread_mutex_lock(&service->lock);
    while (!queue->quit) {
        struct tinker_queued *queued = take_next(queue);
        if (!queued) {
            struct timespec until = clock_in_ms(TICK_MS);
            pthread_cond_timedwait(&queue->work, &service->lock, &until);
        }
        pthread_mutex_unlock(&service->lock);
        if (queued)
            run_request(service, queued);
        tinker_runs_unload_closed(service);
        if (clock_ms_since(ticked_ns) >= TICK_MS) {
            tinker_sessions_expire(service);
            ticked_ns = clock_now_ns();
        }
        if (clock_ms_since(expired_ns) >= EXPIRE_MS) {
            tinker_checkpoints_expire(service);
            expired_ns = clock_now_ns();
        }
        pthread_mutex_lock(&service->lock);
    }
    pthread_mutex_unlock(&service->lock);
    return NULL;
}

/* --- from its opening to its end --- */

int tinker_queue_open(struct tinker_queue **out, struct tinker_service *service, struct err *err)
{
    struct tinker_queue *queue = mem_alloc(sizeof *queue);
    queue->service = service;
    pthread_cond_init(&queue->work, NULL);
    *out = queue; /* the thread may use it at once */
    int error = pthread_create(&queue->thread, NULL, drive, queue);
    if (error == 0)
        return 0;
    queue->quit = true; /* no thread runs */
    tinker_queue_close(queue);
    *out = NULL;
    return err_sys(err, error, "cannot start the training thread");
}

void tinker_queue_wake(struct tinker_queue *queue)
{
    pthread_cond_signal(&queue->work);
}

void tinker_queue_drop(struct tinker_run *run)
{
    while (run->requests) {
        struct tinker_queued *first = run->requests;
        run->requests = first->next;
        queued_free(first);
    }
}

void tinker_queue_stop(struct tinker_queue *queue)
{
    pthread_mutex_lock(&queue->service->lock);
    const bool first = !queue->quit;
    queue->quit = true;
    tinker_queue_wake(queue);
    pthread_mutex_unlock(&queue->service->lock);
    if (first)
        pthread_join(queue->thread, NULL);
}

void tinker_queue_close(struct tinker_queue *queue)
{
    if (!queue)
        return;
    tinker_queue_stop(queue);
    pthread_cond_destroy(&queue->work);
    mem_free(queue);
}
