/* runs eval: evaluates a checkpoint of a run, or its base model, on problems, with a report. */
#include "cli/runs/runs.h"

#include "base/mem.h"
#include "cli/progress.h"
#include "cli/report_table.h"
#include "cli/search_paths.h"
#include "gym/report/report.h"
#include "rl/collect/checkpoint_evaluation.h"
#include "rl/run/run_settings.h"
#include "rl/train/train_settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *checkpoint, *out, *server;
    int64_t samples;
    double temperature;
    struct cli_words search_paths, sets;
    bool json, quiet;
};

/* RUN/checkpoints/NAME, or RUN with --checkpoint. *run and *name are the caller's. */
static int take_place(const struct arguments *arguments, const char *word, char **run, char **name,
                      struct err *err)
{
    const char *part = strstr(word, "/checkpoints/");
    *name = NULL;
    if (!part) {
        *name = mem_strdup(arguments->checkpoint ? arguments->checkpoint : "best");
        return runs_find(word, run, err);
    }
    size_t length = strlen(part) - strlen("/checkpoints/");
    while (length > 0 && part[strlen("/checkpoints/") + length - 1] == '/')
        length--;
    *name = mem_printf("%.*s", (int)length, part + strlen("/checkpoints/"));
    *run = mem_printf("%.*s", (int)(part - word), word);
    return 0;
}

/* "best" is the last one if nothing was measured. *chosen is the caller's. */
static int choose_checkpoint(const char *run, const char *name, json_t **chosen, struct err *err)
{
    struct run_view view;
    json_t *all = NULL;
    const json_t *found = NULL;
    bool lowest, best = strcmp(name, "best") == 0;
    int result = runs_open(&view, run, RUN_SERIES_ALL, err);
    if (result < 0)
        return result;
    if (view.kind != RUN_RL)
        result = err_set(err, ERR_INPUT,
                         "%s is not a run of `warpgym train`; `warpgym lm sample` samples models",
                         run);
    if (result == 0)
        result = run_view_checkpoints(&view, &all, err);
    const char *measure = runs_best_measure(&view, &lowest);
    if (result == 0 && best)
        found = runs_best(&view, all, measure, lowest);
    if (result == 0 && !found)
        found = runs_checkpoint(&view, all, best ? "last" : name, err);
    if (result == 0 && !found)
        result = err->code;
    *chosen = json_incref((json_t *)found);
    json_decref(all);
    run_view_close(&view);
    return result;
}

static char *join_words(const struct cli_words *words)
{
    char *text = mem_strdup("");
    for (size_t i = 1; i < words->count; i++) {
        char *longer = mem_printf("%s%s%s", text, *text ? " " : "", words->items[i]);
        mem_free(text);
        text = longer;
    }
    return text;
}

static void on_progress(void *context, size_t done, size_t all)
{
    char note[64];
    snprintf(note, sizeof note, "turn %zu of at most %zu", done, all);
    progress_note(context, note);
}

static int put_report(struct cli_call *call, const struct arguments *arguments, size_t problems,
                      int64_t samples, struct err *err)
{
    const struct report_options options = {.p = {1, 1.5, 2},
                                           .p_count = 3,
                                           .k = {1, (size_t)samples},
                                           .k_count = samples > 1 ? 2 : 1,
                                           .problem_total = problems,
                                           .samples = (size_t)samples};
    struct report *report;
    int result = report_open(&report, &arguments->out, 1, &options, err);
    if (result < 0)
        return result;
    if (arguments->json)
        cli_put_json(call, report_json(report));
    else
        report_table(report, style_wanted(STDOUT_FILENO), &call->out);
    report_close(report);
    return 0;
}

