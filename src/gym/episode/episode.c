#include "gym/episode/episode.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/episode/config.h"
#include "gym/episode/record.h"
#include "gym/episode/trajectory.h"
#include "gym/feedback/feedback.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "retrieval/retrieval.h"

#include <stdio.h>
#include <string.h>

/* The state: {"schema", "id", "secret", "phase", "end", "configuration", "device", "examples",
 * "started_at", "ended_at", "turns": records, "window": indices of the turns in the conversation
 * (START_PLACE: the initial candidate), "iteration", "messages": of the open turn, "pending":
 * {"answer", "attempt"} of the turn being judged}. */
#define SCHEMA 1
#define MARK_DIGITS 16 /* of an evaluation's id */
#define START_PLACE (-1)

struct episode {
    struct gym *gym;
    json_t *state;
    struct episode_config config; /* borrows from the state */
    struct problem problem;
    json_t *prompt_facts; /* prompt_problem */
};

static const char *const phase_names[] = {"answering", "judging", "done"};

const char *episode_phase_name(enum episode_phase phase)
{
    return phase_names[phase];
}

static const char *state_text(const struct episode *episode, const char *key)
{
    const char *text = json_string_value(json_object_get(episode->state, key));
    return text ? text : "";
}

enum episode_phase episode_phase(const struct episode *episode)
{
    const char *name = state_text(episode, "phase");
    for (int i = 0; i < EPISODE_DONE; i++)
        if (strcmp(name, phase_names[i]) == 0)
            return (enum episode_phase)i;
    return EPISODE_DONE;
}

static void set_phase(struct episode *episode, enum episode_phase phase)
{
    json_put(episode->state, "phase", json_string(phase_names[phase]));
}

static json_t *turns_of(const struct episode *episode)
{
    return json_object_get(episode->state, "turns");
}

int64_t episode_turn(const struct episode *episode)
{
    return (int64_t)json_array_size(turns_of(episode));
}

int64_t episode_turns(const struct episode *episode)
{
    const struct episode_config *config = &episode->config;
    return history_turns(config->turns, config->remain_turns, config->iterations);
}

const struct problem *episode_problem(const struct episode *episode)
{
    return &episode->problem;
}

const json_t *episode_state(const struct episode *episode)
{
    return episode->state;
}

const json_t *episode_record(const struct episode *episode, int64_t turn)
{
    return turn < 0 ? NULL : json_array_get(turns_of(episode), (size_t)turn);
}

static json_t *time_text(void)
{
    char text[CLOCK_TEXT_BYTES];
    clock_text(clock_wall_ms(), text);
    return json_string(text);
}

void episode_end(struct episode *episode, const char *why)
{
    set_phase(episode, EPISODE_DONE);
    json_put(episode->state, "end", json_string(why));
    json_put(episode->state, "ended_at", time_text());
    json_put(episode->state, "messages", json_null());
    json_put(episode->state, "pending", json_null());
}

/* The facts of a turn for the history; `scratch` owns those of the start. */
static void prompt_turn_of(const struct episode *episode, int64_t place, struct prompt_turn *turn,
                           struct arena *scratch, json_t *facts)
{
    *turn = (struct prompt_turn){.answer = "", .thought = ""};
    if (place == START_PLACE) {
        const json_t *start = episode->config.start;
        struct verdict verdict;
        const struct language *language = language_named(episode->config.prompt.language);
        turn->code = json_string_value(json_object_get(start, "code"));
        turn->answer = arena_printf(scratch, "<KERNEL>\n```%s\n%s\n```\n</KERNEL>",
                                    language ? language->fence : "", turn->code);
        bool judged = trajectory_verdict(start, &verdict);
        turn->facts = feedback_facts(judged ? &verdict : NULL, turn->code);
        verdict_deinit(&verdict);
        json_array_append_new(facts, (json_t *)turn->facts);
        return;
    }
    const json_t *record = episode_record(episode, place);
    const char *code = json_string_value(json_object_get(record, "code"));
    turn->answer = json_string_value(json_object_get(record, "answer"));
    turn->thought = json_string_value(json_object_get(record, "thought"));
    turn->code = code && *code ? code : NULL;
    turn->facts = json_object_get(record, "facts");
    turn->reward = json_number_value(json_object_get(record, "reward"));
}

