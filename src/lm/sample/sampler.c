#include "lm/sample/sampler.h"

#include "base/limits.h"
#include "base/mem.h"
#include "lm/sample/choose.h"
#include "lm/sample/sampler_internal.h"

#include <string.h>

#include <utlist.h>

#define PAGE_STANDARD 16
#define PROMPT_ROWS 256 /* of a step, beside those that decode */

const struct lm_sampling lm_sampling_defaults = {.temperature = 1, .top_p = 1};

/* A sequence whose next token comes of a row of this step. */
struct head {
    struct sequence *sequence;
    int32_t row;
};

struct lm_sampler {
    struct lm_model *model;
    struct forward *forward;
    struct schedule schedule;
    struct chooser chooser;
    struct group_bounds bounds;
    struct group *groups, *ended; /* the oldest first; those that are freed when the step is over */
    uint64_t last_id, version;
    bool cancelling;    /* some group is to end */
    struct head *heads; /* [places] */
    size_t head_count;
    int32_t *rows; /* [block]: which rows' logits are wanted */
    struct lm_sampler_stats stats;
};

uint64_t lm_cache_position_bytes(const struct lm_config *config, enum lm_dtype dtype)
{
    return 2 * (uint64_t)config->layers * config->kv_heads * config->head_width *
           lm_dtype_bytes(dtype);
}

struct lm_sampler_options lm_sampler_capacity(const struct lm_config *config, enum lm_dtype dtype,
                                              size_t sequences, size_t tokens, uint64_t cache_bytes)
{
    const uint64_t least = (tokens + PAGE_STANDARD - 1) / PAGE_STANDARD, all = sequences * least;
    const uint64_t most = cache_bytes / (lm_cache_position_bytes(config, dtype) * PAGE_STANDARD);
    const uint64_t pages = all < most ? all : most > least ? most : least;
    return (struct lm_sampler_options){.sequences = sequences,
                                       .rows = sequences + PROMPT_ROWS,
                                       .page = PAGE_STANDARD,
                                       .cache_tokens = (size_t)pages * PAGE_STANDARD};
}

static int check_options(const struct lm_model *model, const struct lm_sampler_options *options,
                         struct err *err)
{
    if (model->backend->dtype != LM_F32)
        return err_set(err, ERR_UNSUPPORTED, "sampling needs a backend that computes in f32");
    if (options->sequences == 0 || options->sequences > LIMIT_LM_SAMPLES)
        return err_set(err, ERR_INPUT, "a sampler decodes 1 to %d sequences at once, not %zu",
                       LIMIT_LM_SAMPLES, options->sequences);
    if (options->rows < options->sequences || options->rows > LIMIT_LM_STEP_ROWS)
        return err_set(err, ERR_INPUT,
                       "a step of a sampler has a row for each sequence at least, and at most %d: "
                       "%zu to %d, not %zu",
                       LIMIT_LM_STEP_ROWS, options->sequences, LIMIT_LM_STEP_ROWS, options->rows);
    if (options->page > LIMIT_LM_PAGE_POSITIONS)
        return err_set(err, ERR_INPUT, "a page has at most %d positions, not %zu",
                       LIMIT_LM_PAGE_POSITIONS, options->page);
    size_t page = options->page > 0 ? options->page : PAGE_STANDARD;
    if (options->cache_tokens < page || options->cache_tokens > LIMIT_LM_CACHE_POSITIONS)
        return err_set(err, ERR_INPUT, "a cache holds %zu (one page) to %zu positions, not %zu",
                       page, (size_t)LIMIT_LM_CACHE_POSITIONS, options->cache_tokens);
    return 0;
}

int lm_sampler_open(struct lm_sampler **out, struct lm_model *model,
                    const struct lm_sampler_options *options, struct err *err)
{
    int result = check_options(model, options, err);
    if (result < 0)
        return result;
    const size_t page = options->page > 0 ? options->page : PAGE_STANDARD;
    const size_t pages = options->cache_tokens / page;
    const size_t positions = model->positions;
    const size_t longest = positions < pages * page ? positions : pages * page;
    struct forward_options capacity = {.rows = options->rows,
                                       .sequences = options->sequences,
                                       .page = page,
                                       .pages = pages,
                                       .max_pages = (longest + page - 1) / page};
    struct lm_sampler *sampler = mem_alloc(sizeof *sampler);
    result = forward_open(&sampler->forward, model, &capacity, err);
    if (result < 0) {
        mem_free(sampler);
        return result;
    }
    sampler->model = model;
    sampler->version = model->version;
    sampler->bounds = (struct group_bounds){model->config.vocab, positions, pages * page};
    sampler->schedule = (struct schedule){.pages = pages_new(pages, page),
                                          .places = options->sequences,
                                          .rows = options->rows,
                                          .page = page,
                                          .tokens = mem_alloc(page * sizeof(int32_t)),
                                          .forward = sampler->forward};
    sampler->heads = mem_alloc(options->sequences * sizeof *sampler->heads);
    sampler->rows = mem_alloc(forward_block(sampler->forward) * sizeof *sampler->rows);
    chooser_init(&sampler->chooser, model->config.vocab);
    *out = sampler;
    return 0;
}

