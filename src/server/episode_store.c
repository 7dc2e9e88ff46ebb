#include "server/episode_store.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "gym/episode/trajectory.h"
#include "gym/prompt/fit.h"
#include "problem/problem.h"

#include <stdio.h>
#include <string.h>

#define NAME_PREFIX "episode:"
#define NAME_BYTES (LIMIT_EPISODE_ID_BYTES + sizeof NAME_PREFIX)

void stored_deinit(struct stored *stored)
{
    episode_free(stored->episode);
    json_decref(stored->notes);
}

static int name_of(const char *id, char name[NAME_BYTES], struct err *err)
{
    if (strlen(id) > LIMIT_EPISODE_ID_BYTES)
        return err_set(err, ERR_MISSING, "no episode has that id");
    snprintf(name, NAME_BYTES, NAME_PREFIX "%s", id);
    return 0;
}

static int read_document(const json_t *document, struct gym *gym, struct stored *stored,
                         struct err *err)
{
    json_t *state, *notes = NULL;
    int result = json_get_object(document, "state", &state, err);
    if (result == 0)
        result = json_find_object(document, "notes", &notes, err);
    if (result == 0)
        result = json_get_int(document, "expires_s", &stored->expires_s, err);
    if (result == 0)
        result = json_get_int(document, "expires_ms", &stored->expires_ms, err);
    if (result == 0)
        result = episode_load(&stored->episode, gym, state, err);
    if (result == 0)
        stored->notes = json_incref(notes);
    return result;
}

int episode_store_get(struct queue *queue, struct gym *gym, const char *id, struct stored *stored,
                      struct err *err)
{
    char name[NAME_BYTES];
    struct queue_document found;
    json_t *document = NULL;
    int result = name_of(id, name, err);
    if (result < 0)
        return result;
    result = queue_document_get(queue, name, &found, err);
    if (result == ERR_MISSING)
        return err_set(err, ERR_MISSING,
                       "no episode '%s' (episodes expire some time after their last step)", id);
    if (result < 0)
        return result;
    stored->version = found.version;
    result = json_parse("episode", found.bytes, found.count, &document, err);
    if (result == 0)
        result = read_document(document, gym, stored, err);
    json_decref(document);
    queue_document_deinit(&found);
    return result;
}

int episode_store_put(struct queue *queue, struct stored *stored, bool *written, struct err *err)
{
    const json_t *state = episode_state(stored->episode);
    char name[NAME_BYTES];
    struct buf text;
    json_t *document = json_object();
    int result = name_of(json_string_value(json_object_get(state, "id")), name, err);
    json_put(document, "state", json_incref((json_t *)state));
    json_put(document, "notes", stored->notes ? json_incref(stored->notes) : json_null());
    stored->expires_ms = clock_wall_ms() + stored->expires_s * 1000;
    json_put(document, "expires_s", json_integer(stored->expires_s));
    json_put(document, "expires_ms", json_integer(stored->expires_ms));
    buf_init(&text, LIMIT_QUEUE_BODY_BYTES);
    if (result == 0)
        result = json_line_write(document, &text, err);
    if (result == 0)
        result = queue_document_put(queue, name, text.data, text.len, stored->version,
                                    stored->expires_s * 1000, written, err);
    /* only a get returns a new document's version */
    if (result == 0 && *written && stored->version != 0)
        stored->version++;
    buf_deinit(&text);
    json_decref(document);
    return result;
}

int episode_store_remove(struct queue *queue, const char *id, bool *removed, struct err *err)
{
    char name[NAME_BYTES];
    int result = name_of(id, name, err);
    return result < 0 ? result : queue_document_remove(queue, name, removed, err);
}

json_t *episode_step_view(const struct stored *stored, int64_t turn)
{
    static const char *const keys[] = {"turn",    "reward",     "reward_parts", "excluded",
                                       "status",  "violations", "format_ok",    "compiled",
                                       "correct", "speedup",    "feedback",     "evaluation",
                                       "verdict"};
    const struct episode *episode = stored->episode;
    const json_t *record = episode_record(episode, turn);
    const char *end = json_string_value(json_object_get(episode_state(episode), "end"));
    bool done = episode_phase(episode) == EPISODE_DONE && turn + 1 == episode_turn(episode);
    bool solved = end && strcmp(end, "solved") == 0;
    if (!record)
        return json_null();
    json_t *step = json_object();
    for (size_t i = 0; i < COUNT(keys); i++)
        json_put(step, keys[i], json_incref(json_object_get(record, keys[i])));
    json_put(step, "terminated", json_boolean(done && solved));
    json_put(step, "truncated", json_boolean(done && !solved));
    return step;
}

static json_t *observation_of(const struct episode *episode)
{
    json_t *messages;
    struct err ignored;
    if (episode_messages((struct episode *)episode, &messages, &ignored) < 0)
        return json_null();
    json_int_t tokens = prompt_tokens(messages);
    return json_pack("{s:o, s:I}", "messages", messages, "tokens", tokens);
}

static void put_end(json_t *view, const struct stored *stored)
{
    json_t *trajectory = episode_trajectory(stored->episode), *returns = json_array(), *turn;
    size_t at;
    json_array_foreach(json_object_get(trajectory, "turns"), at, turn)
    {
        json_array_append_new(returns, json_incref(json_object_get(turn, "return")));
    }
    json_put(view, "end", json_incref(json_object_get(trajectory, "end")));
    json_put(view, "returns", returns);
    json_put(view, "trajectory", trajectory);
}

json_t *episode_view(const struct stored *stored)
{
    const struct episode *episode = stored->episode;
    const struct problem *problem = episode_problem(episode);
    const json_t *state = episode_state(episode);
    enum episode_phase phase = episode_phase(episode);
    json_t *view = json_object();
    json_put(view, "id", json_incref(json_object_get(state, "id")));
    json_put(view, "state", json_string(episode_phase_name(phase)));
    json_put(view, "turn", json_integer(episode_turn(episode)));
    json_put(view, "turns", json_integer(episode_turns(episode)));
    json_put(view, "problem", json_pack("{s:s, s:s}", "id", problem->id, "hash", problem->hash));
    json_put(view, "step", episode_step_view(stored, episode_turn(episode) - 1));
    json_put(view, "observation", observation_of(episode));
    json_put(view, "expires_at", json_time(stored->expires_ms));
    json_put(view, "notes", stored->notes ? json_incref(stored->notes) : json_null());
    if (phase == EPISODE_DONE)
        put_end(view, stored);
    return view;
}
