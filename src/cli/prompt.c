/* prompt: shows the first prompt of a problem, or checks a directory of templates. */
#include "cli/cli.h"

#include "base/json.h"
#include "base/printable.h"
#include "cli/search_paths.h"
#include "cli/table.h"
#include "gym/episode/episode.h"
#include "gym/prompt/prompt.h"
#include "judge/request/request.h"
#include "problem/suite.h"

#include <string.h>
#include <unistd.h>

#define OUT_BYTES ((size_t)64 << 20)

struct arguments {
    const char *language, *style, *check;
    struct cli_words search_paths, sets, words;
    int64_t shots, budget, retrieve; /* -1: the settings' */
    bool thinking, json;
};

static void print_json(const json_t *messages, struct buf *out)
{
    struct err err;
    json_t *object = json_object();
    json_put(object, "messages", json_incref((json_t *)messages));
    json_put(object, "tokens", json_integer(prompt_tokens(messages)));
    (void)!json_line_write(object, out, &err);
    json_decref(object);
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

static int show_messages(const struct arguments *arguments, struct gym *gym,
                         const struct problem *problem, bool known)
{
    json_t *configuration = configuration_of(arguments, problem, known), *messages = NULL;
    struct episode *episode = NULL;
    struct buf out;
    struct err err;
    int status = EXIT_PASSED;
    buf_init(&out, OUT_BYTES);
    if (episode_new(&episode, gym, "prompt", configuration, &err) < 0 ||
        episode_messages(episode, &messages, &err) < 0)
        status = cli_fail_err(&err);
    else if (arguments->json)
        print_json(messages, &out);
    else
        print_text(messages, &out);
    cli_print(&out);
    buf_deinit(&out);
    json_decref(messages);
    episode_free(episode);
    json_decref(configuration);
    return status;
}

static int show_in(const struct arguments *arguments, const struct settings *settings,
                   const struct paths_list *search_paths)
{
    const struct gym_options options = {.settings = settings,
                                        .search_paths = search_paths->items,
                                        .search_path_count = search_paths->count};
    const char *word = arguments->words.items[0];
    struct problem problem = {0}, known = {0};
    struct gym *gym = NULL;
    struct err err;
    int result = suite_load(search_paths->items, search_paths->count, word, &problem, &err), status;
    bool is_known = suite_load_id(search_paths->items, search_paths->count, word, &known,
                                  &(struct err){0}) == 0;
    if (result == 0)
        result = gym_open(&gym, &options, &err);
    status = result < 0 ? cli_fail(EXIT_USAGE, "%s", err.text)
                        : show_messages(arguments, gym, is_known ? &known : &problem, is_known);
    gym_close(gym);
    problem_deinit(&known);
    problem_deinit(&problem);
    return status;
}

static int prompt_show(const struct arguments *arguments, const struct settings *settings)
{
    struct paths_list search_paths;
    struct err err;
    if (arguments->words.count != 1)
        return cli_fail(EXIT_USAGE, "prompt: name one problem; `warpgym problem list` shows them");
    if (cli_search_paths(&arguments->search_paths, settings, &search_paths, &err) < 0)
        return cli_fail_err(&err);
    int status = show_in(arguments, settings, &search_paths);
    paths_list_deinit(&search_paths);
    return status;
}

static int prompt_check(const struct arguments *arguments, const struct prompts *prompts)
{
    struct buf out;
    struct err err;
    if (arguments->words.count > 0)
        return cli_fail(EXIT_USAGE, "prompt: --check takes a directory and no problem");
    if (prompts_try(prompts, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    buf_init(&out, OUT_BYTES);
    size_t changed = prompts_describe(prompts, &out);
    cli_print(&out);
    buf_deinit(&out);
    return changed > 0
               ? EXIT_PASSED
               : cli_fail(EXIT_USAGE,
                          "%s: no templates: they are in directories, as in STYLE/first.txt",
                          arguments->check);
}

static int prompt_run(const struct arguments *arguments, struct settings *settings)
{
    struct prompts *prompts;
    struct err err;
    if (arguments->check &&
        settings_set(settings, "prompts.path", arguments->check, ORIGIN_COMMAND_LINE, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    if (!arguments->check)
        return prompt_show(arguments, settings);
    if (prompts_open(&prompts, settings, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    int status = prompt_check(arguments, prompts);
    prompts_close(prompts);
    return status;
}

int prompt_main(int argc, char **argv)
{
    struct arguments arguments = {.shots = -1, .budget = -1, .retrieve = -1};
    char languages[CLI_LANGUAGES_BYTES];
    struct cli_option options[] = {
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
        OPTION_PROBLEMS(&arguments.search_paths),
        OPTION_SET(&arguments.sets),
        OPTION_END,
    };
    struct settings settings;
    int status;
    if (!cli_parse(prompt_main, options, argc, argv, &arguments.words, &status))
        return status;
    status = EXIT_USAGE;
    if (cli_settings(&settings, &arguments.sets)) {
        status = prompt_run(&arguments, &settings);
        settings_deinit(&settings);
    } else {
        status = EXIT_USAGE;
    }
    return cli_end(options, &arguments.words, status);
}
