#include "base/clock.h"
#include "server/tinker/internal.h"

#include <inttypes.h>
#include <time.h>

#include <utlist.h>

#define WAITING_MAX 4096 /* requests of a run */
#define TICK_MS 1000
#define EXPIRE_MS 5000 /* how often checkpoints are looked at */

void tinker_request_free(struct tinker_request *request)
{
    if (request->pass)
        tinker_pass_deinit(request->pass);
    mem_free(request->pass);
    json_decref(request->body);
    tinker_future_unref(request->future);
    tinker_run_unref(request->run);
    mem_free(request);
}

/* --- submission --- */

/* With the lock: by number; those without one before all others, as they came. */
static void put_in_order(struct tinker_run *run, struct tinker_request *request)
{
    struct tinker_request *at = run->requests;
    while (at && at->number <= request->number)
        at = at->next;
    if (at)
        DL_PREPEND_ELEM(run->requests, at, request);
    else
        DL_APPEND(run->requests, request);
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
                    struct tinker_request *request)
{
    atomic_fetch_add(&run->refs, 1);
    atomic_fetch_add(&request->future->refs, 1);
    request->run = run;
    request->came_ns = clock_now_ns();
    request->future->model = mem_strdup(run->id);
    atomic_store(&run->used_ms, clock_wall_ms());
    put_in_order(run, request);
    pthread_cond_signal(&service->work);
}

void tinker_queue_submit(struct tinker_service *service, const struct tinker_operation *operation,
                         const char *model, int64_t number, json_t *body, struct tinker_pass *pass,
                         const struct err *err, struct http_response *response)
{
    struct tinker_request *request = mem_alloc(sizeof *request);
    struct tinker_future *future = NULL;
    struct tinker_run *run;
    bool known = false, refused = false;
    *request = (struct tinker_request){.operation = operation,
                                       .number = number,
                                       .body = json_deep_copy(body),
                                       .pass = pass};
    if (err)
        request->err = *err;
    char *key = number >= 0 ? mem_printf("%s#%" PRId64, model, number) : NULL;
    pthread_mutex_lock(&service->lock);
    run = tinker_run_get(service, model);
    if (!tinker_future_by_key(service, key))
        refused = refuse_for_run(run, model, number, response);
    if (!refused) {
        future = tinker_future_for(service, key, &known);
        request->future = future;
        atomic_fetch_add(&future->refs, 1);
        if (!known) {
            atomic_fetch_sub(&future->refs, 1);
            enqueue(service, run, request);
            request = NULL;
        }
    }
    pthread_mutex_unlock(&service->lock);
    if (!refused) {
        tinker_future_show(future, response);
        tinker_future_unref(future);
    }
    if (request)
        tinker_request_free(request);
    mem_free(key);
}

/* --- the training thread --- */

static bool is_due(const struct tinker_run *run, const struct tinker_request *request)
{
    return request && (request->number < 0 || request->number == run->next || run->closed);
}

/* With the lock: a request whose predecessor never came, fails; those behind it go on. */
static void give_up_order(struct tinker_service *service, struct tinker_run *run)
{
    struct tinker_request *request = run->requests;
    const int64_t limit_ms = tinker_of(service)->order_timeout_ms;
    if (!request || is_due(run, request) || clock_ms_since(request->came_ns) < (double)limit_ms)
        return;
    err_set(&request->err, ERR_INPUT,
            "request %" PRId64 " of this run did not arrive within %" PRId64
            " s, so that request %" PRId64 " cannot run",
            run->next, limit_ms / 1000, request->number);
    run->next = request->number;
}

/* With the lock: the due request of the run that has waited longest. */
static struct tinker_request *next_request(struct tinker_service *service)
{
    struct tinker_run *run, *best = NULL;
    for (run = service->runs; run; run = run->hh.next) {
        give_up_order(service, run);
        if (is_due(run, run->requests) && (!best || run->served < best->served))
            best = run;
    }
    if (!best)
        return NULL;
    struct tinker_request *request = best->requests;
    DL_DELETE(best->requests, request);
    best->waiting--;
    best->served = ++service->served;
    return request;
}

static void run_request(struct tinker_service *service, struct tinker_request *request)
{
    struct tinker_run *run = request->run;
    struct err err = request->err;
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
    tinker_future_end(service, request->future, request->operation->kind, code, &result, &err);
    buf_deinit(&result);
    tinker_request_free(request);
}

/* With the lock: out of the table; NULL: none. */
static struct tinker_run *take_closed(struct tinker_service *service)
{
    struct tinker_run *run = service->runs;
    while (run && !(run->closed && !run->requests))
        run = run->hh.next;
    if (run)
        tinker_run_remove(service, run);
    return run;
}

/* Runs that were closed and have nothing left to do. */
static void drop_closed(struct tinker_service *service)
{
    for (;;) {
        pthread_mutex_lock(&service->lock);
        struct tinker_run *run = take_closed(service);
        pthread_mutex_unlock(&service->lock);
        if (!run)
            return;
        tinker_run_unload(run);
        tinker_run_unref(run);
    }
}

void *tinker_queue_drive(void *context)
{
    struct tinker_service *service = context;
    int64_t ticked_ns = clock_now_ns(), expired_ns = ticked_ns;
    pthread_mutex_lock(&service->lock);
    while (!service->quit) {
        struct tinker_request *request = next_request(service);
        if (!request) {
            struct timespec until = clock_in_ms(TICK_MS);
            pthread_cond_timedwait(&service->work, &service->lock, &until);
        }
        pthread_mutex_unlock(&service->lock);
        if (request)
            run_request(service, request);
        drop_closed(service);
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
