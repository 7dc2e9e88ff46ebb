#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "server/tinker/internal.h"
#include "server/tinker/routes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sessions of an earlier server that were not used for long: what they left goes. */
static void end_if_old(struct tinker_service *service, const char *id)
{
    json_t *record = tinker_record_read(service, "sessions", id);
    const int64_t seen_ms = json_integer_value(json_object_get(record, "seen_ms"));
    if (clock_wall_ms() - seen_ms > tinker_of(service)->session_timeout_ms)
        tinker_record_remove(service, "sessions", id);
    json_decref(record);
}

/* Samplers without a session are used by no client, and their unnamed weights neither. */
static void drop_if_alone(struct tinker_service *service, const char *id)
{
    json_t *record = tinker_record_read(service, "samplers", id);
    json_t *session = tinker_record_read(service, "sessions", json_text_at(record, "session_id"));
    const char *directory = json_text_at(record, "directory");
    if (!session) {
        if (!json_text_at(record, "model_path")[0] && strstr(directory, "/unnamed/") &&
            strncmp(directory, service->directory, strlen(service->directory)) == 0 &&
            !strstr(directory, ".."))
            file_remove_tree(directory);
        tinker_record_remove(service, "samplers", id);
    }
    json_decref(session);
    json_decref(record);
}

static int open_parts(struct tinker_service *service, struct err *err)
{
    int result = file_make_directories(service->directory, 0755, err);
    if (result == 0)
        result = lm_backend_open(&service->training, service->options.backend,
                                 service->options.threads, err);
    if (result == 0)
        result = tinker_engines_open(&service->engines, service, err);
    if (result < 0)
        return result;
    tinker_records_each(service, "sessions", end_if_old);
    tinker_records_each(service, "samplers", drop_if_alone);
    int error = pthread_create(&service->thread, NULL, tinker_queue_drive, service);
    return error == 0 ? 0 : err_sys(err, error, "cannot start the training thread");
}

int tinker_service_open(struct tinker_service **out, const struct tinker_service_options *options,
                        struct err *err)
{
    struct tinker_service *service = mem_alloc(sizeof *service);
    *out = NULL;
    service->options = *options;
    service->directory = file_plain(options->directory);
    service->model = mem_strdup(options->model);
    service->tokenizer_id = mem_strdup(options->tokenizer_id ? options->tokenizer_id
                                                             : options->model);
    snprintf(service->archive_secret, sizeof service->archive_secret, "%016" PRIx64 "%016" PRIx64,
             clock_secret(), clock_secret());
    pthread_mutex_init(&service->lock, NULL);
    pthread_cond_init(&service->work, NULL);
    int result = open_parts(service, err);
    if (result < 0) {
        service->quit = true; /* no thread runs */
        tinker_service_free(service);
        return result;
    }
    *out = service;
    return 0;
}

static const struct http_route *const tables[] = {
    tinker_about_routes,    tinker_sessions_routes,    tinker_runs_routes,
    tinker_training_routes, tinker_checkpoints_routes, tinker_archive_routes,
    tinker_samplers_routes, tinker_sampling_routes,    tinker_futures_routes,
};

int tinker_service_add_routes(struct tinker_service *service, struct http_server *server,
                              struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < COUNT(tables) && result == 0; i++) {
        size_t count = 0;
        while (tables[i][count].methods)
            count++;
        result = http_add(server, tables[i], count, service, err);
    }
    return result;
}

void tinker_service_stop(struct tinker_service *service)
{
    pthread_mutex_lock(&service->lock);
    const bool first = !service->quit;
    service->quit = true;
    pthread_cond_signal(&service->work);
    pthread_mutex_unlock(&service->lock);
    if (!first)
        return;
    pthread_join(service->thread, NULL);
    tinker_engines_stop(service->engines);
}

static void free_runs(struct tinker_service *service)
{
    for (struct tinker_run *run; (run = service->runs);) {
        tinker_run_remove(service, run);
        while (run->requests) {
            struct tinker_request *request = run->requests;
            run->requests = request->next;
            tinker_request_free(request);
        }
        tinker_run_unref(run);
    }
}

static void free_tables(struct tinker_service *service)
{
    free_runs(service);
    for (struct tinker_sampler *sampler; (sampler = service->samplers);) {
        tinker_sampler_remove(service, sampler);
        tinker_sampler_free(sampler);
    }
    for (struct tinker_session *session; (session = service->sessions);) {
        tinker_session_remove(service, session);
        mem_free(session);
    }
    for (struct tinker_future *future; (future = service->by_id);) {
        tinker_future_remove(service, future);
        tinker_future_unref(future);
    }
}

void tinker_service_free(struct tinker_service *service)
{
    if (!service)
        return;
    free_tables(service);
    tinker_engines_close(service->engines);
    lm_backend_close(service->training);
    pthread_cond_destroy(&service->work);
    pthread_mutex_destroy(&service->lock);
    mem_free(service->tokenizer_id);
    mem_free(service->model);
    mem_free(service->directory);
    mem_free(service);
}
