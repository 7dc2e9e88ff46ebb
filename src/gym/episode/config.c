#include "gym/episode/config.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "gym/gym_settings.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "judge/verdict.h"
#include "retrieval/retrieval.h"

#include <string.h>

#define KEYS_MOST 16 /* of one object */

/* Every key that a configuration may have, with its default; null: it has none. */
static json_t *standard_config(const struct settings *settings)
{
    const struct gym_settings *gym = gym_settings(settings);
    json_t *prompt = json_pack("{s:o, s:I, s:b, s:I, s:I}", "style", json_text(gym_style(settings)),
                               "shots", (json_int_t)gym->shots, "thinking", gym->thinking,
                               "token_budget", (json_int_t)gym->token_budget, "retrieve",
                               (json_int_t)gym->retrieve);
    json_t *history = json_pack("{s:I, s:I, s:s, s:s}", "iterations", (json_int_t)gym->iterations,
                                "remain_turns", (json_int_t)gym->remain_turns, "select",
                                history_select_names[gym->select], "select_by",
                                history_value_names[gym->select_by]);
    json_t *labels = json_pack("{s:i, s:i, s:s, s:s}", "sample", 0, "iteration", 0, "policy", "",
                               "model", "");
    json_t *evaluation = json_pack("{s:n, s:n, s:n, s:n}", "settings", "timing", "timeout_ms",
                                   "priority");
    return json_pack("{s:n, s:s, s:I, s:f, s:s, s:f, s:b, s:s, s:o, s:o, s:o, s:o, s:{s:n, s:n}}",
                     "problem", "language", gym_language(settings), "turns", (json_int_t)gym->turns,
                     "gamma", gym_gamma(settings), "reward", gym_reward(settings), "stop_speedup",
                     gym->stop_speedup, "stop_correct", gym->stop_correct, "coverage",
                     coverage_names[gym->coverage], "prompt", prompt, "history", history, "labels",
                     labels, "evaluation", evaluation, "start", "code", "verdict");
}

static int check_keys(const json_t *object, const json_t *standard, struct err *err)
{
    const char *names[KEYS_MOST], *key;
    size_t count = 0;
    json_t *value;
    json_object_foreach((json_t *)standard, key, value) names[count++] = key;
    return json_check_keys(object, names, count, err);
}

/* Fills in what is missing or null, in the sections too, which are copied. ERR_INPUT: a key that
 * `standard` lacks, a section that is no object. */
static int fill_defaults(json_t *object, const json_t *standard, struct err *err)
{
    const char *key;
    json_t *value;
    int result = check_keys(object, standard, err);
    json_object_foreach((json_t *)standard, key, value)
    {
        json_t *given = json_object_get(object, key);
        if (result < 0 || (!given && strcmp(key, "start") == 0))
            continue;
        if (json_is_object(value)) {
            given = NULL;
            result = json_find_object(object, key, &given, err);
            json_t *section = given ? json_copy(given) : json_object();
            json_put(object, key, section);
            if (result == 0 && (result = fill_defaults(section, value, err)) < 0)
                err_prefix(err, "%s", key);
        } else if ((!given || json_is_null(given)) && !json_is_null(value)) {
            json_put(object, key, json_incref(value));
        }
    }
    return result;
}

/* A request with any candidate: what it says of problem, settings and limits is checked once, here.
 */
static int with_request(const json_t *object, struct evaluation_request *request, json_t **holder,
                        struct err *err)
{
    json_t *evaluation = json_object_get(object, "evaluation");
    *holder = json_is_object(evaluation) ? json_copy(evaluation) : json_object();
    json_put(*holder, "candidate", json_pack("{s:s}", "source", "x"));
    if (json_object_get(object, "problem"))
        json_put(*holder, "problem", json_incref(json_object_get(object, "problem")));
    return evaluation_request_parse(*holder, request, err);
}

int episode_config_problem(const struct gym *gym, const json_t *resolved, struct problem *problem,
                           struct err *err)
{
    struct evaluation_request request;
    json_t *holder;
    int result = with_request(resolved, &request, &holder, err);
    if (result == 0 && request.format == EVALUATION_SIMPLE)
        result = err_set(err, ERR_INPUT,
                         "problem: a simple problem has no reference, so no episode is about it");
    if (result == 0)
        result = evaluation_request_problem(&request, gym->search_paths, problem, err);
    json_decref(holder);
    return result;
}

