#include "gym/episode/config.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "gym/gym_settings.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "judge/verdict.h"
#include "retrieval/retrieval.h"

#include <string.h>

static const char *const keys[] = {"problem", "language",     "turns",      "gamma",
                                   "reward",  "prompt",       "evaluation", "start",
                                   "labels",  "stop_speedup", "history",    "coverage"};
static const char *const prompt_keys[] = {"style", "shots", "thinking", "token_budget", "retrieve"};
static const char *const history_keys[] = {"iterations", "remain_turns", "select", "select_by"};
static const char *const evaluation_keys[] = {"settings", "timing", "timeout_ms", "priority"};
static const char *const start_keys[] = {"code", "verdict"};
static const char *const label_keys[] = {"sample", "iteration", "policy", "model"};

static void put_new(json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key) && !json_is_null(json_object_get(object, key)))
        json_decref(value);
    else
        json_put(object, key, value);
}

/* A copy of object[key]; an empty object where there is none. ERR_INPUT: it is something else, or
 * has a key that is not among `names`. */
static int copy_section(json_t *object, const char *key, const char *const *names, size_t count,
                        json_t **out, struct err *err)
{
    json_t *given = NULL;
    int result = json_find_object(object, key, &given, err);
    if (result == 0 && given)
        result = json_check_keys(given, names, count, err);
    if (result < 0)
        return given ? err_prefix(err, "%s", key) : result;
    *out = given ? json_copy(given) : json_object();
    json_put(object, key, *out);
    return 0;
}

static int fill_prompt(const struct settings *settings, json_t *object, struct err *err)
{
    const struct gym_settings *gym = gym_settings(settings);
    json_t *prompt = NULL;
    int result = copy_section(object, "prompt", prompt_keys, COUNT(prompt_keys), &prompt, err);
    if (result < 0)
        return result;
    put_new(prompt, "style", json_text(gym->style));
    put_new(prompt, "shots", json_integer(gym->shots));
    put_new(prompt, "thinking", json_boolean(gym->thinking));
    put_new(prompt, "token_budget", json_integer(gym->token_budget));
    put_new(prompt, "retrieve", json_integer(gym->retrieve));
    return 0;
}

static int fill_history(const struct settings *settings, json_t *object, struct err *err)
{
    const struct gym_settings *gym = gym_settings(settings);
    json_t *history = NULL;
    int result = copy_section(object, "history", history_keys, COUNT(history_keys), &history, err);
    if (result < 0)
        return result;
    put_new(history, "iterations", json_integer(gym->iterations));
    put_new(history, "remain_turns", json_integer(gym->remain_turns));
    put_new(history, "select", json_text(window_select_names[gym->select]));
    put_new(history, "select_by", json_text(window_value_names[gym->select_by]));
    return 0;
}

static int fill_labels(json_t *object, struct err *err)
{
    json_t *labels = NULL;
    int result = copy_section(object, "labels", label_keys, COUNT(label_keys), &labels, err);
    if (result < 0)
        return result;
    put_new(labels, "sample", json_integer(0));
    put_new(labels, "iteration", json_integer(0));
    put_new(labels, "policy", json_string(""));
    put_new(labels, "model", json_string(""));
    return 0;
}

