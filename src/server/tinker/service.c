#include "server/tinker/service.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/ops/backend.h"
#include "server/tinker/engines.h"
#include "server/tinker/futures.h"
#include "server/tinker/queue.h"
#include "server/tinker/routes.h"
#include "server/tinker/runs.h"
#include "server/tinker/samplers.h"
#include "server/tinker/sessions.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <stdio.h>

static int open_parts(struct tinker_service *service, struct err *err)
{
    int result = file_make_directories(service->directory, 0755, err);
    if (result == 0)
        result = lm_backend_open(&service->training, service->options.backend,
                                 service->options.threads, err);
    if (result < 0)
        return result;
    tinker_sessions_clean(service);
    tinker_samplers_clean(service);
    return tinker_queue_open(&service->queue, service, err);
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
    service->engines = tinker_engines_new(&service->options);
    service->futures = tinker_futures_new();
    int result = open_parts(service, err);
    if (result < 0) {
        tinker_service_free(service);
        return result;
    }
    *out = service;
    return 0;
}

static const struct http_route *const tables[] = {
    tinker_about_routes,
    tinker_sessions_routes,
    tinker_create_routes,
    tinker_runs_routes,
    tinker_training_routes,
    tinker_checkpoints_routes,
    tinker_archive_routes,
    tinker_samplers_routes,
    tinker_sampling_routes,
    tinker_futures_routes,
    NULL,
};

int tinker_service_add_routes(struct tinker_service *service, struct http_server *server,
                              struct err *err)
{
    int result = 0;
    for (const struct http_route *const *table = tables; *table && result == 0; table++)
        result = http_add_table(server, *table, service, err);
    return result;
}

void tinker_service_stop(struct tinker_service *service)
{
    tinker_queue_stop(service->queue);
    tinker_engines_stop(service->engines);
}

void tinker_service_free(struct tinker_service *service)
{
    if (!service)
        return;
    tinker_queue_close(service->queue);
    tinker_runs_free(service);
    tinker_samplers_free(service);
    tinker_sessions_free(service);
    tinker_futures_free(service->futures);
    tinker_engines_free(service->engines);
    lm_backend_close(service->training);
    pthread_mutex_destroy(&service->lock);
    mem_free(service->tokenizer_id);
    mem_free(service->model);
    mem_free(service->directory);
    mem_free(service);
}