static int check_settings(const struct gym *gym, const json_t *object, struct err *err)
{
    struct evaluation_request request;
    struct settings settings;
    json_t *holder;
    int result = with_request(object, &request, &holder, err);
    if (result == 0)
        result = evaluation_request_settings(&request, gym->settings, &settings, err);
    if (result == 0)
        settings_deinit(&settings);
    json_decref(holder);
    return result < 0 ? err_prefix(err, "evaluation") : 0;
}

static int resolve_language(json_t *object, const struct problem *problem, struct err *err)
{
    const char *name = json_string_value(json_object_get(object, "language"));
    if (!name)
        return err_set(err, ERR_INPUT, "'language' must be text");
    const struct language *language = *name ? language_named(name)
                                            : language_standard(problem->format);
    if (!language)
        return language_unknown(name, err);
    if (language->format != problem->format)
        return err_set(err, ERR_INPUT,
                       "'language' is %s, which does not solve %s problems as %s is",
                       language->name, problem_format_name(problem), problem->id);
    json_put(object, "language", json_string(language->name));
    return 0;
}

static void pin_problem(json_t *object, const struct problem *problem)
{
    json_t *asked = json_object_get(object, "problem");
    if (json_object_get(asked, "id"))
        json_put(object, "problem",
                 json_pack("{s:O, s:s}", "id", json_object_get(asked, "id"), "hash",
                           problem->hash));
}

int episode_config_resolve(const struct gym *gym, const json_t *asked, json_t **resolved,
                           struct problem *problem, struct err *err)
{
    struct episode_config config;
    json_t *object = json_copy((json_t *)asked), *standard = standard_config(gym->settings);
    int result = fill_defaults(object, standard, err);
    json_decref(standard);
    if (result == 0)
        result = episode_config_problem(gym, object, problem, err);
    if (result == 0)
        result = check_settings(gym, object, err);
    if (result == 0)
        result = resolve_language(object, problem, err);
    if (result == 0)
        result = episode_config_read(object, &config, err);
    if (result == 0)
        result = prompts_check(gym->prompts, &config.prompt, err);
    if (result == 0 && config.retrieve > 0 && !gym->retrieval)
        result = err_set(err, ERR_INPUT,
                         "prompt: 'retrieve' wants examples, and no index is configured "
                         "(retrieval.directory)");
    if (result < 0) {
        json_decref(object);
        return result;
    }
    pin_problem(object, problem);
    *resolved = object;
    return 0;
}

static int read_number(const json_t *object, const char *key, double low, double high, double *out,
                       struct err *err)
{
    int result = json_get_double(object, key, out, err);
    if (result == 0 && !(*out >= low && *out <= high))
        result = err_set(err, ERR_INPUT, "'%s' is %g; it must be within %g and %g", key, *out, low,
                         high);
    return result;
}

static int read_integers(const json_t *resolved, struct episode_config *config, struct err *err)
{
    int64_t ignored;
    const struct {
        const char *section, *key;
        int64_t low, high, *out;
    } rows[] = {
        {NULL, "turns", 1, 256, &config->turns},
        {"prompt", "shots", 0, 3, &config->prompt.shots},
        {"prompt", "token_budget", 0, 10000000, &config->prompt.token_budget},
        {"prompt", "retrieve", 0, 16, &config->retrieve},
        {"history", "iterations", 1, 256, &config->iterations},
        {"history", "remain_turns", 0, 255, &config->remain_turns},
        {"labels", "sample", 0, INT32_MAX, &ignored},
        {"labels", "iteration", 0, INT32_MAX, &ignored},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const json_t *object = rows[i].section ? json_object_get(resolved, rows[i].section)
                                               : resolved;
        int64_t *out = rows[i].out;
        int result = json_get_int(object, rows[i].key, out, err);
        if (result == 0 && (*out < rows[i].low || *out > rows[i].high))
            result = err_set(err, ERR_INPUT, "'%s' is %lld; it must be within %lld and %lld",
                             rows[i].key, (long long)*out, (long long)rows[i].low,
                             (long long)rows[i].high);
        if (result < 0)
            return rows[i].section ? err_prefix(err, "%s", rows[i].section) : result;
    }
    return 0;
}

static int read_prompt(const json_t *prompt, struct episode_config *config, struct err *err)
{
    int result = json_get_string(prompt, "style", &config->prompt.style, err);
    if (result == 0)
        result = json_get_bool(prompt, "thinking", &config->prompt.thinking, err);
    return result < 0 ? err_prefix(err, "prompt") : 0;
}

