/* Sessions of agents, and their open tracks. */
#include "server/mcp/gym_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/remote.h"
#include "server/server_settings.h"

#include <stdio.h>
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
static struct mcp_track *track_of(struct mcp_agent_session *session, const char *problem,
                                  const char *language)
{
    struct mcp_track **at = &session->tracks;
    while (*at && (strcmp((*at)->problem, problem) != 0 || strcmp((*at)->language, language) != 0))
        at = &(*at)->next;
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        (*at)->problem = mem_strdup(problem);
        (*at)->language = mem_strdup(language);
    }
    return *at;
}

int mcp_track_take(struct mcp_gym *mcp_gym, struct mcp_agent_session *session, const char *problem,
                   const char *language, const _Atomic int *stop, struct mcp_track **track,
                   struct err *err)
{
    pthread_mutex_lock(&mcp_gym->lock);
    *track = track_of(session, problem, language);
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

static void agent_session_free(struct mcp_gym *mcp_gym, struct mcp_agent_session *session)
{
    while (session->tracks) {
        struct mcp_track *track = session->tracks;
        session->tracks = track->next;
        track_free(mcp_gym, track);
    }
    json_decref(session->turns);
    mem_free(session);
}

void mcp_agent_session_unref(struct mcp_gym *mcp_gym, struct mcp_agent_session *session)
{
    pthread_mutex_lock(&mcp_gym->lock);
    session->used_ns = clock_now_ns();
    bool last = --session->refs == 0;
    pthread_mutex_unlock(&mcp_gym->lock);
    if (last)
        agent_session_free(mcp_gym, session);
}

/* With the lock. */
static struct mcp_agent_session *agent_session_new(struct mcp_gym *mcp_gym, const char *peer)
{
    struct mcp_agent_session *session = mem_alloc(sizeof *session);
    remote_draw_id(session->id);
    snprintf(session->peer, sizeof session->peer, "%s", peer ? peer : "");
    session->turns = json_array();
    session->refs = 1;
    session->next = mcp_gym->sessions;
    mcp_gym->sessions = session;
    mcp_gym->session_count++;
    return session;
}

int mcp_agent_session_find(struct mcp_gym *mcp_gym, const struct mcp_call *call, const char *id,
                           bool make, struct mcp_agent_session **out, struct err *err)
{
    const char *peer = mcp_call_session(call);
    int result = 0;
    pthread_mutex_lock(&mcp_gym->lock);
    struct mcp_agent_session *session = mcp_gym->sessions;
    while (session && !(id     ? strcmp(session->id, id) == 0
                        : peer ? strcmp(session->peer, peer) == 0
                               : false))
        session = session->next;
    if (!session && !id && make) {
        if (mcp_gym->session_count < LIMIT_MCP_SESSIONS)
            session = agent_session_new(mcp_gym, peer);
        else
            result = err_set(err, ERR_LIMIT, "too many sessions; try again later");
    }
    if (session) {
        session->refs++;
        session->used_ns = clock_now_ns();
    }
    pthread_mutex_unlock(&mcp_gym->lock);
    *out = session;
    if (session || result < 0)
        return result;
    if (id)
        return err_set(
            err, ERR_MISSING,
            "no session '%.64s' (it may have ended); submit without one begins a new one", id);
    return peer ? err_set(err, ERR_MISSING, "nothing has been submitted in this session yet")
                : err_set(err, ERR_MISSING, "name the session: `session` in submit's result");
}

/* Removes the first match from the list, and returns the list's reference. */
static struct mcp_agent_session *
agent_session_take(struct mcp_gym *mcp_gym,
                   bool (*meant)(const struct mcp_agent_session *session, const void *what),
                   const void *what)
{
    pthread_mutex_lock(&mcp_gym->lock);
    struct mcp_agent_session **at = &mcp_gym->sessions;
    while (*at && !meant(*at, what))
        at = &(*at)->next;
    struct mcp_agent_session *session = *at;
    if (session) {
        *at = session->next;
        mcp_gym->session_count--;
    }
    pthread_mutex_unlock(&mcp_gym->lock);
    return session;
}

static bool is_of_peer(const struct mcp_agent_session *session, const void *peer)
{
    return strcmp(session->peer, peer) == 0;
}

static bool is_idle(const struct mcp_agent_session *session, const void *idle_ms)
{
    return !*session->peer && session->refs == 1 &&
           clock_ms_since(session->used_ns) > (double)*(const int64_t *)idle_ms;
}

static bool is_any(const struct mcp_agent_session *session, const void *what)
{
    (void)session, (void)what;
    return true;
}

void mcp_agent_session_end_peer(struct mcp_gym *mcp_gym, const char *peer)
{
    struct mcp_agent_session *session = agent_session_take(mcp_gym, is_of_peer, peer);
    if (session)
        mcp_agent_session_unref(mcp_gym, session);
}

void mcp_agent_session_end_idle(struct mcp_gym *mcp_gym)
{
    const int64_t *idle_ms = &mcp_settings(mcp_gym->options.gym->settings)->idle_ms;
    struct mcp_agent_session *session;
    while ((session = agent_session_take(mcp_gym, is_idle, idle_ms)))
        mcp_agent_session_unref(mcp_gym, session);
}

void mcp_agent_session_end_all(struct mcp_gym *mcp_gym)
{
    struct mcp_agent_session *session;
    while ((session = agent_session_take(mcp_gym, is_any, NULL)))
        mcp_agent_session_unref(mcp_gym, session);
}
