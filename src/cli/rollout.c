/* rollout: `warpgym rollout`: a policy answers, the judge judges, episodes become trajectories. */
#include "cli/cli.h"

#include "base/log.h"
#include "cli/open_evaluator.h"
#include "cli/progress.h"
#include "gym/episode/best.h"
#include "gym/episode/rollout.h"
#include "gym/episode/tasks.h"
#include "gym/gym.h"
#include "gym/gym_settings.h"
#include "policy/policy.h"
#include "policy/policy_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STANDARD_JOBS 32

struct arguments {
    const char *prompts, *policy, *model, *out, *best;
    struct cli_where where;
    int64_t samples, jobs;
    bool timing, quiet;
};

/* Totals for the progress line and the summary. */
struct totals {
    const char *best; /* NULL: none */
    struct progress *progress;
    uint64_t episodes, solved, faster, turns, improved, unjudged;
    double log_speedup; /* of the solved and timed ones */
    uint64_t timed;
    double cost; /* NaN if unknown */
    uint64_t tokens;
};

static void report_error(struct totals *totals, const char *problem, const struct err *err)
{
    progress_hide(totals->progress);
    fprintf(stderr, "warpgym: %s: %s\n", problem, err->text);
    progress_show(totals->progress);
}

static void count_turn(struct totals *totals, const json_t *record)
{
    const json_t *usage = json_object_get(record, "usage");
    double cost = json_number_value(json_object_get(usage, "cost"));
    json_int_t tokens = json_integer_value(json_object_get(usage, "completion_tokens"));
    totals->turns++;
    totals->tokens += tokens > 0 ? (uint64_t)tokens : 0;
    totals->cost += cost > 0 ? cost : 0;
}

/* Counts the turns of an episode that an earlier call played. */
static void count_turns(struct totals *totals, const json_t *trajectory)
{
    size_t i;
    json_t *record;
    json_array_foreach(json_object_get(trajectory, "turns"), i, record)
    {
        count_turn(totals, record);
    }
}

static void count_episode(struct totals *totals, const json_t *trajectory, bool found)
{
    bool solved = json_is_true(json_object_get(trajectory, "solved"));
    double speedup = json_number_value(json_object_get(trajectory, "best_speedup"));
    totals->episodes++;
    totals->unjudged += strcmp(json_string_value(json_object_get(trajectory, "end")), "error") == 0;
    totals->solved += solved;
    totals->faster += solved && speedup >= 1;
    if (solved && speedup > 0) {
        totals->timed++;
        totals->log_speedup += log(speedup);
    }
    (found ? progress_found : progress_add)(totals->progress, solved);
}

static void on_rollout_event(void *context, const struct rollout_event *event)
{
    struct totals *totals = context;
    struct err err;
    bool kept = false;
    if (event->why)
        report_error(totals, event->problem, event->why);
    if (event->record) {
        count_turn(totals, event->record);
        progress_tick(totals->progress);
    }
    if (!event->trajectory)
        return;
    if (event->found)
        count_turns(totals, event->trajectory);
    count_episode(totals, event->trajectory, event->found);
    if (totals->best && best_keep(totals->best, event->trajectory, &kept, &err) < 0)
        report_error(totals, event->problem, &err);
    totals->improved += kept;
}

static void put_summary(const struct totals *totals, const struct rollout_counts *counts,
                        const char *directory, struct buf *out)
{
    buf_printf(out, "%zu of %zu episodes", counts->found + counts->done, counts->episodes);
    if (counts->found > 0)
        buf_printf(out, " (%zu from before)", counts->found);
    buf_printf(out, ", %" PRIu64 " turns", totals->turns);
    if (totals->episodes > 0)
        buf_printf(out, ", %" PRIu64 " solved (%.0f %%)", totals->solved,
                   100.0 * (double)totals->solved / (double)totals->episodes);
    if (totals->unjudged > 0)
        buf_printf(out, ", %" PRIu64 " could not be judged", totals->unjudged);
    if (totals->timed > 0)
        buf_printf(out,
                   ", %" PRIu64 " at least as fast as the reference, geometric mean of the best "
                   "%.2fx",
                   totals->faster, exp(totals->log_speedup / (double)totals->timed));
    if (totals->tokens > 0)
        buf_printf(out, ", %" PRIu64 " tokens generated", totals->tokens);
    if (totals->cost > 0)
        buf_printf(out, ", cost %.4g", totals->cost);
    buf_puts(out, "\n");
    if (totals->best)
        buf_printf(out, "%" PRIu64 " candidates were written to %s\n", totals->improved,
                   totals->best);
    buf_printf(out, "warpgym report %s\n", directory);
}

static json_t *configuration_of(const struct arguments *arguments, const struct settings *settings)
{
    const struct gym_settings *gym = gym_settings(settings);
    json_t *configuration = json_object();
    json_put(configuration, "language", json_text(gym_language(settings)));
    json_put(configuration, "turns", json_integer(gym->turns));
    json_put(configuration, "gamma", json_number(gym_gamma(settings)));
    json_put(configuration, "reward", json_text(gym_reward(settings)));
    json_put(configuration, "stop_speedup", json_number(gym->stop_speedup));
    json_put(configuration, "stop_correct", json_boolean(gym->stop_correct));
    json_put(configuration, "coverage", json_text(coverage_names[gym->coverage]));
    json_put(configuration, "evaluation", json_pack("{s:b}", "timing", arguments->timing));
    json_put(configuration, "prompt",
             json_pack("{s:s, s:I, s:b, s:I, s:I}", "style", gym_style(settings), "shots",
                       (json_int_t)gym->shots, "thinking", gym->thinking, "token_budget",
                       (json_int_t)gym->token_budget, "retrieve", (json_int_t)gym->retrieve));
    json_put(configuration, "history",
             json_pack("{s:I, s:I, s:s, s:s}", "iterations", (json_int_t)gym->iterations,
                       "remain_turns", (json_int_t)gym->remain_turns, "select",
                       history_select_names[gym->select], "select_by",
                       history_value_names[gym->select_by]));
    return configuration;
}

