/* Submissions: turns of episodes, and a session's record of them. */
#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/evaluator.h"
#include "client/remote.h"
#include "gym/answer/parse.h"
#include "judge/profile_text.h"
#include "judge/request/language.h"
#include "judge/verdict.h"
#include "server/mcp/gym_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define EPISODE_TURNS 64
#define HISTORY 20
#define TEXT_BYTES ((size_t)8 << 20)

static size_t longest_run(const char *text, char what)
{
    size_t longest = 0, run = 0;
    for (; *text; text++) {
        run = *text == what ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* The source as a model's answer: what is one already stays as it is. */
static char *answer_of(const char *source, const char *language)
{
    if (!parse_is_source(source, strlen(source), language))
        return mem_strdup(source);
    size_t run = longest_run(source, '`') + 1;
    int ticks = run < 3 ? 3 : (int)run;
    char *fence = mem_alloc((size_t)ticks + 1);
    memset(fence, '`', (size_t)ticks);
    char *text = mem_printf("%s%s\n%s%s%s\n", fence, language_named(language)->fence, source,
                            text_ends_with(source, "\n") ? "" : "\n", fence);
    mem_free(fence);
    return text;
}

/* Whether tags in a source made the request's another one; of an answer, of white space and of what
 * is too long that need not be asked. */
static bool is_torn(const json_t *request, const char *source, const char *language)
{
    static const char white[] = " \t\r\n";
    const char *taken = mcp_text_of(json_object_get(request, "candidate"), "source");
    size_t length, count;
    source += strspn(source, white);
    length = strlen(source);
    if (length == 0 || length > LIMIT_SOURCE_BYTES || !parse_is_source(source, length, language))
        return false;
    if (!taken)
        return true;
    taken += strspn(taken, white);
    count = strlen(taken);
    while (strchr(white, source[length - 1]))
        length--;
    while (count > 0 && strchr(white, taken[count - 1]))
        count--;
    return length != count || memcmp(source, taken, count) != 0;
}

static int begin_episode(struct mcp_gym *mcp_gym, const struct mcp_call *call,
                         struct mcp_track *track, struct err *err)
{
    char id[REMOTE_ID_BYTES];
    remote_draw_id(id);
    json_t *configuration = json_pack("{s:{s:o}, s:o, s:i, s:f, s:{s:i}, s:{s:s, s:o}}", "problem",
                                      "id", json_text(track->problem), "language",
                                      json_text(track->language), "turns", EPISODE_TURNS,
                                      "stop_speedup", 0.0, "history", "iterations", 1, "labels",
                                      "policy", "mcp", "model", json_text(mcp_call_client(call)));
    int result = episode_new(&track->episode, mcp_gym->options.gym, id, configuration, err);
    json_decref(configuration);
    return result;
}

/* Restores the episode as it was before an answer that was not judged. A server may still have
 * evaluations of that answer under the episode's id, so the episode gets a new one. */
static void restore_episode(struct mcp_gym *mcp_gym, struct mcp_track *track, json_t *before)
{
    char id[REMOTE_ID_BYTES];
    struct err err;
    const char *old = mcp_text_of(episode_state(track->episode), "id");
    bool kept = mcp_gym->recorder && episode_turn(track->episode) > 0;
    if (mcp_gym->recorder)
        mcp_recorder_forget(mcp_gym->recorder, old);
    remote_draw_id(id);
    json_put(before, "id", json_string(id));
    episode_free(track->episode);
    track->episode = NULL;
    if (episode_load(&track->episode, mcp_gym->options.gym, before, &err) < 0 ||
        (kept && mcp_recorder_save(mcp_gym->recorder, track->episode, &err) < 0))
        log_event(LOG_LEVEL_ERROR, "mcp", "cannot continue an episode", "why", err.text, NULL);
}

static int evaluate_request(struct mcp_gym *mcp_gym, struct mcp_call *call, const json_t *request,
                            struct verdict *verdict, struct err *err)
{
    mcp_call_progress(call, "judging");
    int result = evaluator_evaluate_until(mcp_gym->options.evaluator, request, mcp_call_stop(call),
                                          verdict, err);
    if (result < 0)
        return result;
    const char *why = verdict->error_message;
    if (verdict->status == STATUS_CANCELLED)
        result = err_set(err, ERR_CANCELLED, "cancelled");
    else if (verdict->status == STATUS_INFRASTRUCTURE_ERROR)
        result = err_set(
            err, ERR_IO,
            "the evaluation failed, which says nothing about your source: %s; submit it again",
            why && *why ? why : "the judge failed");
    return result;
}

static int answer_and_judge(struct mcp_gym *mcp_gym, struct mcp_call *call, struct mcp_track *track,
                            const char *source, struct verdict *verdict, struct err *err)
{
    char *text = answer_of(source, track->language);
    json_t *answer = json_pack("{s:o, s:s, s:o}", "text", json_text(text), "finish", "stop",
                               "model", json_text(mcp_call_client(call)));
    json_t *request = NULL;
    mem_free(text);
    int result = episode_answer(track->episode, answer, &request, err);
    if (result == 0 && is_torn(request, source, track->language))
        result = err_set(err, ERR_INPUT,
                         "this source cannot be separated from an answer around it: remove what "
                         "looks like <think> or <KERNEL> tags");
    if (result == 0 && !request)
        verdict_init_unjudged(verdict, STATUS_UNSUPPORTED, "no_code", "there was no code");
    else if (result == 0)
        result = evaluate_request(mcp_gym, call, request, verdict, err);
    if (result == 0 && request)
        result = episode_verdict(track->episode, verdict, err);
    json_decref(request);
    json_decref(answer);
    return result;
}

/* The row of the turn that has just ended. */
static json_t *row_of(const struct mcp_track *track)
{
    const json_t *record = episode_record(track->episode, episode_turn(track->episode) - 1);
    double speedup = json_number_value(json_object_get(record, "speedup"));
    json_t *row = json_object();
    json_put(row, "episode", json_text(mcp_text_of(episode_state(track->episode), "id")));
    json_put(row, "problem", json_text(track->problem));
    json_put(row, "language", json_text(track->language));
    json_put(row, "turn", json_incref(json_object_get(record, "turn")));
    json_put(row, "status", json_incref(json_object_get(record, "status")));
    json_put(row, "correct", json_incref(json_object_get(record, "correct")));
    json_put(row, "speedup", speedup > 0 ? json_number(speedup) : json_null());
    json_put(row, "reward", json_incref(json_object_get(record, "reward")));
    json_put(row, "source", json_incref(json_object_get(record, "code")));
    json_put(row, "feedback", json_incref(json_object_get(record, "feedback")));
    return row;
}

/* *row is a new reference; verdict_deinit in any case. After an error there was no turn. */
static int take_turn(struct mcp_gym *mcp_gym, struct mcp_call *call, struct mcp_track *track,
                     const char *source, json_t **row, struct verdict *verdict, struct err *err)
{
    int result = track->episode ? 0 : begin_episode(mcp_gym, call, track, err);
    if (result < 0)
        return result;
    json_t *before = json_deep_copy(episode_state(track->episode));
    result = answer_and_judge(mcp_gym, call, track, source, verdict, err);
    if (result < 0) {
        restore_episode(mcp_gym, track, before);
    } else {
        *row = row_of(track);
        if (mcp_gym->recorder)
            result = mcp_recorder_save(mcp_gym->recorder, track->episode, err);
        if (episode_phase(track->episode) == EPISODE_DONE)
            mcp_track_end(mcp_gym, track);
    }
    json_decref(before);
    return result;
}

static double speedup_of(const json_t *row)
{
    return json_number_value(json_object_get(row, "speedup"));
}

static bool is_better(const json_t *row, const json_t *best)
{
    return json_is_true(json_object_get(row, "correct")) &&
           (!best || speedup_of(row) > speedup_of(best));
}

static void replace_json(json_t **place, json_t *value)
{
    json_decref(*place);
    *place = json_incref(value);
}

/* Copies: the session's own rows are accessed under its lock alone. *best is the caller's, NULL
 * if none was correct. */
static void remember_turn(struct mcp_gym *mcp_gym, struct mcp_agent *agent, struct mcp_track *track,
                          const json_t *row, const struct verdict *verdict, json_t **best)
{
    json_t *kept = json_deep_copy(row), *kept_verdict = verdict_json(verdict);
    pthread_mutex_lock(&mcp_gym->lock);
    track->order = ++agent->total;
    json_array_append_new(agent->turns, kept);
    if (is_better(kept, track->best))
        replace_json(&track->best, kept);
    replace_json(&track->row, kept);
    replace_json(&track->verdict, kept_verdict);
    json_decref(kept_verdict);
    if (json_array_size(agent->turns) > LIMIT_MCP_HISTORY)
        json_array_remove(agent->turns, 0);
    *best = track->best ? json_deep_copy(track->best) : NULL;
    pthread_mutex_unlock(&mcp_gym->lock);
}

static json_t *copy_keys(const json_t *row, const char *const *keys, size_t count)
{
    json_t *copy = json_object();
    for (size_t i = 0; i < count; i++)
        json_put(copy, keys[i], json_incref(json_object_get(row, keys[i])));
    return copy;
}

static json_t *submission_json(const struct mcp_agent *agent, const json_t *row,
                               const struct verdict *verdict, const json_t *best)
{
    static const char *const keys[] = {"episode", "problem", "language", "turn",    "status",
                                       "correct", "speedup", "reward",   "feedback"};
    static const char *const best_keys[] = {"episode", "turn", "speedup", "reward"};
    const struct timed_case *first = &verdict->cases[0];
    json_t *object = copy_keys(row, keys, COUNT(keys));
    bool timed = json_is_number(json_object_get(row, "speedup"));
    bool measured = verdict->case_count > 0;
    struct interval speedup;
    verdict_speedup(verdict, &speedup);
    json_put(object, "session", json_text(agent->session));
    json_put(object, "compiled", json_boolean(verdict->compiled));
    json_put(object, "speedup_low", json_number(timed ? speedup.low : NAN));
    json_put(object, "speedup_high", json_number(timed ? speedup.high : NAN));
    json_put(object, "time_ms", json_number(measured ? first->candidate.median : NAN));
    json_put(object, "reference_ms", json_number(measured ? first->reference.median : NAN));
    json_put(object, "violations", verdict_json_at(verdict, "integrity.violations"));
    json_put(object, "evaluation", json_text(verdict_was_judged(verdict) ? verdict->id : ""));
    json_put(object, "best", best ? copy_keys(best, best_keys, COUNT(best_keys)) : json_null());
    return object;
}

static void put_speedup(struct buf *text, const json_t *row)
{
    if (json_is_number(json_object_get(row, "speedup")))
        buf_printf(text, ", %.3gx as fast as the reference", speedup_of(row));
}

static char *submission_text(const struct mcp_call *call, const struct mcp_agent *agent,
                             const json_t *row, const json_t *best)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    buf_printf(&text, "Turn %lld: %s", (long long)json_integer_value(json_object_get(row, "turn")),
               mcp_text_of(row, "status"));
    put_speedup(&text, row);
    buf_printf(&text, "; reward %.4g. ", json_number_value(json_object_get(row, "reward")));
    bool is_best = best && json_equal(best, row);
    if (is_best)
        buf_puts(&text, "This is the best so far.");
    else if (best)
        buf_printf(&text, "The best so far is turn %lld%s",
                   (long long)json_integer_value(json_object_get(best, "turn")),
                   json_is_number(json_object_get(best, "speedup")) ? "" : ".");
    else
        buf_puts(&text, "No submission was correct so far.");
    if (best && !is_best && json_is_number(json_object_get(best, "speedup")))
        buf_printf(&text, " with %.3gx.", speedup_of(best));
    if (mcp_call_is_stateless(call))
        buf_printf(&text, "\nPass session=\"%s\" with the next submission, to history and profile.",
                   agent->session);
    buf_printf(&text, "\n\n%s", mcp_text_of(row, "feedback"));
    return buf_take(&text);
}

/* The language for the problem; NULL: it cannot solve such problems. */
static const char *language_for(const struct problem *problem, const char *named,
                                const char *source, struct err *err)
{
    const char *file = problem->format == PROBLEM_TORCH ? "candidate.py" : "";
    const struct language *language = named ? language_named(named)
                                            : language_of(NULL, file, source);
    if (language->format == problem->format)
        return language->name;
    err_set(err, ERR_INPUT, "arguments.language: %s does not solve %s problems", language->name,
            problem_format_name(problem));
    return NULL;
}

static int submit_to(struct mcp_gym *mcp_gym, struct mcp_call *call, struct mcp_agent *agent,
                     const char *problem, const char *language, const char *source,
                     struct mcp_answer *answer, struct err *err)
{
    struct mcp_track *track;
    struct verdict verdict = {0};
    json_t *row = NULL, *best = NULL;
    mcp_call_progress(call, "waiting");
    int result = mcp_track_take(mcp_gym, agent, problem, language, mcp_call_stop(call), &track,
                                err);
    if (result < 0)
        return result;
    result = take_turn(mcp_gym, call, track, source, &row, &verdict, err);
    if (result == 0)
        remember_turn(mcp_gym, agent, track, row, &verdict, &best);
    mcp_track_give_back(mcp_gym, track);
    if (result == 0) {
        answer->structured = submission_json(agent, row, &verdict, best);
        answer->text = submission_text(call, agent, row, best);
        mcp_call_log(call, MCP_INFO,
                     json_pack("{s:O, s:O, s:O}", "problem", json_object_get(row, "problem"),
                               "status", json_object_get(row, "status"), "speedup",
                               json_object_get(row, "speedup")));
    }
    json_decref(best);
    json_decref(row);
    verdict_deinit(&verdict);
    return result;
}

int mcp_tool_submit(void *context, struct mcp_call *call, const json_t *arguments,
                    struct mcp_answer *answer, struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    const char *source = mcp_text_of(arguments, "source"), *language = NULL;
    struct problem problem = {0};
    struct mcp_agent *agent;
    int result = mcp_problem_load(mcp_gym, mcp_text_of(arguments, "problem"), &problem, err);
    if (result == 0 &&
        !(language = language_for(&problem, mcp_text_of(arguments, "language"), source, err)))
        result = err->code;
    if (result == 0)
        result = mcp_agent_find(mcp_gym, call, mcp_text_of(arguments, "session"), true, &agent,
                                err);
    if (result == 0)
        result = submit_to(mcp_gym, call, agent, problem.id, language, source, answer, err);
    problem_deinit(&problem);
    return result;
}

/* With the lock: the track of the last turn, on `problem` if it is given. */
static const struct mcp_track *latest_track(const struct mcp_agent *agent, const char *problem)
{
    const struct mcp_track *found = NULL;
    for (const struct mcp_track *track = agent->tracks; track; track = track->next)
        if (track->order > (found ? found->order : 0) &&
            (!problem || strcmp(track->problem, problem) == 0))
            found = track;
    return found;
}

static char *profile_text_of(const struct verdict *verdict, const json_t *row)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    buf_printf(&text, "Profile of turn %lld (%s).\n",
               (long long)json_integer_value(json_object_get(row, "turn")),
               mcp_text_of(row, "status"));
    profile_text(verdict, PROFILE_COLUMNS, &text);
    for (uint32_t i = 0; verdict->launched.calls == 0 && i < verdict->kernel_count; i++) {
        const struct kernel_share *kernel = &verdict->kernels[i];
        buf_printf(&text, "%s: %.4g us in %" PRIu64 " launches\n",
                   kernel->name ? kernel->name : "?", kernel->time_us, kernel->launches);
    }
    if (verdict->launched.calls == 0 && verdict->kernel_count == 0)
        buf_puts(&text, "No profile: profiling follows correctness and timing.");
    return buf_take(&text);
}