static int make_messages(struct episode *episode, struct err *err)
{
    const json_t *window = json_object_get(episode->state, "window");
    size_t count = json_array_size(window);
    struct prompt_turn *turns = mem_alloc((count + 1) * sizeof *turns);
    struct arena scratch = {0};
    json_t *facts = json_array(), *messages;
    for (size_t i = 0; i < count; i++)
        prompt_turn_of(episode, json_integer_value(json_array_get(window, i)), &turns[i], &scratch,
                       facts);
    const json_t *examples = json_object_get(episode->state, "examples");
    int result = prompts_messages(episode->gym->prompts, &episode->config.prompt,
                                  episode->prompt_facts, json_object_get(episode->state, "device"),
                                  json_is_array(examples) ? examples : NULL, turns, count,
                                  &messages, err);
    if (result == 0)
        json_put(episode->state, "messages", messages);
    json_decref(facts);
    arena_deinit(&scratch);
    mem_free(turns);
    return result;
}

int episode_messages(struct episode *episode, json_t **messages, struct err *err)
{
    if (episode_phase(episode) != EPISODE_ANSWERING)
        return err_set(err, ERR_INPUT, "episode %s is %s: no answer is expected",
                       state_text(episode, "id"), state_text(episode, "phase"));
    *messages = json_incref(json_object_get(episode->state, "messages"));
    return 0;
}

static struct episode *new_episode(struct gym *gym, json_t *state)
{
    struct episode *episode = mem_alloc(sizeof *episode);
    episode->gym = gym;
    episode->state = state;
    return episode;
}

void episode_free(struct episode *episode)
{
    if (!episode)
        return;
    json_decref(episode->prompt_facts);
    json_decref(episode->state);
    problem_deinit(&episode->problem);
    mem_free(episode);
}

static int find_examples(struct episode *episode, struct err *err)
{
    char *title = retrieval_title(&episode->problem);
    const struct retrieval_query query = {.text = episode->problem.reference_text,
                                          .title = title,
                                          .language = episode->config.prompt.language,
                                          .problem_id = episode->problem.id,
                                          .count = (size_t)episode->config.retrieve};
    json_t *examples;
    int result = 0;
    if (query.count > 0 && episode->gym->retrieval) {
        result = retrieval_search(episode->gym->retrieval, &query, &examples, err);
        if (result == 0)
            json_put(episode->state, "examples", examples);
    }
    mem_free(title);
    return result;
}

/* Two episodes with the same id have different evaluations. */
static json_t *draw_secret(void)
{
    char text[2 * 16 + 1];
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)clock_secret(),
             (unsigned long long)clock_secret());
    return json_string(text);
}

/* The parts of every state, before its first turn. */
static json_t *first_state(const char *id, const struct gym *gym, json_t *configuration)
{
    json_t *state = json_object();
    json_put(state, "schema", json_integer(SCHEMA));
    json_put(state, "id", json_text(id));
    json_put(state, "secret", draw_secret());
    json_put(state, "phase", json_string(phase_names[EPISODE_ANSWERING]));
    json_put(state, "end", json_string(""));
    json_put(state, "configuration", configuration);
    json_put(state, "device", gym_device(gym));
    json_put(state, "examples", json_null());
    json_put(state, "started_at", time_text());
    json_put(state, "ended_at", json_string(""));
    json_put(state, "turns", json_array());
    json_put(state, "iteration", json_integer(1));
    json_put(state, "messages", json_null());
    json_put(state, "pending", json_null());
    json_t *window = json_array();
    if (json_is_object(json_object_get(configuration, "start")))
        json_array_append_new(window, json_integer(START_PLACE));
    json_put(state, "window", window);
    return state;
}

/* The id is used in paths, at least of URLs. */
static bool is_id(const char *id)
{
    return evaluation_is_id(id) && strlen(id) <= LIMIT_EPISODE_ID_BYTES && !strchr(id, '/') &&
           strcmp(id, ".") != 0 && strcmp(id, "..") != 0;
}

int episode_new(struct episode **out, struct gym *gym, const char *id, const json_t *configuration,
                struct err *err)
{
    json_t *resolved;
    struct episode *episode = new_episode(gym, NULL);
    int result = 0;
    if (!is_id(id))
        result = err_set(err, ERR_INPUT,
                         "an episode's id has 1 to %d bytes of UTF-8, without '/' and control "
                         "characters, and is not '.' or '..'",
                         LIMIT_EPISODE_ID_BYTES);
    if (result == 0)
        result = episode_config_resolve(gym, configuration, &resolved, &episode->problem, err);
    if (result == 0) {
        episode->state = first_state(id, gym, resolved);
        episode->prompt_facts = prompt_problem(&episode->problem);
        result = episode_config_read(resolved, &episode->config, err);
    }
    if (result == 0)
        result = find_examples(episode, err);
    if (result == 0)
        result = make_messages(episode, err);
    if (result < 0) {
        episode_free(episode);
        return result;
    }
    *out = episode;
    return 0;
}