static int fill_defaults(const struct settings *settings, json_t *object, struct err *err)
{
    const struct gym_settings *gym = gym_settings(settings);
    json_t *ignored;
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = fill_prompt(settings, object, err);
    if (result == 0)
        result = fill_history(settings, object, err);
    if (result == 0)
        result = fill_labels(object, err);
    if (result == 0)
        result = copy_section(object, "evaluation", evaluation_keys, COUNT(evaluation_keys),
                              &ignored, err);
    if (result == 0 && json_object_get(object, "start"))
        result = copy_section(object, "start", start_keys, COUNT(start_keys), &ignored, err);
    if (result < 0)
        return result;
    put_new(object, "turns", json_integer(gym->turns));
    put_new(object, "gamma", json_number(gym_gamma(settings)));
    put_new(object, "reward", json_text(gym_reward(settings)));
    put_new(object, "stop_speedup", json_number(gym->stop_speedup));
    put_new(object, "coverage", json_text(coverage_names[gym->coverage]));
    put_new(object, "language", json_text(gym_language(settings)));
    return 0;
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
        result = evaluation_request_problem(&request, gym->search_paths, gym->search_path_count,
                                            problem, err);
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
    json_t *object = json_copy((json_t *)asked);
    int result = fill_defaults(gym->settings, object, err);
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

static int get_within(const json_t *object, const char *key, int64_t low, int64_t high,
                      int64_t *out, struct err *err)
{
    int result = json_get_int(object, key, out, err);
    if (result == 0 && (*out < low || *out > high))
        result = err_set(err, ERR_INPUT, "'%s' is %lld; it must be within %lld and %lld", key,
                         (long long)*out, (long long)low, (long long)high);
    return result;
}

static int get_number(const json_t *object, const char *key, double low, double high, double *out,
                      struct err *err)
{
    int result = json_get_double(object, key, out, err);
    if (result == 0 && !(*out >= low && *out <= high))
        result = err_set(err, ERR_INPUT, "'%s' is %g; it must be within %g and %g", key, *out, low,
                         high);
    return result;
}

static int read_prompt(const json_t *object, struct episode_config *config, struct err *err)
{
    struct prompt_options *options = &config->prompt;
    json_t *prompt;
    int result = json_get_object(object, "prompt", &prompt, err);
    if (result < 0)
        return result;
    result = json_get_string(prompt, "style", &options->style, err);
    if (result == 0)
        result = get_within(prompt, "shots", 0, 3, &options->shots, err);
    if (result == 0)
        result = json_get_bool(prompt, "thinking", &options->thinking, err);
    if (result == 0)
        result = get_within(prompt, "token_budget", 0, 10000000, &options->token_budget, err);
    if (result == 0)
        result = get_within(prompt, "retrieve", 0, 16, &config->retrieve, err);
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

static int read_history(const json_t *object, struct episode_config *config, struct err *err)
{
    int select = 0, select_by = 0;
    json_t *history;
    int result = json_get_object(object, "history", &history, err);
    if (result < 0)
        return result;
    result = get_within(history, "iterations", 1, 256, &config->iterations, err);
    if (result == 0)
        result = get_within(history, "remain_turns", 0, 255, &config->remain_turns, err);
    if (result == 0)
        result = get_word(history, "select", WORDS(window_select_names), &select, err);
    if (result == 0)
        result = get_word(history, "select_by", WORDS(window_value_names), &select_by, err);
    config->select = (enum window_select)select;
    config->select_by = (enum window_value)select_by;
    if (result < 0)
        return err_prefix(err, "history");
    if (config->iterations > 1 && config->remain_turns >= config->turns)
        return err_set(err, ERR_INPUT,
                       "history: 'remain_turns' is %lld; it must be below 'turns' (%lld), or a "
                       "further iteration has none of its own",
                       (long long)config->remain_turns, (long long)config->turns);
    if (window_turns(config->turns, config->remain_turns, config->iterations) > LIMIT_TURNS)
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

static int read_labels(const json_t *object, struct episode_config *config, struct err *err)
{
    json_t *labels;
    const char *text;
    int64_t number;
    int result = json_get_object(object, "labels", &labels, err);
    if (result < 0)
        return result;
    config->labels = labels;
    result = get_within(labels, "sample", 0, INT32_MAX, &number, err);
    if (result == 0)
        result = get_within(labels, "iteration", 0, INT32_MAX, &number, err);
    if (result == 0)
        result = json_get_string(labels, "policy", &text, err);
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
        result = get_within(resolved, "turns", 1, 256, &config->turns, err);
    if (result == 0)
        result = get_number(resolved, "gamma", 0, 1, &config->gamma, err);
    if (result == 0)
        result = get_number(resolved, "stop_speedup", 0, 1e9, &config->stop_speedup, err);
    if (result == 0)
        result = reward_config_read(json_object_get(resolved, "reward"), &config->reward, err);
    if (result == 0)
        result = get_word(resolved, "coverage", WORDS(coverage_names), &coverage, err);
    config->coverage = (enum coverage_measure)coverage;
    if (result == 0)
        result = read_prompt(resolved, config, err);
    if (result == 0)
        result = read_history(resolved, config, err);
    if (result == 0)
        result = read_start(resolved, config, err);
    return result == 0 ? read_labels(resolved, config, err) : result;
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