static json_t *profile_json(const json_t *row, const struct verdict *verdict, const char *text)
{
    static const char *const keys[] = {"episode", "problem", "language", "turn", "status"};
    json_t *object = copy_keys(row, keys, COUNT(keys));
    json_put(object, "text", json_text(text));
    json_put(object, "kernels", verdict_json_at(verdict, "profile.kernels"));
    json_put(object, "own_time_fraction", json_number(verdict->own_time_fraction));
    return object;
}

int mcp_tool_profile(void *context, struct mcp_call *call, const json_t *arguments,
                     struct mcp_answer *answer, struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    const char *problem = mcp_text_of(arguments, "problem");
    struct mcp_agent *agent;
    int result = mcp_agent_find(mcp_gym, call, mcp_text_of(arguments, "session"), false, &agent,
                                err);
    if (result < 0)
        return result;
    pthread_mutex_lock(&mcp_gym->lock);
    const struct mcp_track *track = latest_track(agent, problem);
    json_t *row = track ? json_deep_copy(track->row) : NULL;
    json_t *json = track ? json_deep_copy(track->verdict) : NULL;
    pthread_mutex_unlock(&mcp_gym->lock);
    struct verdict verdict = {0};
    if (row && (result = verdict_read(json, &verdict, err)) == 0) {
        answer->text = profile_text_of(&verdict, row);
        answer->structured = profile_json(row, &verdict, answer->text);
    } else if (!row) {
        result = err_set(err, ERR_MISSING, "nothing has been submitted%s%.128s in this session yet",
                         problem ? " for " : "", problem ? problem : "");
    }
    verdict_deinit(&verdict);
    json_decref(row);
    json_decref(json);
    return result;
}

