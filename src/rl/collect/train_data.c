#include "rl/collect/train_data.h"

#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/history.h"
#include "gym/episode/tasks.h"
#include "gym/gym_settings.h"
#include "rl/method/counter_random.h"
#include "rl/train/train_settings.h"

#include <math.h>
#include <string.h>

#define EPOCHS_PASSED 8

int train_data_tasks(const char *text, const struct settings *settings,
                     const struct paths_list *search_paths, json_t **tasks, struct err *err)
{
    const struct tasks_choice choice = {.search_paths = search_paths,
                                        .language = gym_language(settings)};
    struct arena arena = {0};
    const char **words = arena_alloc(&arena, (strlen(text) / 2 + 2) * sizeof *words);
    size_t count = 0;
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        size_t length = strcspn(text, " \t");
        words[count++] = arena_strndup(&arena, text, length);
        text += length;
    }
    int result = tasks_of(words, count, &choice, tasks, err);
    arena_deinit(&arena);
    return result;
}

static const char *problem_hash(const json_t *task)
{
    const char *hash = json_text_at(json_object_get(task, "problem"), "hash");
    return *hash ? hash : json_text_at(task, "hash");
}

/* The problem's identity, whether named by id or by path. */
static bool contains_problem(const json_t *tasks, const json_t *task)
{
    for (size_t i = 0; i < json_array_size(tasks); i++)
        if (strcmp(problem_hash(json_array_get(tasks, i)), problem_hash(task)) == 0)
            return true;
    return false;
}

static void remove_held_out(json_t *tasks, const json_t *others)
{
    for (size_t i = json_array_size(tasks); i-- > 0;)
        if (contains_problem(others, json_array_get(tasks, i)))
            json_array_remove(tasks, i);
}

/* At least one, if there are two. */
static json_t *draw_held_out(const json_t *tasks, double share, uint64_t seed)
{
    json_t *drawn = json_array();
    size_t count = json_array_size(tasks), wanted = (size_t)lround(share * (double)count);
    if (share <= 0 || count < 2)
        return drawn;
    wanted = wanted == 0 ? 1 : wanted == count ? count - 1 : wanted;
    size_t *order = mem_alloc(count * sizeof *order);
    bool *chosen = mem_alloc(count);
    rl_shuffle(seed, 0, RL_STREAM_HELD_OUT, order, count);
    for (size_t i = 0; i < wanted; i++)
        chosen[order[i]] = true;
    for (size_t i = 0; i < count; i++)
        if (chosen[i])
            json_array_append(drawn, json_array_get(tasks, i));
    mem_free(chosen);
    mem_free(order);
    return drawn;
}

static void add_tasks(struct hash *hash, const json_t *tasks)
{
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *task = json_array_get(tasks, i);
        const char *whole = json_text_at(task, "hash");
        hash_update_string(hash,
                           *whole ? whole : json_text_at(json_object_get(task, "problem"), "hash"));
    }
}

static void make_digest(struct train_data *data)
{
    struct hash *hash = hash_new();
    add_tasks(hash, data->train);
    hash_update_string(hash, "held out");
    add_tasks(hash, data->held_out);
    hash_finish(hash, data->digest);
}

static size_t most_turns(const struct settings *settings)
{
    const struct gym_settings *gym = gym_settings(settings);
    return (size_t)history_turns(gym->turns, gym->remain_turns, gym->iterations);
}

int train_data_open(struct train_data *data, const struct settings *settings,
                    const struct paths_list *search_paths, struct err *err)
{
    const struct train_settings *train = train_settings(settings);
    *data = (struct train_data){.seed = (uint64_t)train->seed};
    int result = train_data_tasks(train->problems, settings, search_paths, &data->train, err);
    if (result < 0)
        return err_prefix(err, "train.problems");
    if (train->held_out[0])
        result = train_data_tasks(train->held_out, settings, search_paths, &data->held_out, err);
    else
        data->held_out = draw_held_out(data->train, train->held_out_share, data->seed);
    if (result < 0) {
        train_data_close(data);
        return err_prefix(err, "train.held_out");
    }
    remove_held_out(data->train, data->held_out);
    if (json_array_size(data->train) == 0 && train->steps > 0) {
        train_data_close(data);
        return err_set(
            err, ERR_INPUT,
            "train.problems: no problem is left to train on; all of '%.100s' are held out",
            train->problems);
    }
    make_digest(data);
    data->kind = (struct train_order){.kind = train->order,
                                      .low = train->order_low,
                                      .high = train->order_high,
                                      .target = train->order_target,
                                      .width = train->order_width,
                                      .fresh = train->order_fresh};
    problem_records_open(&data->records, data->train, most_turns(settings));
    data->order = mem_alloc((json_array_size(data->train) + 1) * sizeof *data->order);
    rl_shuffle(data->seed, 0, RL_STREAM_DATA, data->order, json_array_size(data->train));
    return 0;
}

void train_data_close(struct train_data *data)
{
    json_decref(data->train);
    json_decref(data->held_out);
    problem_records_close(&data->records);
    mem_free(data->order);
    *data = (struct train_data){0};
}

/* The next problem of the epoch's order. */
static size_t next_problem(struct train_data *data, struct train_data_position *place)
{
    size_t all = json_array_size(data->train);
    if (place->index >= all)
        *place = (struct train_data_position){.epoch = place->epoch + 1};
    if (data->epoch != place->epoch) {
        data->epoch = place->epoch;
        rl_shuffle(data->seed, data->epoch, RL_STREAM_DATA, data->order, all);
    }
    return data->order[place->index++];
}

/* The next one that stays; any, if none did for some epochs. */
static size_t next_kept(struct train_data *data, struct train_data_position *place)
{
    size_t tries = EPOCHS_PASSED * json_array_size(data->train), index = next_problem(data, place);
    while (data->kind.kind != TRAIN_SHUFFLED && tries-- > 0 &&
           rl_uniform(data->seed, place->epoch, RL_STREAM_ORDER, index) >=
               train_order_keep(&data->kind, data->records.list[index].rate))
        index = next_problem(data, place);
    return index;
}

/* Positions count the problems that were drawn. */
static void draw_by_target(struct train_data *data, struct train_data_position *place, size_t count,
                           size_t *chosen)
{
    size_t all = json_array_size(data->train);
    for (size_t done = 0, some = 0; done < count; done += some) {
        some = count - done < all ? count - done : all;
        train_order_draw(&data->kind, &data->records, data->seed, place->epoch * all + place->index,
                         some, chosen + done);
        place->index += some;
        if (place->index >= all)
            *place = (struct train_data_position){place->epoch + 1, place->index - all};
    }
}

json_t *train_data_draw(struct train_data *data, struct train_data_position *place, size_t count)
{
    json_t *tasks = json_array();
    size_t *chosen = mem_alloc((count + 1) * sizeof *chosen);
    if (json_array_size(data->train) == 0)
        count = 0;
    if (data->kind.kind == TRAIN_TARGET)
        draw_by_target(data, place, count, chosen);
    for (size_t i = 0; i < count; i++) {
        size_t index = data->kind.kind == TRAIN_TARGET ? chosen[i] : next_kept(data, place);
        json_array_append(tasks, json_array_get(data->train, index));
    }
    mem_free(chosen);
    return tasks;
}
