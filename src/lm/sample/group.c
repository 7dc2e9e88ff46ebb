#include "lm/sample/group.h"

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define TOKENS_FIRST 16

static int check_stops(const struct lm_request *request, struct err *err)
{
    const struct lm_sampling *sampling = &request->sampling;
    if (sampling->stop_count > LM_STOPS_MAX || sampling->stop_token_count > LM_STOPS_MAX)
        return err_set(err, ERR_LIMIT, "at most %d stop strings and %d stop tokens can be given",
                       LM_STOPS_MAX, LM_STOPS_MAX);
    if (sampling->stop_count > 0 && !request->tokenizer)
        return err_set(err, ERR_INPUT, "stop strings need a tokenizer; give stop tokens instead");
    for (size_t i = 0; i < sampling->stop_count; i++) {
        size_t length = strlen(sampling->stops[i]);
        if (length == 0 || length > LIMIT_LM_STOP_BYTES)
            return err_set(err, ERR_INPUT, "stop string %zu has %zu bytes, not 1 to %d", i + 1,
                           length, LIMIT_LM_STOP_BYTES);
    }
    return 0;
}

static int check_sampling(const struct lm_sampling *sampling, struct err *err)
{
    const struct {
        const char *name;
        double value, high;
    } bounds[] = {
        {"temperature", sampling->temperature, LIMIT_LM_TEMPERATURE},
        {"top_p", sampling->top_p, 1},
        {"min_p", sampling->min_p, 1},
    };
    for (size_t i = 0; i < COUNT(bounds); i++)
        if (!(bounds[i].value >= 0 && bounds[i].value <= bounds[i].high))
            return err_set(err, ERR_INPUT, "%s is %g, not 0 to %g", bounds[i].name, bounds[i].value,
                           bounds[i].high);
    if (sampling->top_logprobs > LM_TOP_LOGPROBS_MAX)
        return err_set(err, ERR_LIMIT, "top_logprobs is %zu, not 0 to %d", sampling->top_logprobs,
                       LM_TOP_LOGPROBS_MAX);
    return 0;
}

/* *limit: new tokens. */
static int check_length(const struct lm_request *request, const struct group_bounds *bounds,
                        size_t *limit, struct err *err)
{
    const bool model = bounds->positions <= bounds->cache_tokens;
    const size_t capacity = model ? bounds->positions : bounds->cache_tokens;
    const size_t count = request->prompt_count, wanted = request->sampling.max_tokens;
    if (count >= capacity || wanted > capacity - count)
        return err_set(err, ERR_INPUT,
                       "the prompt has %zu tokens and %zu more are asked for, but %s %zu: %s",
                       count, wanted > 0 ? wanted : 1,
                       model ? "the model's positions are" : "the sampler's cache holds", capacity,
                       model ? "shorten the prompt or ask for fewer tokens"
                             : "ask for fewer tokens or give the sampler a larger cache");
    *limit = wanted > 0 ? wanted : capacity - count;
    return 0;
}

static int check(const struct lm_request *request, const struct group_bounds *bounds, size_t *limit,
                 struct err *err)
{
    if (request->prompt_count == 0)
        return err_set(err, ERR_INPUT,
                       "the prompt has no tokens: give at least one, such as the begin token");
    for (size_t i = 0; i < request->prompt_count; i++)
        if (request->prompt[i] < 0 || (size_t)request->prompt[i] >= bounds->vocab)
            return err_set(err, ERR_INPUT,
                           "token %zu of the prompt is %d, outside the model's vocabulary of %zu",
                           i, request->prompt[i], bounds->vocab);
    if (request->samples == 0 || request->samples > LIMIT_LM_SAMPLES)
        return err_set(err, ERR_LIMIT, "%zu samples are asked for, not 1 to %d", request->samples,
                       LIMIT_LM_SAMPLES);
    int result = check_sampling(&request->sampling, err);
    if (result == 0)
        result = check_stops(request, err);
    if (result == 0)
        result = check_length(request, bounds, limit, err);
    return result;
}