static void free_groups(struct group **groups)
{
    struct group *group, *next;
    DL_FOREACH_SAFE (*groups, group, next)
        group_free(group);
    *groups = NULL;
}

void lm_sampler_close(struct lm_sampler *sampler)
{
    if (!sampler)
        return;
    free_groups(&sampler->groups);
    free_groups(&sampler->ended);
    forward_close(sampler->forward);
    pages_free(sampler->schedule.pages);
    chooser_deinit(&sampler->chooser);
    mem_free(sampler->schedule.tokens);
    mem_free(sampler->heads);
    mem_free(sampler->rows);
    mem_free(sampler);
}

const struct group_bounds *sampler_bounds(const struct lm_sampler *sampler)
{
    return &sampler->bounds;
}

const struct schedule *sampler_schedule(const struct lm_sampler *sampler)
{
    return &sampler->schedule;
}

void sampler_add(struct lm_sampler *sampler, struct group *group)
{
    DL_APPEND(sampler->groups, group);
    sampler->cancelling |= group->cancelled;
    sampler->stats.requests++;
    sampler->stats.prompt_tokens += group->prompt_count * group->count;
    for (size_t i = 0; i < group->count; i++)
        schedule_add(&sampler->schedule, &group->sequences[i]);
}

int lm_sampler_submit(struct lm_sampler *sampler, const struct lm_request *request, uint64_t *id,
                      struct err *err)
{
    struct group *group = NULL;
    int result = group_new(&group, request, &sampler->bounds, err);
    if (result < 0)
        return result;
    *id = group->id = ++sampler->last_id;
    sampler_add(sampler, group);
    return 0;
}

void lm_sampler_cancel(struct lm_sampler *sampler, uint64_t id)
{
    struct group *group;
    DL_FOREACH (sampler->groups, group)
        if (group->id == id)
            group->cancelled = sampler->cancelling = true;
}

void sampler_cancel_all(struct lm_sampler *sampler)
{
    struct group *group;
    DL_FOREACH (sampler->groups, group)
        group->cancelled = sampler->cancelling = true;
}

static void end(struct lm_sampler *sampler, struct sequence *sequence, enum lm_finish finish)
{
    struct group *group = sequence->group;
    struct lm_sample *sample = &sequence->sample;
    schedule_end(&sampler->schedule, sequence);
    sample->finish = finish;
    if (group->sampling.stop_count > 0) {
        if (stop_scan_end(&sequence->scan, NULL) < 0)
            sample->finish = LM_FAILED;
        sample->text_end = sequence->scan.safe_bytes;
    }
    if (group->on_event)
        group->on_event(group->context, sequence->index, sample);
    if (--group->live == 0) {
        DL_DELETE(sampler->groups, group);
        DL_APPEND(sampler->ended, group);
    }
}

static void end_group(struct lm_sampler *sampler, struct group *group, enum lm_finish finish)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->sequences[i].state != SEQUENCE_ENDED)
            end(sampler, &group->sequences[i], finish);
}

/* An event callback may cancel others: they are handled here again, or with the next step. */
static void end_cancelled(struct lm_sampler *sampler)
{
    struct group *group, *next;
    sampler->cancelling = false;
    DL_FOREACH_SAFE (sampler->groups, group, next)
        if (group->cancelled)
            end_group(sampler, group, LM_CANCELLED);
}

static bool is_stop(const int32_t *tokens, size_t count, int32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (tokens[i] == id)
            return true;
    return false;
}

