/* report_read: the facts of one file of trajectories. */
#include "gym/report/internal.h"

#include "base/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int report_name_order(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Few different texts occur in many episodes: mostly the last one. */
static const char *intern_text(struct arena *arena, const char *text, const char *last)
{
    return last && strcmp(text, last) == 0 ? last : arena_strdup(arena, text);
}

static double finite_or(double value, double otherwise)
{
    return isfinite(value) ? value : otherwise;
}

static void read_turn(const struct trajectory_turn *from, struct gym_turn *to)
{
    double speedup = fmax(finite_or(from->speedup, 0), 0);
    *to = (struct gym_turn){
        .speedup = speedup,
        .speedup_low = finite_or(from->speedup_low, 0) > 0 ? from->speedup_low : speedup,
        .speedup_high = finite_or(from->speedup_high, 0) > 0 ? from->speedup_high : speedup,
        .reward = from->reward,
        .status = gym_status_of(from->status),
        .cheated = gym_status_of(from->status) == STATUS_VIOLATION ||
                   json_array_size(from->violations) > 0,
        .format_ok = from->format_ok,
        .compiled = from->compiled,
        .correct = from->correct,
        .excluded = from->excluded,
    };
}

static bool says_gameable(const struct trajectory_turn *turn)
{
    const json_t *audit = json_object_get(turn->verdict, "problem_audit");
    const char *outcome = json_string_value(json_object_get(audit, "outcome"));
    return outcome && strcmp(outcome, verdict_audit_name(AUDIT_GAMEABLE)) == 0;
}

static struct report_episode *read_episode(struct arena *arena, const struct trajectory *from,
                                           const struct report_episode *last)
{
    static const struct report_episode none;
    struct report_episode *episode = arena_alloc(arena, sizeof *episode);
    last = last ? last : &none;
    *episode = (struct report_episode){
        .id = arena_strdup(arena, from->episode),
        .problem = intern_text(arena, from->problem, last->problem),
        .hash = intern_text(arena, from->problem_hash, last->hash),
        .level = intern_text(arena, from->level, last->level),
        .category = intern_text(arena, from->category, last->category),
        .model = intern_text(arena, from->model, last->model),
        .language = intern_text(arena, from->language, last->language),
        .policy = intern_text(arena, from->policy, last->policy),
        .style = intern_text(arena, from->style, last->style),
        .reward = intern_text(arena, from->reward_preset, last->reward),
        .end = intern_text(arena, from->end, last->end),
        .sample = from->sample,
        .iteration = from->iteration,
        .max_turns = from->max_turns,
        .gamma = finite_or(from->gamma, 0),
        .first_return = from->first_return,
        .turn_count = from->turn_count,
    };
    episode->turns = arena_alloc(arena, (from->turn_count + 1) * sizeof *episode->turns);
    for (size_t i = 0; i < from->turn_count; i++) {
        read_turn(&from->turns[i], &episode->turns[i]);
        episode->gameable |= says_gameable(&from->turns[i]);
    }
    return episode;
}

/* RFC 3339 in UTC: the order of texts is that of times. */
static void add_times(struct arena *arena, struct report_run *run, const struct trajectory *from)
{
    if (*from->started_at && (!*run->started_at || strcmp(from->started_at, run->started_at) < 0))
        run->started_at = arena_strdup(arena, from->started_at);
    if (strcmp(from->ended_at, run->ended_at) > 0)
        run->ended_at = arena_strdup(arena, from->ended_at);
}

static int append_episode(struct report *report, struct report_run *run,
                          const struct trajectory *trajectory, size_t *capacity, struct err *err)
{
    size_t count = run->episode_count;
    if (count == LIMIT_TRAJECTORIES)
        return err_set(err, ERR_LIMIT, "%s: more than the %d episodes that one report takes",
                       run->path, LIMIT_TRAJECTORIES);
    if (count == *capacity) {
        *capacity = 2 * count + 64;
        run->episodes = mem_resize(run->episodes, *capacity * sizeof(struct report_episode *));
    }
    struct report_episode *episode = read_episode(&report->arena, trajectory,
                                                  count > 0 ? run->episodes[count - 1] : NULL);
    episode->order = count;
    add_times(&report->arena, run, trajectory);
    run->episodes[run->episode_count++] = episode;
    return 0;
}

static int read_episodes(struct report *report, struct report_run *run, struct err *err)
{
    struct lines *lines;
    struct trajectory trajectory;
    size_t capacity = 0;
    run->started_at = run->ended_at = "";
    int result = report_lines_open(&lines, run->path, err);
    if (result < 0)
        return result;
    while ((result = report_next(lines, &trajectory, &run->cut, err)) > 0) {
        result = append_episode(report, run, &trajectory, &capacity, err);
        trajectory_deinit(&trajectory);
        if (result < 0)
            break;
    }
    run->episodes_read = run->episode_count;
    if (result == 0 && run->episode_count == 0)
        result = err_set(err, ERR_INPUT, "%s: holds no episode%s", lines_path(lines),
                         run->cut ? " but a part of one" : "");
    lines_close(lines);
    return result;
}