/* With the lock: the newest `limit` matching rows. Returns the number of all matches. */
static size_t copy_rows(const struct mcp_agent *agent, const json_t *arguments, size_t limit,
                        json_t *rows)
{
    const char *problem = mcp_text_of(arguments, "problem");
    size_t total = 0;
    for (size_t i = json_array_size(agent->turns); i-- > 0;) {
        const json_t *row = json_array_get(agent->turns, i);
        if (problem && strcmp(mcp_text_of(row, "problem"), problem) != 0)
            continue;
        if (total++ >= limit)
            continue;
        json_t *copy = json_deep_copy(row);
        if (!json_is_true(json_object_get(arguments, "source")))
            json_object_del(copy, "source");
        if (!json_is_true(json_object_get(arguments, "feedback")))
            json_object_del(copy, "feedback");
        json_array_insert_new(rows, 0, copy);
    }
    return total;
}

static void put_line(struct buf *text, const json_t *row)
{
    const char *source = mcp_text_of(row, "source"), *feedback = mcp_text_of(row, "feedback");
    buf_printf(text, "%s (%s), turn %lld: %s", mcp_text_of(row, "problem"),
               mcp_text_of(row, "language"),
               (long long)json_integer_value(json_object_get(row, "turn")),
               mcp_text_of(row, "status"));
    put_speedup(text, row);
    buf_printf(text, ", reward %.4g\n", json_number_value(json_object_get(row, "reward")));
    if (source)
        buf_printf(text, "%s\n", source);
    if (feedback)
        buf_printf(text, "%s\n", feedback);
}

int mcp_tool_history(void *context, struct mcp_call *call, const json_t *arguments,
                     struct mcp_answer *answer, struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    const json_t *given = json_object_get(arguments, "limit");
    size_t limit = given ? (size_t)json_integer_value(given) : HISTORY;
    struct mcp_agent *agent;
    struct buf text;
    int result = mcp_agent_find(mcp_gym, call, mcp_text_of(arguments, "session"), false, &agent,
                                err);
    if (result < 0)
        return result;
    json_t *rows = json_array();
    pthread_mutex_lock(&mcp_gym->lock);
    size_t total = copy_rows(agent, arguments, limit, rows);
    pthread_mutex_unlock(&mcp_gym->lock);
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < json_array_size(rows); i++)
        put_line(&text, json_array_get(rows, i));
    if (total == 0)
        buf_puts(&text, "nothing has been submitted yet");
    answer->text = buf_take(&text);
    answer->structured = json_pack("{s:s, s:o, s:I}", "session", agent->session, "turns", rows,
                                   "total", (json_int_t)total);
    return 0;
}
