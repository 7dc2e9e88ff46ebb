#include "rl/train/stage.h"

#include "base/json.h"
#include "gym/reward/reward.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_WORDS 3
#define WORD_BYTES 64

static int read_measure(const char *word, struct stage *stage, struct err *err)
{
    int measure;
    if (word_find(WORDS_IN(STAGE_MEASURES), "measure", word, &measure, err) < 0)
        return err_prefix(err, "train.stages");
    stage->measure = (enum stage_measure)measure;
    return 0;
}

static int read_rate(const char *word, struct stage *stage, struct err *err)
{
    char *end;
    stage->rate = strtod(word, &end);
    if (end == word || *end || !(stage->rate > 0 && stage->rate <= 1))
        return err_set(err, ERR_INPUT, "train.stages: '%s' is not a rate above 0 and at most 1",
                       word);
    return 0;
}

/* Reads one part up to a comma, and moves *text past it. */
static int read_stage(const char **text, struct stage *stage, struct err *err)
{
    char words[STAGE_WORDS][WORD_BYTES];
    struct reward_config ignored;
    const char *at = *text;
    size_t count = 0, end = strcspn(at, ",");
    while (at += strspn(at, " \t"), at < *text + end) {
        size_t length = strcspn(at, " \t,");
        if (count == STAGE_WORDS || length >= WORD_BYTES)
            return err_set(err, ERR_INPUT, "train.stages: '%.*s' is not PRESET MEASURE RATE",
                           (int)(end < 100 ? end : 100), *text);
        snprintf(words[count++], WORD_BYTES, "%.*s", (int)length, at);
        at += length;
    }
    bool last = (*text)[end] == '\0';
    if (count != (last ? 1 : STAGE_WORDS))
        return err_set(err, ERR_INPUT,
                       last ? "train.stages: the last stage, '%.*s', is a PRESET alone"
                            : "train.stages: '%.*s' is not PRESET MEASURE RATE",
                       (int)(end < 100 ? end : 100), *text);
    *text += end + !last;
    snprintf(stage->preset, sizeof stage->preset, "%s", words[0]);
    int result = reward_preset(words[0], &ignored, err);
    if (result < 0)
        return err_prefix(err, "train.stages");
    if (!last)
        result = read_measure(words[1], stage, err);
    if (result == 0 && !last)
        result = read_rate(words[2], stage, err);
    return result;
}

int stages_open(struct stages *stages, const char *text, size_t window, struct err *err)
{
    int result = 0;
    *stages = (struct stages){.window = window, .rates = json_array()};
    while (*text && result == 0) {
        if (stages->count == STAGES_MOST)
            result = err_set(err, ERR_LIMIT, "train.stages: more than %d stages", STAGES_MOST);
        bool comma = strchr(text, ',') != NULL;
        if (result == 0)
            result = read_stage(&text, &stages->list[stages->count++], err);
        if (result == 0 && comma && !*text)
            result = err_set(err, ERR_INPUT, "train.stages: nothing follows the last comma");
    }
    if (result < 0)
        stages_close(stages);
    return result;
}

void stages_close(struct stages *stages)
{
    json_decref(stages->rates);
    *stages = (struct stages){0};
}

const char *stages_reward(const struct stages *stages, const char *standard)
{
    return stages->count > 0 ? stages->list[stages->at].preset : standard;
}

bool stages_update(struct stages *stages, const double rates[STAGE_MEASURE_COUNT])
{
    if (stages->at + 1 >= stages->count)
        return false;
    const struct stage *stage = &stages->list[stages->at];
    double rate = rates[stage->measure], sum = 0;
    if (isnan(rate))
        return false;
    json_array_append_new(stages->rates, json_real(rate));
    if (json_array_size(stages->rates) > stages->window)
        json_array_remove(stages->rates, 0);
    for (size_t i = 0; i < json_array_size(stages->rates); i++)
        sum += json_number_value(json_array_get(stages->rates, i));
    if (json_array_size(stages->rates) < stages->window ||
        sum / (double)stages->window < stage->rate)
        return false;
    stages->at++;
    json_array_clear(stages->rates);
    return true;
}

json_t *stages_state(const struct stages *stages)
{
    json_t *state = json_object();
    json_put(state, "at", json_integer((json_int_t)stages->at));
    json_put(state, "rates", json_deep_copy(stages->rates));
    return state;
}

int stages_restore(struct stages *stages, const json_t *state, struct err *err)
{
    int64_t at;
    json_t *rates = NULL, *rate;
    size_t i;
    int result = json_get_int(state, "at", &at, err);
    if (result == 0)
        result = json_get_array(state, "rates", &rates, err);
    if (result < 0)
        return result;
    if (at < 0 || (at > 0 && (size_t)at >= stages->count))
        return err_set(err, ERR_INPUT, "no stage %lld", (long long)at);
    json_array_foreach(rates, i, rate)
    {
        if (!json_is_number(rate) || i >= stages->window)
            return err_set(err, ERR_INPUT, "invalid rates of a stage");
    }
    stages->at = (size_t)at;
    json_decref(stages->rates);
    stages->rates = json_deep_copy(rates);
    return 0;
}