/* What the newest token means for its sample. */
static int finish_of(const struct lm_sampler *sampler, struct sequence *sequence, int32_t id,
                     enum lm_finish *finish, struct err *err)
{
    const struct lm_config *config = &sampler->model->config;
    const struct lm_sampling *sampling = &sequence->group->sampling;
    bool stopped = is_stop(sampling->stop_tokens, sampling->stop_token_count, id) ||
                   (!sampling->ignore_model_stops &&
                    is_stop(config->stop_tokens, config->stop_count, id));
    if (sampling->stop_count > 0) {
        int result = stop_scan_put(&sequence->scan, id, err);
        if (result < 0)
            return result;
        sequence->sample.text_end = sequence->scan.safe_bytes;
        stopped |= sequence->scan.found;
    }
    *finish = LM_RUNNING;
    if (stopped)
        *finish = LM_STOP;
    else if (sequence->sample.count == sequence->group->limit)
        *finish = LM_LENGTH;
    return 0;
}

static void advance(struct lm_sampler *sampler, struct sequence *sequence, const float *logits)
{
    struct group *group = sequence->group;
    struct lm_sample *sample = &sequence->sample;
    const struct lm_sampling *sampling = &group->sampling;
    enum lm_finish finish = LM_FAILED;
    int32_t id;
    if (group->cancelled)
        return;
    struct lm_top *top = sequence_grow(sequence);
    double uniform = choose_uniform(sampling->seed + sequence->index, sample->count);
    int result = choose(&sampler->chooser, logits, sampling, uniform, &id,
                        &sample->logprobs[sample->count], top, NULL);
    if (result == 0) {
        sample->tokens[sample->count++] = id;
        sampler->stats.tokens++;
        result = finish_of(sampler, sequence, id, &finish, NULL);
    }
    if (result < 0 || finish != LM_RUNNING)
        end(sampler, sequence, result < 0 ? LM_FAILED : finish);
    else if (group->on_event)
        group->on_event(group->context, sequence->index, sample);
}

/* The prompt is in the cache: all samples that there is place for begin with it. */
static void begin_samples(struct lm_sampler *sampler, struct sequence *leader, const float *logits)
{
    struct group *group = leader->group;
    bool place = true;
    group->leader = NULL;
    if (group->prompt_logprobs && group->scored && !group->scored_reported)
        group->scored(group->context, group->prompt_logprobs, group->prompt_top);
    group->scored_reported = true;
    for (size_t i = 0; i < group->count && place; i++) {
        struct sequence *sequence = &group->sequences[i];
        if (sequence->state == SEQUENCE_WAITING && sequence->sample.count == 0)
            place = schedule_fork(&sampler->schedule, leader, sequence);
    }
    for (size_t i = 0; i < group->count; i++) {
        struct sequence *sequence = &group->sequences[i];
        if (sequence->state == SEQUENCE_RUNNING && sequence->sample.count == 0)
            advance(sampler, sequence, logits);
    }
}

static int choose_tokens(struct lm_sampler *sampler, struct err *err)
{
    const size_t block = forward_block(sampler->forward), vocab = sampler->bounds.vocab;
    for (size_t first = 0; first < sampler->head_count; first += block) {
        const struct head *heads = sampler->heads + first;
        size_t count = sampler->head_count - first;
        const float *logits = NULL;
        count = count < block ? count : block;
        for (size_t i = 0; i < count; i++)
            sampler->rows[i] = heads[i].row;
        int result = forward_logits(sampler->forward, sampler->rows, count, &logits, err);
        if (result < 0)
            return result;
        for (size_t i = 0; i < count; i++) {
            struct sequence *sequence = heads[i].sequence;
            const bool leads = sequence->group->leader == sequence;
            (leads ? begin_samples : advance)(sampler, sequence, logits + i * vocab);
        }
    }
    return 0;
}

/* How probable the prompt's next token was. */
static int score_row(struct group *group, const float *logits, size_t vocab)
{
    const size_t at = group->scored_count, count = group->sampling.top_logprobs;
    struct lm_top *top = count > 0 ? group->prompt_top + at * count : NULL;
    int result = choose_score(logits, vocab, group->prompt[at], &group->prompt_logprobs[at], top,
                              count, NULL);
    group->scored_count++;
    return result;
}