static int evaluate_checkpoint(struct cli_call *call, const struct arguments *arguments,
                               const struct settings *settings, const char *run, const char *where,
                               struct err *err)
{
    char *problems = join_words(&call->words);
    struct progress *progress = progress_new(STDERR_FILENO, "evaluating", 1, arguments->quiet);
    struct checkpoint_evaluation_result result = {0};
    struct paths_list search_paths;
    int status = cli_search_paths(&arguments->search_paths, settings, &search_paths, err);
    if (status == 0) {
        const struct checkpoint_evaluation_options options = {.settings = settings,
                                                              .directory = run,
                                                              .where = where,
                                                              .problems = problems,
                                                              .out = arguments->out,
                                                              .search_paths = &search_paths,
                                                              .server = arguments->server,
                                                              .cancelled = &cli_cancelled,
                                                              .on_progress = on_progress,
                                                              .context = progress};
        status = checkpoint_evaluation_run(&options, &result, err);
        paths_list_deinit(&search_paths);
    }
    progress_free(progress);
    mem_free(problems);
    if (status == 0 && result.lost > 0)
        fprintf(stderr, "warpgym: %zu of %zu samples could not be played: %s\n", result.lost,
                result.samples, result.why);
    return status < 0 ? status
                      : put_report(call, arguments, result.problems,
                                   train_settings(settings)->evaluate_samples, err);
}

/* The run's settings with this command's changes. */
static int read_settings(const struct arguments *arguments, const char *run,
                         struct settings *settings, struct err *err)
{
    char *file = mem_printf("%s/" RUN_CONFIG, run), text[64];
    bool read = cli_settings_of(settings, file, arguments->sets.items, arguments->sets.count);
    mem_free(file);
    if (!read)
        return err_set(err, ERR_INPUT, "%s: its settings do not fit", run);
    int result = 0;
    snprintf(text, sizeof text, "train.evaluate_samples=%lld", (long long)arguments->samples);
    if (arguments->samples > 0)
        result = settings_assign(settings, text, err);
    snprintf(text, sizeof text, "train.evaluate_temperature=%g", arguments->temperature);
    if (result == 0 && arguments->temperature >= 0)
        result = settings_assign(settings, text, err);
    if (result < 0)
        settings_deinit(settings);
    return result;
}

static int runs_eval_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    char *run = NULL, *name = NULL, *out = NULL;
    struct settings settings;
    json_t *chosen = NULL;
    int result = take_place(arguments, call->words.items[0], &run, &name, err);
    if (result == 0 && strcmp(name, "base") != 0)
        result = choose_checkpoint(run, name, &chosen, err);
    if (result == 0)
        result = read_settings(arguments, run, &settings, err);
    if (result == 0) {
        const char *where = chosen ? json_text_at(chosen, "where") : NULL;
        out = mem_printf("%s/evaluations/%s", run, chosen ? json_text_at(chosen, "name") : "base");
        arguments->out = arguments->out ? arguments->out : out;
        cli_catch_signals();
        result = evaluate_checkpoint(call, arguments, &settings, run, where, err);
        settings_deinit(&settings);
    }
    json_decref(chosen);
    mem_free(out);
    mem_free(name);
    mem_free(run);
    return result;
}

int runs_eval_main(struct cli_call *call)
{
    struct arguments arguments = {.temperature = -1};
    const struct cli_option options[] = {
        OPTION_STRING('c', "checkpoint", &arguments.checkpoint, "NAME",
                      "the checkpoint: its name, best, last, or base (the model that the run began "
                      "with); best"),
        OPTION_INT('n', "samples", &arguments.samples, 1, 65536, "N",
                   "episodes of each problem; train.evaluate_samples"),
        OPTION_FLOAT('t', "temperature", &arguments.temperature, 0, 10, "T",
                     "of answers; train.evaluate_temperature"),
        OPTION_STRING('o', "out", &arguments.out, "DIR",
                      "the directory of the trajectories; RUN/evaluations/CHECKPOINT"),
        OPTION_LIST(0, "problems", &arguments.search_paths, "DIR",
                    "search problems here first; may be repeated"),
        OPTION_STRING(0, "server", &arguments.server, "URL",
                      "judge on a server (http://HOST:PORT); default client.url"),
        OPTION_LIST('s', "set", &arguments.sets, "KEY=VALUE",
                    "change one of the run's settings; may be repeated"),
        OPTION_FLAG(0, "json", &arguments.json, "the report as JSON (docs/guide/report.md)"),
        OPTION_FLAG('q', "quiet", &arguments.quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, runs_eval_run, &arguments);
}
