/* prompt: shows the first prompt of a problem, or checks a directory of templates. */
#include "cli/cli.h"

#include "base/printable.h"
#include "gym/episode/episode.h"
#include "gym/prompt/fit.h"
#include "gym/prompt/prompt.h"
#include "judge/request/request.h"
#include "problem/suite.h"

#include <unistd.h>

struct arguments {
    const char *language, *style, *check, *prompts;
    int64_t shots, budget, retrieve; /* -1: the settings' */
    bool thinking, json;
};

static json_t *messages_json(json_t *messages)
{
    json_t *object = json_object();
    json_put(object, "messages", json_incref(messages));
    json_put(object, "tokens", json_integer(prompt_tokens(messages)));
    return object;
}

static void print_text(const json_t *messages, struct buf *out)
{
    bool colour = style_wanted(STDOUT_FILENO);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *role = json_string_value(json_object_get(message, "role"));
        char *text = mem_strdup(json_string_value(json_object_get(message, "content")));
        printable_text(text, true);
        style_puts(out, colour, STYLE_STRONG, role);
        buf_printf(out, "%s\n\n%s\n\n", ":", text);
        mem_free(text);
    }
    buf_printf(out, "about %lld tokens\n", (long long)prompt_tokens(messages));
}

/* The command line's choices; the rest is the settings', as in every episode. */
static json_t *configuration_of(const struct arguments *arguments, const struct problem *problem,
                                bool known)
{
    json_t *configuration = json_object(), *prompt = json_object();
    json_put(configuration, "problem",
             known ? json_pack("{s:s}", "id", problem->id) : evaluation_problem_json(problem));
    if (arguments->language)
        json_put(configuration, "language", json_text(arguments->language));
    if (arguments->style)
        json_put(prompt, "style", json_text(arguments->style));
    if (arguments->shots >= 0)
        json_put(prompt, "shots", json_integer(arguments->shots));
    if (arguments->budget >= 0)
        json_put(prompt, "token_budget", json_integer(arguments->budget));
    if (arguments->retrieve >= 0)
        json_put(prompt, "retrieve", json_integer(arguments->retrieve));
    if (arguments->thinking)
        json_put(prompt, "thinking", json_true());
    json_put(configuration, "prompt", prompt);
    return configuration;
}

static int show_messages(struct cli_call *call, const struct arguments *arguments, struct gym *gym,
                         const struct problem *problem, bool known, struct err *err)
{
    json_t *configuration = configuration_of(arguments, problem, known), *messages = NULL;
    struct episode *episode = NULL;
    int result = episode_new(&episode, gym, "prompt", configuration, err);
    if (result == 0)
        result = episode_messages(episode, &messages, err);
    if (result == 0 && arguments->json)
        cli_put_json(call, messages_json(messages));
    else if (result == 0)
        print_text(messages, &call->out);
    json_decref(messages);
    episode_free(episode);
    json_decref(configuration);
    return result;
}

static int prompt_show(struct cli_call *call, const struct arguments *arguments, struct err *err)
{
    const struct paths_list *paths = &call->search_paths;
    struct problem problem = {0}, known = {0};
    struct gym *gym = NULL;
    if (call->words.count != 1)
        return cli_fail(EXIT_USAGE, "prompt: name one problem; `warpgym problem list` shows them");
    const char *word = call->words.items[0];
    int result = suite_load(paths, word, &problem, err);
    bool is_known = suite_load_id(paths, word, &known, &(struct err){0}) == 0;
    if (result == 0)
        result = gym_open(&gym, &call->settings, paths, err);
    if (result < 0)
        result = cli_fail(EXIT_USAGE, "%s", err->text);
    else
        result = show_messages(call, arguments, gym, is_known ? &known : &problem, is_known, err);
    gym_close(gym);
    problem_deinit(&known);
    problem_deinit(&problem);
    return result;
}

static int prompt_check(struct cli_call *call, const char *directory, struct err *err)
{
    struct prompts *prompts = NULL;
    size_t changed = 0;
    if (call->words.count > 0)
        return cli_fail(EXIT_USAGE, "prompt: --check takes a directory and no problem");
    int result = settings_set(&call->settings, "prompts.path", directory, ORIGIN_COMMAND_LINE, err);
    if (result == 0)
        result = prompts_open(&prompts, &call->settings, err);
    if (result == 0)
        result = prompts_try(prompts, err);
    if (result == 0)
        changed = prompts_describe(prompts, &call->out);
    if (result == 0 && changed == 0)
        result = err_set(err, ERR_INPUT,
                         "%s: no templates: they are in directories, as in STYLE/first.txt",
                         directory);
    prompts_close(prompts);
    return result < 0 ? cli_fail(EXIT_USAGE, "%s", err->text) : EXIT_PASSED;
}

static int prompt_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    return arguments->check ? prompt_check(call, arguments->check, err)
                            : prompt_show(call, arguments, err);
}

int prompt_main(struct cli_call *call)
{
    struct arguments arguments = {.shots = -1, .budget = -1, .retrieve = -1};
    char languages[CLI_LANGUAGES_BYTES];
    const struct cli_option options[] = {
        OPTION_STRING('l', "language", &arguments.language, "NAME",
                      cli_languages("of the solution (gym.language)", languages)),
        OPTION_STRING(0, "style", &arguments.style, "NAME",
                      "style of the prompt: warpgym, kevin, drkernel, or your own (gym.style)"),
        OPTION_INT(0, "shots", &arguments.shots, 0, PROMPT_SHOTS_MAX, "N",
                   "worked examples before the task (gym.shots)"),
        OPTION_FLAG(0, "thinking", &arguments.thinking, "ask for reasoning before the code"),
        OPTION_INT(0, "token-budget", &arguments.budget, 0, 1e9, "N",
                   "limit of tokens: examples are left out until it fits (gym.token_budget)"),
        OPTION_INT(0, "retrieve", &arguments.retrieve, 0, 16, "N",
                   "solved examples of the index in retrieval.directory (gym.retrieve)"),
        OPTION_STRING(0, "check", &arguments.check, "DIR",
                      "test the templates in DIR, in all styles and languages, and show no prompt"),
        OPTION_FLAG(0, "json", &arguments.json, "one JSON object: messages, tokens"),
        OPTION_PROBLEMS,
        OPTION_SETTING(0, "prompts", &arguments.prompts, "DIR",
                       "your own prompt templates, or a checkout of KernelBench or KernelGYM "
                       "(prompts.path)",
                       .setting = "prompts.path"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, prompt_run, &arguments);
}
