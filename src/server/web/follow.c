/* follow: pages that listen to a run. One thread looks at the runs twice a second, and sends what
 * has changed. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/web/internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define EVENT_BYTES ((size_t)64 << 10)

struct run_follower {
    struct web_run *run;
    struct http_stream *stream;
    char *sent; /* the last event's data; NULL: none yet */
    _Atomic bool gone;
    struct run_follower *next;
};

static void follower_gone(void *context)
{
    atomic_store(&((struct run_follower *)context)->gone, true);
}

static void follower_free(void *context)
{
    struct run_follower *follower = context;
    mem_free(follower->sent);
    mem_free(follower);
}

/* NULL: it cannot be read now. */
static char *describe_run(struct web_run *run)
{
    struct err err;
    if (web_run_brief(run, &err) < 0)
        return NULL;
    json_t *object = web_run_json(&run->brief, run->name);
    web_run_close(run);
    char *text = json_line_text(object, EVENT_BYTES, &err);
    json_decref(object);
    return text;
}

static void follower_update(struct run_follower *follower)
{
    char *now = describe_run(follower->run);
    if (!now || (follower->sent && strcmp(now, follower->sent) == 0)) {
        mem_free(now);
        return;
    }
    const struct http_event event = {.name = "run", .data = now};
    if (!http_stream_send(follower->stream, &event))
        atomic_store(&follower->gone, true);
    mem_free(follower->sent);
    follower->sent = now;
}

/* Takes those out of the list that are gone, or all. */
static struct run_follower *take_followers(struct web *web, bool all)
{
    struct run_follower *taken = NULL;
    pthread_mutex_lock(&web->lock);
    for (struct run_follower **at = &web->followers; *at;) {
        struct run_follower *one = *at;
        if (!all && !atomic_load(&one->gone)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = taken;
        taken = one;
        web->follower_count--;
    }
    pthread_mutex_unlock(&web->lock);
    return taken;
}

static void close_followers(struct run_follower *taken)
{
    while (taken) {
        struct run_follower *next = taken->next;
        http_stream_close(taken->stream);
        taken = next;
    }
}

/* Only this thread takes followers out, so what it walks over stays; handlers add at the front. */
void web_followers_run(struct web *web)
{
    close_followers(take_followers(web, false));
    pthread_mutex_lock(&web->lock);
    struct run_follower *first = web->followers;
    pthread_mutex_unlock(&web->lock);
    for (struct run_follower *one = first; one; one = one->next)
        if (!atomic_load(&one->gone))
            follower_update(one);
}

void web_followers_end(struct web *web)
{
    close_followers(take_followers(web, true));
}

/* False: there are too many, or the dashboard stops. */
static bool add_follower(struct web *web, struct run_follower *follower)
{
    pthread_mutex_lock(&web->lock);
    bool fits = web->follower_count < LIMIT_WEB_STREAMS && !web->quit;
    if (fits) {
        follower->next = web->followers;
        web->followers = follower;
        web->follower_count++;
        pthread_cond_signal(&web->wake);
    }
    pthread_mutex_unlock(&web->lock);
    return fits;
}

void web_follow_run(void *context, struct http_request *request, struct http_response *response)
{
    struct web *web = context;
    struct web_run *run;
    struct err err;
    if (run_set_find(web->runs, http_parameter(request, "name"), &run, &err) < 0) {
        http_refuse_err(response, &err);
        return;
    }
    pthread_mutex_lock(&web->lock);
    bool full = web->follower_count >= LIMIT_WEB_STREAMS;
    pthread_mutex_unlock(&web->lock);
    if (full) {
        http_refuse_for(response, 503, 5, "busy", "%d pages follow runs already",
                        LIMIT_WEB_STREAMS);
        return;
    }
    struct run_follower *follower = mem_alloc(sizeof *follower);
    const struct http_stream_options options = {.gone = follower_gone,
                                                .release = follower_free,
                                                .context = follower};
    follower->run = run;
    follower->stream = http_stream_open(request, &options);
    struct http_stream *stream = follower->stream;
    if (!add_follower(web, follower))
        http_stream_close(stream);
}