static int rollout_play(struct cli_call *call, const struct arguments *arguments,
                        struct rollout_options *options, size_t count, struct err *err)
{
    struct totals totals = {.best = arguments->best};
    struct rollout_counts counts;
    totals.progress = progress_new(STDERR_FILENO, "playing", count, arguments->quiet);
    log_set_hooks(progress_hide, progress_show, totals.progress);
    options->on_event = on_rollout_event;
    options->context = &totals;
    int result = rollout_run(options, &counts, err);
    log_set_hooks(NULL, NULL, NULL);
    progress_free(totals.progress);
    if (counts.episodes > 0)
        put_summary(&totals, &counts, options->directory, &call->out);
    if (result == ERR_CANCELLED) {
        fprintf(stderr, "warpgym: interrupted; the same command resumes\n");
        return EXIT_INTERRUPTED;
    }
    if (result < 0)
        return result;
    return counts.failed > 0 || totals.unjudged > 0 ? EXIT_SOME_FAILED : EXIT_PASSED;
}

static int rollout_work(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    const struct settings *settings = &call->settings;
    const struct paths_list *search_paths = &call->search_paths;
    const struct tasks_choice choice = {.search_paths = search_paths,
                                        .language = gym_language(settings),
                                        .best = arguments->best};
    const struct policy_options policy = {.url = arguments->policy,
                                          .model = arguments->model,
                                          .settings = settings,
                                          .cancelled = &cli_cancelled};
    char standard[64];
    struct rollout_options options = {.samples = arguments->samples,
                                      .jobs = (size_t)arguments->jobs,
                                      .cancelled = &cli_cancelled};
    json_t *tasks = NULL, *configuration = NULL;
    if (!arguments->policy && !policy_settings(settings)->url[0])
        return cli_fail(EXIT_USAGE, "rollout: give a policy: --policy URL (an OpenAI-compatible "
                                    "endpoint, or scripted:FILE), or the setting policy.url");
    cli_catch_signals();
    options.directory = arguments->out ? arguments->out : cli_new_run(standard, sizeof standard);
    int result = tasks_of(call->words.items, call->words.count, &choice, &tasks, err);
    if (result == 0)
        result = gym_open(&options.gym, settings, search_paths, err);
    if (result == 0)
        result = policy_open(&options.policy, &policy, err);
    if (result == 0)
        result = cli_evaluator_open(call, &arguments->where, &cli_cancelled, &options.evaluator,
                                    err);
    if (result == 0 && cli_is_remote(&arguments->where, settings))
        gym_judged_on(options.gym, arguments->where.server);
    if (result == 0) {
        configuration = configuration_of(arguments, settings);
        options.tasks = tasks;
        options.configuration = configuration;
        result = rollout_play(call, arguments, &options,
                              json_array_size(tasks) * (size_t)arguments->samples, err);
    }
    if (options.evaluator)
        evaluator_close(options.evaluator);
    if (options.policy)
        policy_close(options.policy);
    gym_close(options.gym);
    json_decref(configuration);
    json_decref(tasks);
    return result;
}

int rollout_main(struct cli_call *call)
{
    struct arguments arguments = {.samples = 1, .jobs = STANDARD_JOBS, .timing = true};
    const struct cli_option options[] = {
        OPTION_STRING(0, "policy", &arguments.policy, "URL",
                      "the policy: http://HOST:PORT/v1 (OpenAI-compatible), scripted:FILE"),
        OPTION_STRING('m', "model", &arguments.model, "NAME", "the endpoint's model"),
        OPTION_INT('n', "samples", &arguments.samples, 1, 100000, "N",
                   "episodes of each problem; 1"),
        OPTION_STRING('o', "out", &arguments.out, "DIR",
                      "run directory; an existing run is resumed; runs/DATE-TIME"),
        OPTION_STRING(0, "best", &arguments.best, "DIR",
                      "keep the fastest correct candidate of each problem there, and begin with "
                      "those already there"),
        OPTION_INT('j', "jobs", &arguments.jobs, 1, 4096, "N", "episodes at the same time; 32"),
        OPTION_FLAG(0, "timing", &arguments.timing,
                    "time candidates, too; --no-timing: correctness only"),
        OPTION_PROBLEMS,
        OPTION_SETTING(0, "prompts", &arguments.prompts, "DIR",
                       "your own prompt templates, or a checkout of KernelBench or KernelGYM "
                       "(prompts.path)",
                       .setting = "prompts.path"),
        OPTION_SET_HELP("change a setting: gym.turns=3, gym.style=kevin, policy.temperature=0.7 "
                        "(`warpgym settings`); may be repeated"),
        OPTION_GROUP("Where candidates are judged"),
        OPTIONS_WHERE(&arguments.where, 4096,
                      "evaluations at the same time; here one per CPU, on a server 1000"),
        OPTION_GROUP("Output"),
        OPTION_FLAG('q', "quiet", &arguments.quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, rollout_work, &arguments);
}
