/* report_sets: episodes put together into samples, problems and groups. */
#include "gym/report/internal.h"

#include <stdlib.h>
#include <string.h>

#define NOT_TRIED "(not tried)"

/* The sample that begins at episodes[0]: how many of `count` episodes belong to it. */
static size_t make_sample(struct arena *arena, struct report_episode *const *episodes, size_t count,
                          struct gym_sample *sample)
{
    size_t used = 1, turns = episodes[0]->turn_count;
    for (; used < count && !episodes[used]->begins; used++)
        turns += episodes[used]->turn_count;
    *sample = (struct gym_sample){episodes[0]->turns, turns, episodes[0]->first_return,
                                  episodes[0]->sample};
    if (used == 1)
        return used;
    struct gym_turn *joined = arena_alloc(arena, (turns + 1) * sizeof *joined);
    sample->turns = joined;
    for (size_t i = 0; i < used; i++) {
        memcpy(joined, episodes[i]->turns, episodes[i]->turn_count * sizeof *joined);
        joined += episodes[i]->turn_count;
    }
    return used;
}

static void make_problem(struct arena *arena, struct report_episode *const *episodes, size_t count,
                         struct report_problem *problem)
{
    const struct report_episode *first = episodes[0];
    struct gym_sample *samples = arena_alloc(arena, count * sizeof *samples);
    size_t sample_count = 0;
    for (size_t i = 0; i < count;)
        i += make_sample(arena, episodes + i, count - i, &samples[sample_count++]);
    *problem = (struct report_problem){.name = first->problem,
                                       .level = first->level,
                                       .category = first->category,
                                       .hash = first->hash,
                                       .episodes = episodes,
                                       .episode_count = count,
                                       .gym = {samples, sample_count, sample_count}};
}

/* Requested problems: by name, or a number in all. */
struct asked {
    const char *const *names;
    size_t name_count, total;
};

static struct report_problem add_missing_problems(const char *name)
{
    return (struct report_problem){.name = name, .level = "", .category = "", .hash = ""};
}

static int by_name(const void *a, const void *b)
{
    const struct report_problem *x = a, *y = b;
    /* Those without a name come last. */
    int order = (*x->name == '\0') - (*y->name == '\0');
    return order ? order : strverscmp(x->name, y->name);
}

/* Both lists are in order. */
static void add_named(struct report_set *set, const struct asked *asked)
{
    size_t found = set->problem_count;
    for (size_t i = 0, j = 0; i < asked->name_count; i++) {
        while (j < found && strverscmp(set->problems[j].name, asked->names[i]) < 0)
            j++;
        if (j == found || strcmp(set->problems[j].name, asked->names[i]) != 0)
            set->problems[set->problem_count++] = add_missing_problems(asked->names[i]);
    }
}

static void count_samples(struct report_set *set, size_t most)
{
    for (size_t i = 0; i < set->problem_count; i++) {
        struct gym_problem *problem = &set->problems[i].gym;
        problem->asked = problem->sample_count > most ? problem->sample_count : most;
        set->problems_tried += problem->sample_count > 0;
        set->samples_asked += problem->asked;
        set->samples_found += problem->sample_count;
        for (size_t j = 0; j < problem->sample_count; j++) {
            const struct gym_sample *sample = &problem->samples[j];
            set->samples_lost += gym_is_lost(sample);
            set->turns_found += sample->turn_count;
            for (size_t t = 0; t < sample->turn_count; t++)
                set->turns_excluded += sample->turns[t].excluded;
        }
    }
}

/* `most`: samples requested of each problem; 0: as many as one of them has. *found: that many. */
static void make_set(struct arena *arena, struct report_set *set,
                     struct report_episode *const *episodes, size_t count,
                     const struct asked *asked, size_t most, size_t *found)
{
    size_t capacity = count + asked->name_count + asked->total;
    set->problems = arena_alloc(arena, (capacity + 1) * sizeof *set->problems);
    size_t largest = 1;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (strcmp(episodes[end]->problem, episodes[i]->problem) != 0)
                break;
        struct report_problem *problem = &set->problems[set->problem_count++];
        make_problem(arena, episodes + i, end - i, problem);
        if (problem->gym.sample_count > largest)
            largest = problem->gym.sample_count;
    }
    add_named(set, asked);
    while (set->problem_count < asked->total)
        set->problems[set->problem_count++] = add_missing_problems("");
    qsort(set->problems, set->problem_count, sizeof *set->problems, by_name);
    *found = most > 0 ? most : largest;
    count_samples(set, *found);
}

static const char *group_of(const struct report_episode *episode, enum report_grouping by)
{
    const char *const names[] = {
        [REPORT_BY_NONE] = "",
        [REPORT_BY_LEVEL] = episode->level,
        [REPORT_BY_CATEGORY] = episode->category,
        [REPORT_BY_MODEL] = episode->model,
        [REPORT_BY_LANGUAGE] = episode->language,
    };
    return names[by];
}