static struct report_episode *text_at(const void *place)
{
    return *(struct report_episode *const *)place;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_id(const void *a, const void *b)
{
    int order = strcmp(text_at(a)->id, text_at(b)->id);
    return order ? order : by_number((int64_t)text_at(a)->order, (int64_t)text_at(b)->order);
}

static int by_problem(const void *a, const void *b)
{
    int order = strverscmp(text_at(a)->problem, text_at(b)->problem);
    order = order ? order : by_number(text_at(a)->sample, text_at(b)->sample);
    return order ? order : by_number((int64_t)text_at(a)->order, (int64_t)text_at(b)->order);
}

/* The last of those with one identity stays: a verdict that was made again replaces the first. */
static void drop_repeated(struct report_run *run)
{
    size_t kept = 0;
    qsort(run->episodes, run->episode_count, sizeof(struct report_episode *), by_id);
    for (size_t i = 0; i < run->episode_count; i++) {
        const char *id = run->episodes[i]->id;
        bool again = kept > 0 && *id && strcmp(id, run->episodes[kept - 1]->id) == 0;
        kept += !again;
        run->episodes[kept - 1] = run->episodes[i];
    }
    run->repeated = run->episode_count - kept;
    run->episode_count = kept;
}

static bool has_level(const struct report_run *run, const char *level)
{
    for (size_t i = 0; i < run->episode_count; i++)
        if (strcmp(run->episodes[i]->level, level) == 0)
            return true;
    return false;
}

/* Of a checkout's problems, those of the levels that the run has. */
static void request_levels(struct report *report, struct report_run *run)
{
    const struct report_options *options = &report->options;
    const char **names = arena_alloc(&report->arena, (options->problem_count + 1) * sizeof *names);
    const char *last = "";
    bool wanted = false;
    for (size_t i = 0; i < options->problem_count; i++) {
        const char *level = report_level(&report->arena, options->problems[i]);
        if (strcmp(level, last) != 0)
            wanted = *level && has_level(run, level);
        last = level;
        if (*level && wanted)
            names[run->asked_count++] = options->problems[i];
    }
    run->asked = names;
}

static int drop_not_asked(struct report *report, struct report_run *run, struct err *err)
{
    const struct report_options *options = &report->options;
    size_t kept = 0;
    run->asked = options->problems;
    run->asked_count = options->problem_count;
    if (!options->problems)
        return 0;
    if (options->whole_levels) {
        run->asked_count = 0;
        request_levels(report, run);
        return 0;
    }
    for (size_t i = 0; i < run->episode_count; i++)
        if (bsearch(&run->episodes[i]->problem, options->problems, options->problem_count,
                    sizeof *options->problems, report_name_order))
            run->episodes[kept++] = run->episodes[i];
    run->not_asked = run->episode_count - kept;
    run->episode_count = kept;
    return kept > 0 ? 0
                    : err_set(err, ERR_INPUT, "%s: no episode is of a problem that was asked for",
                              run->path);
}

static int drop_gameable(const struct report *report, struct report_run *run, struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->episode_count; i++) {
        struct report_episode *episode = run->episodes[i];
        run->gameable += episode->gameable;
        if (!episode->gameable || !report->options.sound)
            run->episodes[kept++] = episode;
    }
    run->episode_count = kept;
    return kept > 0 ? 0
                    : err_set(err, ERR_INPUT, "%s: every episode is of a problem that can be gamed",
                              run->path);
}

/* Samples without a number of their own, in the order of their lines. */
static void number_samples(struct report_run *run)
{
    int64_t number = 0;
    for (size_t i = 0; i < run->episode_count; i++) {
        if (i > 0 && strcmp(run->episodes[i]->problem, run->episodes[i - 1]->problem) != 0)
            number = 0;
        if (run->episodes[i]->sample < 0)
            run->episodes[i]->sample = number++;
    }
}

int report_read(struct report *report, struct report_run *run, struct err *err)
{
    int result = read_episodes(report, run, err);
    if (result < 0)
        return result;
    drop_repeated(run);
    result = drop_not_asked(report, run, err);
    if (result == 0)
        result = drop_gameable(report, run, err);
    if (result < 0)
        return result;
    qsort(run->episodes, run->episode_count, sizeof(struct report_episode *), by_problem);
    number_samples(run);
    for (size_t i = 0; i < run->episode_count; i++) {
        struct report_episode *episode = run->episodes[i];
        const struct report_episode *before = i > 0 ? run->episodes[i - 1] : NULL;
        episode->begins = !before || episode->sample != before->sample ||
                          episode->iteration <= before->iteration ||
                          strcmp(episode->problem, before->problem) != 0;
        run->ended_by_error += strcmp(episode->end, "error") == 0;
    }
    return 0;
}