static void copy_sampling(struct lm_sampling *sampling)
{
    char **stops = NULL;
    if (sampling->stop_count > 0)
        stops = mem_alloc(sampling->stop_count * sizeof *stops);
    for (size_t i = 0; i < sampling->stop_count; i++)
        stops[i] = mem_strdup(sampling->stops[i]);
    sampling->stops = (const char *const *)stops;
    sampling->stop_tokens = mem_copy(sampling->stop_tokens,
                                     sampling->stop_token_count * sizeof *sampling->stop_tokens);
}

static void make_scores(struct group *group)
{
    const size_t top = group->sampling.top_logprobs;
    group->prompt_logprobs = mem_alloc(group->prompt_count * sizeof *group->prompt_logprobs);
    group->prompt_logprobs[0] = NAN;
    group->scored_count = 1;
    if (top == 0)
        return;
    group->prompt_top = mem_alloc(group->prompt_count * top * sizeof *group->prompt_top);
    for (size_t i = 0; i < top; i++)
        group->prompt_top[i] = (struct lm_top){.id = -1, .logprob = NAN};
}

int group_new(struct group **out, const struct lm_request *request,
              const struct group_bounds *bounds, struct err *err)
{
    size_t limit = 0;
    int result = check(request, bounds, &limit, err);
    if (result < 0)
        return result;
    struct group *group = mem_alloc(sizeof *group);
    *group = (struct group){
        .prompt = mem_copy(request->prompt, request->prompt_count * sizeof *request->prompt),
        .prompt_count = request->prompt_count,
        .limit = limit,
        .sampling = request->sampling,
        .tokenizer = request->tokenizer,
        .on_event = request->on_event,
        .scored = request->scored,
        .context = request->context,
        .sequences = mem_alloc(request->samples * sizeof *group->sequences),
        .count = request->samples,
        .live = request->samples,
    };
    copy_sampling(&group->sampling);
    if (group->sampling.prompt_logprobs)
        make_scores(group);
    for (size_t i = 0; i < group->count; i++) {
        struct sequence *sequence = &group->sequences[i];
        sequence->group = group;
        sequence->index = i;
        if (group->sampling.stop_count > 0)
            stop_scan_init(&sequence->scan, group->tokenizer, group->sampling.stops,
                           group->sampling.stop_count);
    }
    *out = group;
    return 0;
}

void group_free(struct group *group)
{
    if (!group)
        return;
    for (size_t i = 0; i < group->count; i++) {
        struct sequence *sequence = &group->sequences[i];
        if (group->sampling.stop_count > 0)
            stop_scan_deinit(&sequence->scan);
        mem_free(sequence->sample.tokens);
        mem_free(sequence->sample.logprobs);
        mem_free(sequence->sample.top);
        mem_free(sequence->pages);
    }
    for (size_t i = 0; i < group->sampling.stop_count; i++)
        mem_free((void *)group->sampling.stops[i]);
    mem_free((void *)group->sampling.stops);
    mem_free((void *)group->sampling.stop_tokens);
    mem_free(group->prompt_logprobs);
    mem_free(group->prompt_top);
    mem_free(group->sequences);
    mem_free(group->prompt);
    mem_free(group);
}

size_t sequence_known(const struct sequence *sequence)
{
    return sequence->group->prompt_count + sequence->sample.count;
}

int32_t sequence_token(const struct sequence *sequence, size_t position)
{
    const size_t prompt = sequence->group->prompt_count;
    return position < prompt ? sequence->group->prompt[position]
                             : sequence->sample.tokens[position - prompt];
}

struct lm_top *sequence_grow(struct sequence *sequence)
{
    struct lm_sample *sample = &sequence->sample;
    const size_t top = sequence->group->sampling.top_logprobs;
    if (sample->count == sequence->capacity) {
        size_t capacity = sequence->capacity > 0 ? 2 * sequence->capacity : TOKENS_FIRST;
        sample->tokens = mem_resize(sample->tokens, capacity * sizeof *sample->tokens);
        sample->logprobs = mem_resize(sample->logprobs, capacity * sizeof *sample->logprobs);
        if (top > 0)
            sample->top = mem_resize(sample->top, capacity * top * sizeof *sample->top);
        sequence->capacity = capacity;
    }
    return top > 0 ? sample->top + sample->count * top : NULL;
}

bool group_is_scoring(const struct group *group)
{
    return group->prompt_logprobs && group->scored_count < group->prompt_count;
}