/* The rows of this step, a block at a time. */
static int score_prompt(struct lm_sampler *sampler, struct sequence *sequence, struct err *err)
{
    struct group *group = sequence->group;
    const size_t block = forward_block(sampler->forward), vocab = sampler->bounds.vocab;
    const size_t behind = sequence->computed + sequence->planned;
    while (group_is_scoring(group) && group->scored_count <= behind) {
        const size_t at = group->scored_count - 1; /* the position that comes before it */
        size_t count = behind - at;
        const float *logits = NULL;
        if (count > group->prompt_count - 1 - at)
            count = group->prompt_count - 1 - at;
        count = count < block ? count : block;
        for (size_t i = 0; i < count; i++)
            sampler->rows[i] = (int32_t)(sequence->at_row + at - sequence->computed + i);
        int result = forward_logits(sampler->forward, sampler->rows, count, &logits, err);
        for (size_t i = 0; i < count && result == 0; i++)
            if (score_row(group, logits + i * vocab, vocab) < 0) {
                end_group(sampler, group, LM_FAILED);
                return 0;
            }
        if (result < 0)
            return result;
    }
    return 0;
}

static void lay_out(struct lm_sampler *sampler)
{
    struct forward_batch *batch = forward_batch(sampler->forward);
    struct sequence *sequence;
    batch->rows = batch->sequences = batch->max_pages = 0;
    DL_FOREACH (sampler->schedule.running, sequence)
        if (sequence->planned > 0 && sequence->page_count > batch->max_pages)
            batch->max_pages = sequence->page_count;
    DL_FOREACH (sampler->schedule.running, sequence) {
        if (sequence->planned == 0)
            continue;
        sequence->at_row = batch->rows;
        for (size_t i = 0; i < sequence->planned; i++, batch->rows++) {
            const size_t position = sequence->computed + i;
            batch->tokens[batch->rows] = sequence_token(sequence, position);
            batch->positions[batch->rows] = (int32_t)position;
            batch->sequence[batch->rows] = (int32_t)batch->sequences;
        }
        int32_t *pages = batch->pages + batch->sequences++ * batch->max_pages;
        memset(pages, 0, batch->max_pages * sizeof *pages);
        memcpy(pages, sequence->pages, sequence->page_count * sizeof *pages);
    }
}

/* What was computed counts as such; sequences that are due a token become heads. */
static int collect(struct lm_sampler *sampler, struct err *err)
{
    struct sequence *sequence, *next;
    sampler->head_count = 0;
    DL_FOREACH_SAFE (sampler->schedule.running, sequence, next) {
        if (sequence->planned == 0)
            continue;
        int result = score_prompt(sampler, sequence, err);
        if (result < 0)
            return result;
        if (sequence->state == SEQUENCE_ENDED)
            continue;
        const size_t row = sequence->at_row + sequence->planned - 1;
        schedule_computed(&sampler->schedule, sequence);
        if (sequence->computed == sequence_known(sequence))
            sampler->heads[sampler->head_count++] = (struct head){sequence, (int32_t)row};
    }
    return 0;
}

static int compute(struct lm_sampler *sampler, struct err *err)
{
    schedule_plan(&sampler->schedule);
    if (!sampler->schedule.running)
        return 0;
    lay_out(sampler);
    sampler->stats.steps++;
    int result = forward_run(sampler->forward, err);
    if (result == 0)
        result = collect(sampler, err);
    if (result == 0)
        result = choose_tokens(sampler, err);
    return result;
}

int lm_sampler_step(struct lm_sampler *sampler, bool *busy, struct err *err)
{
    struct group *group, *next;
    if (sampler->version != sampler->model->version) {
        sampler->version = sampler->model->version;
        schedule_forget(&sampler->schedule);
    }
    if (sampler->cancelling)
        end_cancelled(sampler);
    int result = compute(sampler, err);
    if (result < 0)
        DL_FOREACH_SAFE (sampler->groups, group, next)
            end_group(sampler, group, LM_FAILED);
    free_groups(&sampler->ended);
    *busy = sampler->groups != NULL;
    return result;
}

int lm_sampler_reset_cache(struct lm_sampler *sampler, struct err *err)
{
    if (sampler->groups)
        return err_set(
            err, ERR_INPUT,
            "%zu sequences are still running or waiting; let them end or cancel them first",
            sampler->schedule.running_count + sampler->schedule.waiting_count);
    schedule_forget(&sampler->schedule);
    return 0;
}

struct lm_sampler_stats lm_sampler_stats(const struct lm_sampler *sampler)
{
    struct lm_sampler_stats stats = sampler->stats;
    stats.shared_tokens = sampler->schedule.shared_tokens;
    stats.running = sampler->schedule.running_count;
    stats.waiting = sampler->schedule.waiting_count;
    stats.pages = pages_count(sampler->schedule.pages);
    stats.pages_free = pages_available(sampler->schedule.pages);
    return stats;
}