/* The key's word, as an index of `words`. */
static int get_word(const json_t *object, const char *key, const struct word_table *words,
                    int *index, struct err *err)
{
    const char *word;
    int result = json_get_string(object, key, &word, err);
    return result == 0 ? word_find(words, key, word, index, err) : result;
}

static int read_history(const json_t *history, struct episode_config *config, struct err *err)
{
    int select = 0, select_by = 0;
    int result = get_word(history, "select", WORDS(history_select_names), &select, err);
    if (result == 0)
        result = get_word(history, "select_by", WORDS(history_value_names), &select_by, err);
    config->select = (enum history_select)select;
    config->select_by = (enum history_value)select_by;
    if (result < 0)
        return err_prefix(err, "history");
    if (config->iterations > 1 && config->remain_turns >= config->turns)
        return err_set(err, ERR_INPUT,
                       "history: 'remain_turns' is %lld; it must be below 'turns' (%lld), or a "
                       "further iteration has none of its own",
                       (long long)config->remain_turns, (long long)config->turns);
    if (history_turns(config->turns, config->remain_turns, config->iterations) > LIMIT_TURNS)
        return err_set(err, ERR_LIMIT, "history: %d turns in all iterations are the most",
                       LIMIT_TURNS);
    return 0;
}

static int read_start(const json_t *object, struct episode_config *config, struct err *err)
{
    json_t *start = NULL, *verdict = NULL;
    const char *code;
    int result = json_find_object(object, "start", &start, err);
    if (result < 0 || !start)
        return result;
    config->start = start;
    result = json_get_string(start, "code", &code, err);
    if (result == 0 && strlen(code) > LIMIT_SOURCE_BYTES)
        result = err_set(err, ERR_LIMIT, "'code' has more than %zu bytes", LIMIT_SOURCE_BYTES);
    if (result == 0)
        result = json_find_object(start, "verdict", &verdict, err);
    if (result == 0 && verdict) {
        struct verdict read;
        result = verdict_read(verdict, &read, err);
        verdict_deinit(&read);
    }
    return result < 0 ? err_prefix(err, "start") : 0;
}

static int read_labels(const json_t *labels, struct episode_config *config, struct err *err)
{
    const char *text;
    config->labels = labels;
    int result = json_get_string(labels, "policy", &text, err);
    if (result == 0)
        result = json_get_string(labels, "model", &text, err);
    return result < 0 ? err_prefix(err, "labels") : 0;
}

int episode_config_read(const json_t *resolved, struct episode_config *config, struct err *err)
{
    json_t *problem, *evaluation;
    int coverage = COVERAGE_TIME;
    *config = (struct episode_config){.timing = true};
    int result = json_get_object(resolved, "problem", &problem, err);
    if (result == 0)
        result = json_get_object(resolved, "evaluation", &evaluation, err);
    if (result < 0)
        return result;
    config->problem = problem;
    config->evaluation = evaluation;
    result = json_find_bool(evaluation, "timing", &config->timing, err);
    if (result == 0)
        result = json_get_string(resolved, "language", &config->prompt.language, err);
    if (result == 0)
        result = read_number(resolved, "gamma", 0, 1, &config->gamma, err);
    if (result == 0)
        result = read_number(resolved, "stop_speedup", 0, 1e9, &config->stop_speedup, err);
    if (result == 0)
        result = json_find_bool(resolved, "stop_correct", &config->stop_correct, err);
    if (result == 0)
        result = reward_config_read(json_object_get(resolved, "reward"), &config->reward, err);
    if (result == 0)
        result = get_word(resolved, "coverage", WORDS(coverage_names), &coverage, err);
    config->coverage = (enum coverage_measure)coverage;
    if (result == 0)
        result = read_integers(resolved, config, err);
    if (result == 0)
        result = read_prompt(json_object_get(resolved, "prompt"), config, err);
    if (result == 0)
        result = read_history(json_object_get(resolved, "history"), config, err);
    if (result == 0)
        result = read_start(resolved, config, err);
    return result == 0 ? read_labels(json_object_get(resolved, "labels"), config, err) : result;
}

json_t *episode_config_request(const struct episode_config *config, const char *id,
                               const char *source)
{
    json_t *request = json_copy((json_t *)config->evaluation);
    json_put(request, "id", json_text(id));
    json_put(request, "problem", json_incref((json_t *)config->problem));
    json_put(request, "candidate",
             json_pack("{s:o, s:s}", "source", json_text(source), "language",
                       config->prompt.language));
    return request;
}
