#include "server/web/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/web/verdict_reader.h"

#include <errno.h>

#define LOOK_NS 500000000

const struct http_route *const web_tables[] = {
    web_page_routes, web_run_routes, web_trace_routes, web_verdict_routes, NULL,
};

struct web *web_new(const struct web_options *options)
{
    struct web *web = mem_alloc(sizeof *web);
    web->runs = run_set_new(options->folder, options->runs, options->run_count);
    web->folder = options->folder && *options->folder ? mem_strdup(options->folder) : NULL;
    web->queue = options->queue;
    pthread_mutex_init(&web->lock, NULL);
    clock_condition_init(&web->wake);
    return web;
}

void web_free(struct web *web)
{
    if (!web)
        return;
    web_stop(web);
    verdict_reader_close(web->verdicts);
    run_set_free(web->runs);
    pthread_cond_destroy(&web->wake);
    pthread_mutex_destroy(&web->lock);
    mem_free(web->folder);
    mem_free(web);
}

/* False: the end. */
static bool wait_for_look(struct web *web)
{
    int64_t until_ns = clock_now_ns() + LOOK_NS;
    struct timespec until = clock_timespec(until_ns);
    int result = 0;
    pthread_mutex_lock(&web->lock);
    while (!web->quit && !web->followers) /* nothing to look at */
        pthread_cond_wait(&web->wake, &web->lock);
    while (!web->quit && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&web->wake, &web->lock, &until);
    bool on = !web->quit;
    pthread_mutex_unlock(&web->lock);
    return on;
}

static void *web_main(void *argument)
{
    struct web *web = argument;
    do
        web_followers_run(web);
    while (wait_for_look(web));
    return NULL;
}

int web_start(struct web *web, struct err *err)
{
    int code = pthread_create(&web->thread, NULL, web_main, web);
    web->started = code == 0;
    return code == 0 ? 0 : err_sys(err, code, "cannot start the dashboard's thread");
}

void web_stop(struct web *web)
{
    pthread_mutex_lock(&web->lock);
    web->quit = true;
    pthread_cond_broadcast(&web->wake);
    pthread_mutex_unlock(&web->lock);
    if (web->started)
        pthread_join(web->thread, NULL);
    web->started = false;
    web_followers_end(web);
}