/* ERR_PROTOCOL: `object` lacks a key that is read unchecked. */
static int check_parts(const json_t *object, const char *const *keys, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!json_object_get(object, keys[i]))
            return err_set(err, ERR_PROTOCOL, "'%s' is missing", keys[i]);
    return 0;
}

static int check_turns(const json_t *turns, struct err *err)
{
    static const char *const keys[] = {"turn",         "prompt",   "code",       "status",
                                       "format_ok",    "compiled", "correct",    "speedup",
                                       "reward",       "excluded", "violations", "feedback",
                                       "reward_parts", "facts",    "evaluation"};
    const char *text;
    int result = 0;
    for (size_t i = 0; result == 0 && i < json_array_size(turns); i++) {
        const json_t *record = json_array_get(turns, i);
        result = json_get_string(record, "answer", &text, err);
        if (result == 0)
            result = check_parts(record, keys, COUNT(keys), err);
    }
    return result;
}

/* The state that the phase needs. */
static int check_open(const json_t *state, struct err *err)
{
    static const char *const keys[] = {"usage", "logprobs", "tokens", "answer_ms"};
    json_t *pending, *answer = NULL, *messages;
    const char *phase, *text;
    int result = json_get_string(state, "phase", &phase, err);
    if (result == 0 && strcmp(phase, phase_names[EPISODE_DONE]) != 0)
        result = json_get_array(state, "messages", &messages, err);
    if (result < 0 || strcmp(phase, phase_names[EPISODE_JUDGING]) != 0)
        return result;
    result = json_get_object(state, "pending", &pending, err);
    if (result == 0)
        result = json_get_object(pending, "answer", &answer, err);
    if (result == 0)
        result = json_get_string(answer, "text", &text, err);
    return result < 0 ? result : check_parts(answer, keys, COUNT(keys), err);
}

/* Checks a stored state just enough for the code below. */
static int check_state(const json_t *state, struct err *err)
{
    int64_t schema;
    const char *text;
    json_t *part;
    int result = json_get_int(state, "schema", &schema, err);
    if (result == 0 && schema != SCHEMA)
        return err_set(err, ERR_UNSUPPORTED,
                       "this episode's state has schema %lld; this warpgym reads %d",
                       (long long)schema, SCHEMA);
    if (result == 0)
        result = json_get_string(state, "id", &text, err);
    if (result == 0)
        result = json_get_object(state, "configuration", &part, err);
    if (result == 0)
        result = json_get_array(state, "turns", &part, err);
    if (result == 0)
        result = check_turns(part, err);
    if (result == 0)
        result = json_get_array(state, "window", &part, err);
    if (result == 0)
        result = check_open(state, err);
    return result < 0 ? err_set(err, ERR_PROTOCOL, "not the state of an episode: %s", err->text)
                      : 0;
}

int episode_load(struct episode **out, struct gym *gym, const json_t *state, struct err *err)
{
    int result = check_state(state, err);
    if (result < 0)
        return result;
    struct episode *episode = new_episode(gym, json_deep_copy(state));
    const json_t *resolved = json_object_get(episode->state, "configuration");
    result = episode_config_read(resolved, &episode->config, err);
    if (result == 0)
        result = episode_config_problem(gym, resolved, &episode->problem, err);
    if (result < 0) {
        episode_free(episode);
        return result;
    }
    episode->prompt_facts = prompt_problem(&episode->problem);
    *out = episode;
    return 0;
}

static struct history_worth worth_of(const struct episode *episode, const json_t *record)
{
    enum history_value by = episode->config.select_by;
    const json_t *parts = json_object_get(record, "reward_parts");
    double reward = json_number_value(json_object_get(record, "reward"));
    double coverage = json_number_value(json_object_get(parts, "coverage"));
    const struct history_worth worth[] = {
        [HISTORY_REWARD] = {.first = reward},
        [HISTORY_SPEEDUP] = {.first = json_number_value(json_object_get(record, "speedup"))},
        [HISTORY_COVERAGE] = {.first = coverage},
        [HISTORY_COVERAGE_REWARD] = {coverage, reward},
    };
    return worth[by];
}

