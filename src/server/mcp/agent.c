/* What the gym keeps of a session: its agent's open tracks. */
#include "server/mcp/gym_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

#define LOOK_MS 100

void mcp_track_end(struct mcp_gym *mcp_gym, struct mcp_track *track)
{
    struct err err;
    if (mcp_gym->recorder && mcp_recorder_end(mcp_gym->recorder, track->episode, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "mcp", "cannot record an episode", "why", err.text, NULL);
    episode_free(track->episode);
    track->episode = NULL;
}

static void track_free(struct mcp_gym *mcp_gym, struct mcp_track *track)
{
    if (track->episode) {
        episode_end(track->episode, "expired");
        mcp_track_end(mcp_gym, track);
    }
    json_decref(track->row);
    json_decref(track->verdict);
    json_decref(track->best);
    mem_free(track->problem);
    mem_free(track->language);
    mem_free(track);
}

/* With the lock. */
static struct mcp_track *track_of(struct mcp_agent *agent, const char *problem,
                                  const char *language)
{
    struct mcp_track **at = &agent->tracks;
    while (*at && (strcmp((*at)->problem, problem) != 0 || strcmp((*at)->language, language) != 0))
        at = &(*at)->next;
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        (*at)->problem = mem_strdup(problem);
        (*at)->language = mem_strdup(language);
    }
    return *at;
}

int mcp_track_take(struct mcp_gym *mcp_gym, struct mcp_agent *agent, const char *problem,
                   const char *language, const _Atomic int *stop, struct mcp_track **track,
                   struct err *err)
{
    pthread_mutex_lock(&mcp_gym->lock);
    *track = track_of(agent, problem, language);
    while ((*track)->busy && !*stop) {
        struct timespec until = clock_in_ms(LOOK_MS);
        pthread_cond_timedwait(&mcp_gym->freed, &mcp_gym->lock, &until);
    }
    bool taken = !(*track)->busy && !*stop;
    if (taken)
        (*track)->busy = true;
    pthread_mutex_unlock(&mcp_gym->lock);
    return taken ? 0 : err_set(err, ERR_CANCELLED, "cancelled");
}

void mcp_track_give_back(struct mcp_gym *mcp_gym, struct mcp_track *track)
{
    pthread_mutex_lock(&mcp_gym->lock);
    track->busy = false;
    pthread_cond_broadcast(&mcp_gym->freed);
    pthread_mutex_unlock(&mcp_gym->lock);
}

void mcp_agent_free(void *context, void *which)
{
    struct mcp_agent *agent = which;
    while (agent->tracks) {
        struct mcp_track *track = agent->tracks;
        agent->tracks = track->next;
        track_free(context, track);
    }
    json_decref(agent->turns);
    mem_free(agent);
}

static int no_session(const struct mcp_call *call, const char *handle, bool make, struct err *err)
{
    if (handle)
        return err_set(
            err, ERR_MISSING,
            "no session '%.64s' (it may have ended); submit without one begins a new one", handle);
    if (make)
        return err_set(err, ERR_LIMIT, "too many sessions; try again later");
    return mcp_call_is_stateless(call)
               ? err_set(err, ERR_MISSING, "name the session: `session` in submit's result")
               : err_set(err, ERR_MISSING, "nothing has been submitted in this session yet");
}

int mcp_agent_find(struct mcp_gym *mcp_gym, struct mcp_call *call, const char *handle, bool make,
                   struct mcp_agent **out, struct err *err)
{
    struct mcp_session *session = mcp_call_join(call, handle, make);
    if (!session)
        return no_session(call, handle, make, err);
    pthread_mutex_lock(&mcp_gym->lock);
    struct mcp_agent **agent = (struct mcp_agent **)mcp_session_state(session);
    if (!*agent && make) {
        *agent = mem_alloc(sizeof **agent);
        (*agent)->session = mcp_session_handle(session);
        (*agent)->turns = json_array();
    }
    *out = *agent;
    pthread_mutex_unlock(&mcp_gym->lock);
    return *out ? 0 : no_session(call, NULL, false, err);
}
