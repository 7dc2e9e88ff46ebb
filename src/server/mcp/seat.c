/* Sessions of agents, and what each of them has under way. */
#include "server/mcp/gym_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/remote.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 100

/* -------------------------------------------------------------------------------------- tracks */

void mcp_track_end(struct mcp_gym *house, struct mcp_track *track)
{
    struct err err;
    if (house->record && mcp_record_end(house->record, track->episode, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "mcp", "an episode is not recorded", "why", err.text, NULL);
    episode_free(track->episode);
    track->episode = NULL;
}

static void track_free(struct mcp_gym *house, struct mcp_track *track)
{
    if (track->episode) {
        episode_end(track->episode, "expired");
        mcp_track_end(house, track);
    }
    json_decref(track->row);
    json_decref(track->verdict);
    json_decref(track->best);
    mem_free(track->problem);
    mem_free(track->language);
    mem_free(track);
}

/* With the lock held. */
static struct mcp_track *track_of(struct mcp_seat *seat, const char *problem, const char *language)
{
    struct mcp_track **at = &seat->tracks;
    while (*at && (strcmp((*at)->problem, problem) != 0 || strcmp((*at)->language, language) != 0))
        at = &(*at)->next;
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        (*at)->problem = mem_strdup(problem);
        (*at)->language = mem_strdup(language);
    }
    return *at;
}

int mcp_track_take(struct mcp_gym *house, struct mcp_seat *seat, const char *problem,
                   const char *language, const _Atomic int *stop, struct mcp_track **track,
                   struct err *err)
{
    pthread_mutex_lock(&house->lock);
    *track = track_of(seat, problem, language);
    while ((*track)->busy && !*stop) {
        struct timespec until = clock_in_ms(LOOK_MS);
        pthread_cond_timedwait(&house->freed, &house->lock, &until);
    }
    bool taken = !(*track)->busy && !*stop;
    if (taken)
        (*track)->busy = true;
    pthread_mutex_unlock(&house->lock);
    return taken ? 0 : err_set(err, ERR_CANCELLED, "cancelled");
}

void mcp_track_give_back(struct mcp_gym *house, struct mcp_track *track)
{
    pthread_mutex_lock(&house->lock);
    track->busy = false;
    pthread_cond_broadcast(&house->freed);
    pthread_mutex_unlock(&house->lock);
}

/* --------------------------------------------------------------------------------------- seats */

static void seat_free(struct mcp_gym *house, struct mcp_seat *seat)
{
    while (seat->tracks) {
        struct mcp_track *track = seat->tracks;
        seat->tracks = track->next;
        track_free(house, track);
    }
    json_decref(seat->turns);
    mem_free(seat);
}

void mcp_seat_unref(struct mcp_gym *house, struct mcp_seat *seat)
{
    pthread_mutex_lock(&house->lock);
    seat->used_ns = clock_now_ns();
    bool last = --seat->refs == 0;
    pthread_mutex_unlock(&house->lock);
    if (last)
        seat_free(house, seat);
}

/* With the lock held. */
static struct mcp_seat *seat_new(struct mcp_gym *house, const char *peer)
{
    struct mcp_seat *seat = mem_alloc(sizeof *seat);
    remote_draw_id(seat->id);
    snprintf(seat->peer, sizeof seat->peer, "%s", peer ? peer : "");
    seat->turns = json_array();
    seat->refs = 1;
    seat->next = house->seats;
    house->seats = seat;
    house->seat_count++;
    return seat;
}

int mcp_seat_find(struct mcp_gym *house, const struct mcp_call *call, const char *id, bool make,
                  struct mcp_seat **out, struct err *err)
{
    const char *peer = mcp_call_session(call);
    int result = 0;
    pthread_mutex_lock(&house->lock);
    struct mcp_seat *seat = house->seats;
    while (seat && !(id ? strcmp(seat->id, id) == 0 : peer ? strcmp(seat->peer, peer) == 0 : false))
        seat = seat->next;
    if (!seat && !id && make) {
        if (house->seat_count < LIMIT_MCP_SESSIONS)
            seat = seat_new(house, peer);
        else
            result = err_set(err, ERR_LIMIT, "there are too many sessions; try again later");
    }
    if (seat) {
        seat->refs++;
        seat->used_ns = clock_now_ns();
    }
    pthread_mutex_unlock(&house->lock);
    *out = seat;
    if (seat || result < 0)
        return result;
    if (id)
        return err_set(err, ERR_MISSING,
                       "session '%.64s' is not there (any longer); submit without one begins anew",
                       id);
    return peer ? err_set(err, ERR_MISSING, "nothing has been submitted in this session yet")
                : err_set(err, ERR_MISSING,
                          "name the session: `session` of what submit has answered");
}

/* Takes the first one that is meant out of the list, and its reference with it. */
static struct mcp_seat *take_seat(struct mcp_gym *house,
                                  bool (*meant)(const struct mcp_seat *seat, const void *what),
                                  const void *what)
{
    pthread_mutex_lock(&house->lock);
    struct mcp_seat **at = &house->seats;
    while (*at && !meant(*at, what))
        at = &(*at)->next;
    struct mcp_seat *seat = *at;
    if (seat) {
        *at = seat->next;
        house->seat_count--;
    }
    pthread_mutex_unlock(&house->lock);
    return seat;
}

static bool is_of_peer(const struct mcp_seat *seat, const void *peer)
{
    return strcmp(seat->peer, peer) == 0;
}

static bool is_idle(const struct mcp_seat *seat, const void *idle_ms)
{
    return !*seat->peer && seat->refs == 1 &&
           clock_ms_since(seat->used_ns) > (double)*(const int64_t *)idle_ms;
}

static bool is_any(const struct mcp_seat *seat, const void *what)
{
    (void)seat, (void)what;
    return true;
}

void mcp_seat_over(struct mcp_gym *house, const char *peer)
{
    struct mcp_seat *seat = take_seat(house, is_of_peer, peer);
    if (seat)
        mcp_seat_unref(house, seat);
}

void mcp_seat_end_idle(struct mcp_gym *house)
{
    const int64_t *idle_ms = &house->options.gym->settings->mcp_idle_ms;
    struct mcp_seat *seat;
    while ((seat = take_seat(house, is_idle, idle_ms)))
        mcp_seat_unref(house, seat);
}

void mcp_seat_end_all(struct mcp_gym *house)
{
    struct mcp_seat *seat;
    while ((seat = take_seat(house, is_any, NULL)))
        mcp_seat_unref(house, seat);
}