/* Adds a turn to the conversation, or starts another iteration with a part of the history. False:
 * all iterations are over. */
static bool open_next_turn(struct episode *episode)
{
    json_t *state = episode->state, *window = json_object_get(state, "window");
    const struct episode_config *config = &episode->config;
    size_t count = json_array_size(turns_of(episode)), chosen;
    int64_t iteration = json_integer_value(json_object_get(state, "iteration"));
    size_t begun = json_is_object((json_t *)config->start) &&
                   json_integer_value(json_array_get(window, 0)) == START_PLACE;
    json_array_append_new(window, json_integer((json_int_t)count - 1));
    if (json_array_size(window) - begun < (size_t)config->turns)
        return true;
    if (iteration >= config->iterations)
        return false;
    struct history_worth *worth = mem_alloc((count + 1) * sizeof *worth);
    size_t *places = mem_alloc((size_t)(config->remain_turns + 1) * sizeof *places);
    for (size_t i = 0; i < count; i++)
        worth[i] = worth_of(episode, json_array_get(turns_of(episode), i));
    chosen = history_choose(config->select, worth, count, (size_t)config->remain_turns, places);
    json_array_clear(window);
    for (size_t i = 0; i < chosen; i++)
        json_array_append_new(window, json_integer((json_int_t)places[i]));
    json_put(state, "iteration", json_integer(iteration + 1));
    mem_free(worth);
    mem_free(places);
    return true;
}

static bool is_solved(const struct episode *episode, const json_t *record)
{
    const struct episode_config *config = &episode->config;
    double speedup = json_number_value(json_object_get(record, "speedup"));
    bool fast = config->stop_speedup > 0 && (!config->timing || speedup >= config->stop_speedup);
    return json_is_true(json_object_get(record, "correct")) && (config->stop_correct || fast);
}

static int next_turn_or_iteration(struct episode *episode, const json_t *record, struct err *err)
{
    int result = 0;
    if (is_solved(episode, record))
        episode_end(episode, "solved");
    else if (json_is_true(json_object_get(record, "excluded")))
        episode_end(episode, "error");
    else if (!open_next_turn(episode))
        episode_end(episode, "turns");
    else if ((result = make_messages(episode, err)) == ERR_LIMIT)
        episode_end(episode, "budget");
    else if (result < 0)
        episode_end(episode, "error");
    else
        set_phase(episode, EPISODE_ANSWERING);
    return result == ERR_LIMIT ? 0 : result;
}

/* An unpredictable suffix: an evaluation submitted under a guessed id would be taken for this
 * turn's. */
static void evaluation_id(const struct episode *episode, char *id, size_t id_bytes)
{
    const json_t *pending = json_object_get(episode->state, "pending");
    char mark[HASH_HEX_BYTES];
    snprintf(id, id_bytes, "%.*s-%lld-%lld", LIMIT_EPISODE_ID_BYTES, state_text(episode, "id"),
             (long long)episode_turn(episode),
             (long long)json_integer_value(json_object_get(pending, "attempt")));
    struct hash *hash = hash_new();
    hash_update_string(hash, state_text(episode, "secret"));
    hash_update_string(hash, id);
    hash_finish(hash, mark);
    size_t length = strlen(id);
    snprintf(id + length, id_bytes - length, "-%.*s", MARK_DIGITS, mark);
}

/* `verdict` NULL: there was no code. */
static int end_turn(struct episode *episode, const struct parsed *parsed,
                    const struct verdict *verdict, struct err *err)
{
    const json_t *pending = json_object_get(episode->state, "pending");
    const json_t *answer = json_object_get(pending, "answer");
    char id[LIMIT_JOB_ID_BYTES + 1] = "", *feedback;
    json_t *facts = feedback_facts(verdict, parsed->code);
    episode_record_warn(answer, parsed, json_object_get(facts, "warnings"));
    const struct prompt_turn shown = {.answer = json_string_value(json_object_get(answer, "text")),
                                      .thought = parsed->thought,
                                      .code = parsed->code,
                                      .facts = facts};
    int result = prompts_feedback(episode->gym->prompts, &episode->config.prompt, &shown, &feedback,
                                  err);
    if (result == 0) {
        if (verdict)
            evaluation_id(episode, id, sizeof id);
        const struct episode_turn turn = {.number = episode_turn(episode),
                                          .prompt = json_object_get(episode->state, "messages"),
                                          .answer = answer,
                                          .parsed = parsed,
                                          .verdict = verdict,
                                          .facts = facts,
                                          .feedback = feedback,
                                          .evaluation = id};
        json_t *record = episode_record_turn(&episode->config, &turn);
        mem_free(feedback);
        json_array_append_new(turns_of(episode), record);
        json_put(episode->state, "pending", json_null());
        result = next_turn_or_iteration(episode, record, err);
    }
    json_decref(facts);
    return result;
}

