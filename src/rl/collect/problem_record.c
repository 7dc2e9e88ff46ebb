#include "rl/collect/problem_record.h"

#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/tasks.h"

#include <math.h>

void problem_records_open(struct problem_records *records, const json_t *tasks, size_t turns)
{
    size_t count = json_array_size(tasks);
    *records = (struct problem_records){
        .count = count,
        .turns = turns,
        .list = mem_alloc((count + 1) * sizeof *records->list),
        .values = mem_alloc((count * turns + 1) * sizeof *records->values),
        .places = json_object(),
    };
    for (size_t i = 0; i < count; i++) {
        records->list[i].rate = NAN;
        json_put(records->places, task_problem(json_array_get(tasks, i)),
                 json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < count * turns; i++)
        records->values[i] = NAN;
}

void problem_records_close(struct problem_records *records)
{
    mem_free(records->list);
    mem_free(records->values);
    json_decref(records->places);
    *records = (struct problem_records){0};
}

size_t problem_records_find(const struct problem_records *records, const char *problem)
{
    const json_t *place = json_object_get(records->places, problem);
    return json_is_integer(place) ? (size_t)json_integer_value(place) : SIZE_MAX;
}

/* Moves `value` by `weight` of the way to `seen`; an unknown value all of it, to an unknown one
 * none. */
static void move(double *value, double seen, double weight)
{
    if (isnan(seen))
        return;
    *value = isnan(*value) ? seen : *value + weight * (seen - *value);
}

void problem_records_learn(struct problem_records *records, size_t index, double share,
                           double memory, const double *returns, double critic)
{
    records->list[index].uses++;
    move(&records->list[index].rate, share, memory);
    for (size_t turn = 0; turn < records->turns; turn++)
        move(&records->values[index * records->turns + turn], returns[turn], critic);
}

double problem_records_value(const struct problem_records *records, size_t index, size_t turn)
{
    double value = index < records->count && turn < records->turns
                       ? records->values[index * records->turns + turn]
                       : NAN;
    return isnan(value) ? 0 : value;
}

json_t *problem_records_state(const struct problem_records *records)
{
    json_t *state = json_array();
    for (size_t i = 0; i < records->count; i++) {
        json_t *values = json_array(), *line = json_array();
        if (records->list[i].uses == 0) {
            json_decref(values);
            json_decref(line);
            continue;
        }
        for (size_t turn = 0; turn < records->turns; turn++)
            json_array_append_new(values, json_number(records->values[i * records->turns + turn]));
        json_array_append_new(line, json_integer((json_int_t)i));
        json_array_append_new(line, json_number(records->list[i].rate));
        json_array_append_new(line, json_integer((json_int_t)records->list[i].uses));
        json_array_append_new(line, values);
        json_array_append_new(state, line);
    }
    return state;
}

static double number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

int problem_records_restore(struct problem_records *records, const json_t *state, struct err *err)
{
    json_t *line;
    size_t i;
    json_array_foreach(state, i, line)
    {
        json_int_t index = json_integer_value(json_array_get(line, 0));
        json_int_t uses = json_integer_value(json_array_get(line, 2));
        const json_t *values = json_array_get(line, 3);
        if (!json_is_integer(json_array_get(line, 0)) || index < 0 ||
            (uint64_t)index >= records->count || uses < 0)
            return err_set(err, ERR_INPUT, "seen: no problem %lld", (long long)index);
        records->list[index].rate = number_or_nan(json_array_get(line, 1));
        records->list[index].uses = (uint64_t)uses;
        for (size_t turn = 0; turn < records->turns; turn++)
            records->values[(size_t)index * records->turns + turn] = number_or_nan(
                json_array_get(values, turn));
    }
    return 0;
}