/* The level of a problem that nothing was tried of, from its name; else NOT_TRIED. */
static const char *group_of_name(struct arena *arena, const char *name, enum report_grouping by)
{
    const char *level = by == REPORT_BY_LEVEL ? report_level(arena, name) : "";
    return *level ? level : NOT_TRIED;
}

struct names {
    const char **items;
    size_t count;
};

static void add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return;
    names->items = mem_resize(names->items, (names->count + 1) * sizeof *names->items);
    names->items[names->count++] = name;
}

/* Adds unreached problems that were requested of a group. */
static struct asked asked_of_group(struct report *report, const struct report_run *run,
                                   const char *group)
{
    enum report_grouping by = report->options.by;
    struct asked asked = {run->asked, run->asked_count, report->options.problem_total};
    if (by == REPORT_BY_MODEL || by == REPORT_BY_LANGUAGE)
        return asked;
    struct names names = {0};
    size_t nameless = 0;
    for (size_t i = 0; i < run->all.problem_count; i++) {
        const struct report_problem *problem = &run->all.problems[i];
        if (problem->episode_count > 0 ||
            strcmp(group_of_name(&report->arena, problem->name, by), group) != 0)
            continue;
        nameless += !*problem->name;
        if (*problem->name)
            add_name(&names, problem->name);
    }
    const char **kept = arena_alloc(&report->arena, (names.count + 1) * sizeof *kept);
    if (names.count > 0)
        memcpy(kept, names.items, names.count * sizeof *kept);
    mem_free(names.items);
    return (struct asked){kept, names.count, nameless > 0 ? names.count + nameless : 0};
}

static void make_group(struct report *report, struct report_run *run, const char *name,
                       struct report_set *group)
{
    enum report_grouping by = report->options.by;
    struct report_episode **members = arena_alloc(&report->arena,
                                                  (run->episode_count + 1) *
                                                      sizeof(struct report_episode *));
    size_t count = 0, found;
    for (size_t i = 0; i < run->episode_count; i++)
        if (strcmp(group_of(run->episodes[i], by), name) == 0)
            members[count++] = run->episodes[i];
    struct asked asked = asked_of_group(report, run, name);
    bool whole = by == REPORT_BY_LEVEL || by == REPORT_BY_CATEGORY;
    *group = (struct report_set){.name = *name ? name : "(none)"};
    make_set(&report->arena, group, members, count, &asked,
             whole ? run->sample_most : report->options.samples, &found);
}

static void make_groups(struct report *report, struct report_run *run)
{
    enum report_grouping by = report->options.by;
    struct names names = {0};
    for (size_t i = 0; i < run->episode_count; i++)
        add_name(&names, group_of(run->episodes[i], by));
    bool whole = by == REPORT_BY_LEVEL || by == REPORT_BY_CATEGORY;
    for (size_t i = 0; whole && i < run->all.problem_count; i++)
        if (run->all.problems[i].episode_count == 0)
            add_name(&names, group_of_name(&report->arena, run->all.problems[i].name, by));
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, report_name_order);
    run->groups = arena_alloc(&report->arena, (names.count + 1) * sizeof *run->groups);
    for (size_t i = 0; i < names.count; i++)
        make_group(report, run, names.items[i], &run->groups[run->group_count++]);
    mem_free(names.items);
}

/* "a, b": the different values among the episodes. */
static const char *list_texts(struct report *report, const struct report_run *run, size_t offset)
{
    struct names names = {0};
    struct buf text;
    buf_init(&text, 1024);
    for (size_t i = 0; i < run->episode_count; i++) {
        const char *name = *(const char *const *)((const char *)run->episodes[i] + offset);
        if (*name)
            add_name(&names, name);
    }
    for (size_t i = 0; i < names.count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", names.items[i]);
    const char *kept = arena_strdup(&report->arena, text.data);
    mem_free(names.items);
    buf_deinit(&text);
    return kept;
}

int report_make_sets(struct report *report, struct report_run *run, struct err *err)
{
    const struct report_options *options = &report->options;
    struct asked asked = {run->asked, run->asked_count, options->problem_total};
    run->all.name = "";
    make_set(&report->arena, &run->all, run->episodes, run->episode_count, &asked, options->samples,
             &run->sample_most);
    if (options->problem_total > 0 && run->all.problem_count > options->problem_total)
        return err_set(err, ERR_INPUT, "%s: holds %zu problems, more than the %zu asked for",
                       run->path, run->all.problem_count, options->problem_total);
    for (size_t i = 0; i < run->all.problem_count; i++)
        if (run->all.problems[i].gym.asked > run->sample_most)
            run->sample_most = run->all.problems[i].gym.asked;
    if (options->by != REPORT_BY_NONE)
        make_groups(report, run);
    run->models = list_texts(report, run, offsetof(struct report_episode, model));
    run->languages = list_texts(report, run, offsetof(struct report_episode, language));
    run->styles = list_texts(report, run, offsetof(struct report_episode, style));
    run->rewards = list_texts(report, run, offsetof(struct report_episode, reward));
    return 0;
}