json_t *episode_request(const struct episode *episode)
{
    const json_t *pending = json_object_get(episode->state, "pending");
    const json_t *answer = json_object_get(pending, "answer");
    struct parsed parsed;
    char id[LIMIT_JOB_ID_BYTES + 1];
    if (!answer)
        return NULL;
    evaluation_id(episode, id, sizeof id);
    episode_record_parse(answer, episode->config.prompt.language, &parsed);
    json_t *request = parsed.code ? episode_config_request(&episode->config, id, parsed.code)
                                  : NULL;
    parse_deinit(&parsed);
    return request;
}

int episode_answer(struct episode *episode, const json_t *answer, json_t **request, struct err *err)
{
    struct parsed parsed;
    json_t *kept;
    *request = NULL;
    if (episode_phase(episode) != EPISODE_ANSWERING)
        return err_set(err, ERR_INPUT, "episode %s is %s: no answer is expected",
                       state_text(episode, "id"), state_text(episode, "phase"));
    int result = episode_record_answer(answer, &kept, err);
    if (result < 0)
        return result;
    json_put(episode->state, "pending", json_pack("{s:o, s:i}", "answer", kept, "attempt", 0));
    episode_record_parse(kept, episode->config.prompt.language, &parsed);
    if (parsed.code) {
        set_phase(episode, EPISODE_JUDGING);
        *request = episode_request(episode);
    } else {
        result = end_turn(episode, &parsed, NULL, err);
    }
    parse_deinit(&parsed);
    return result;
}

int episode_give_up(struct episode *episode, const json_t *answer, struct err *err)
{
    const json_t *pending = json_object_get(episode->state, "pending");
    const char *text = json_text_at(answer ? answer : json_object_get(pending, "answer"), "text");
    struct parsed parsed = {.thought = mem_strdup("")};
    json_t *kept = NULL;
    json_t *part = json_pack("{s:o, s:b}", "text",
                             json_text_bytes(text,
                                             utf8_cut(text, strlen(text), EPISODE_KEPT_BYTES)),
                             "cut", 1);
    int result = episode_record_answer(part, &kept, err);
    if (result == 0 && episode_phase(episode) == EPISODE_DONE)
        result = err_set(err, ERR_INPUT, "episode %s is done", state_text(episode, "id"));
    if (result == 0) {
        json_put(episode->state, "pending", json_pack("{s:O, s:i}", "answer", kept, "attempt", 0));
        result = end_turn(episode, &parsed, NULL, err);
        episode_end(episode, "budget");
    }
    json_decref(kept);
    json_decref(part);
    parse_deinit(&parsed);
    return result;
}

/* Whether another judge, or a later attempt, might decide. */
static bool is_inconclusive(const struct verdict *verdict)
{
    return verdict->status == STATUS_INFRASTRUCTURE_ERROR || verdict->status == STATUS_CANCELLED;
}

int episode_verdict(struct episode *episode, const struct verdict *verdict, struct err *err)
{
    struct parsed parsed;
    json_t *pending = json_object_get(episode->state, "pending");
    if (episode_phase(episode) != EPISODE_JUDGING)
        return err_set(err, ERR_INPUT, "episode %s is %s: no verdict is expected",
                       state_text(episode, "id"), state_text(episode, "phase"));
    int64_t attempt = json_integer_value(json_object_get(pending, "attempt"));
    if (is_inconclusive(verdict) && attempt + 1 < EPISODE_ATTEMPTS) {
        json_put(pending, "attempt", json_integer(attempt + 1));
        return err_set(err, ERR_IO, "turn %lld of episode %s was not judged (%s)",
                       (long long)episode_turn(episode), state_text(episode, "id"),
                       verdict_status_name(verdict->status));
    }
    episode_record_parse(json_object_get(pending, "answer"), episode->config.prompt.language,
                         &parsed);
    int result = end_turn(episode, &parsed, verdict, err);
    parse_deinit(&parsed);
    return result;
}

json_t *episode_trajectory(const struct episode *episode)
{
    return episode_record_trajectory(episode->state, &episode->config, &episode->problem);
}
