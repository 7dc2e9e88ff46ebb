#include "rl/train/train_step.h"

#include "rl/method/counter_random.h"
#include "rl/method/overlong.h"

#include <math.h>
#include <string.h>

void train_step_init(struct train_step *step, const struct train_step_options *options)
{
    *step = (struct train_step){.options = *options, .kl = NAN};
}

void train_step_deinit(struct train_step *step)
{
    arena_deinit(&step->arena);
    mem_free(step->rollouts);
    mem_free(step->greedy);
    mem_free(step->trained);
    mem_free(step->collision);
    mem_free(step->base);
}

static void count_rows(const struct train_step *step, size_t *rows, size_t *tokens)
{
    *rows = *tokens = 0;
    for (size_t i = 0; i < step->rollout_count; i++) {
        const struct rl_rollout *rollout = step->rollouts[i];
        *rows += rollout->count;
        for (size_t t = 0; t < rollout->count; t++)
            *tokens += rollout->turns[t].answer.count;
    }
}

static void fill_batch_row(struct train_step *step, size_t row, const struct rl_rollout *rollout,
                           size_t turn)
{
    struct rl_batch *batch = &step->batch;
    const struct rl_turn *from = &rollout->turns[turn];
    size_t first = batch->first[row];
    batch->prompt[row] = (uint32_t)rollout->task;
    batch->rollout[row] = (uint32_t)(rollout->task * step->options.samples + rollout->sample);
    batch->turn[row] = (uint32_t)turn;
    batch->reward[row] = from->excluded
                             ? 0
                             : from->reward - rl_overlong_penalty(from->answer.count,
                                                                  step->options.max_tokens,
                                                                  step->options.overlong_buffer,
                                                                  step->options.overlong_penalty);
    batch->correct[row] = from->correct;
    batch->speedup[row] = from->speedup;
    batch->coverage[row] = from->coverage;
    batch->drop[row] = from->excluded ? RL_EXCLUDED : 0;
    batch->first[row + 1] = first + from->answer.count;
    for (size_t i = 0; i < from->answer.count; i++)
        batch->sampled[first + i] = from->answer.logprobs[i];
    for (size_t i = 0; i < from->answer.count && from->cut && step->options.mask_cut; i++)
        batch->mask[first + i] = false;
    step->turns[row] = from;
}

/* NAN: no turn was judged. */
static double last_reward(const struct rl_rollout *rollout)
{
    for (size_t t = rollout->trajectory ? rollout->count : 0; t-- > 0;)
        if (!rollout->turns[t].excluded)
            return rollout->turns[t].reward;
    return NAN;
}

static void fill_baselines(struct train_step *step)
{
    const struct rl_batch *batch = &step->batch;
    step->baseline = NULL;
    if (step->greedy_count == 0)
        return;
    step->baseline = arena_alloc(&step->arena, (batch->rows + 1) * sizeof *step->baseline);
    for (size_t row = 0; row < batch->rows; row++) {
        step->baseline[row] = NAN;
        for (size_t i = 0; i < step->greedy_count; i++)
            if (step->greedy[i]->task == batch->prompt[row])
                step->baseline[row] = last_reward(step->greedy[i]);
    }
}

static void make_batch(struct train_step *step)
{
    size_t rows, tokens, row = 0;
    count_rows(step, &rows, &tokens);
    arena_deinit(&step->arena);
    step->arena = (struct arena){0};
    step->datums = NULL;
    step->datum_count = 0;
    rl_batch_alloc(&step->batch, &step->arena, rows, tokens);
    step->turns = arena_alloc(&step->arena, (rows + 1) * sizeof(const struct rl_turn *));
    step->advantage = arena_alloc(&step->arena, (tokens + 1) * sizeof *step->advantage);
    step->weight = arena_alloc(&step->arena, (tokens + 1) * sizeof *step->weight);
    for (size_t i = 0; i < step->rollout_count; i++)
        for (size_t t = 0; t < step->rollouts[i]->count; t++)
            fill_batch_row(step, row++, step->rollouts[i], t);
    fill_baselines(step);
}

int train_step_gather(struct train_step *step, const struct rl_rollout *rollouts, size_t count,
                      struct err *err)
{
    step->rollouts = mem_resize(step->rollouts, (step->rollout_count + count + 1) *
                                                    sizeof(const struct rl_rollout *));
    step->greedy = mem_resize(step->greedy,
                              (step->greedy_count + count + 1) * sizeof(const struct rl_rollout *));
    for (size_t i = 0; i < count; i++)
        if (rollouts[i].greedy)
            step->greedy[step->greedy_count++] = &rollouts[i];
        else if (rollouts[i].trajectory)
            step->rollouts[step->rollout_count++] = &rollouts[i];
    make_batch(step);
    return rl_batch_check(&step->batch, err);
}

/* Tokens and targets of a row's turn, in the caller's arena; the rest of the datum is zero. */
static struct lm_datum make_datum(const struct rl_turn *turn, struct arena *arena)
{
    size_t prompt = turn->prompt.count, answer = turn->answer.count, all = prompt + answer;
    int32_t *tokens = arena_alloc(arena, all * sizeof *tokens);
    memcpy(tokens, turn->prompt.ids, prompt * sizeof *tokens);
    memcpy(tokens + prompt, turn->answer.tokens, answer * sizeof *tokens);
    return (struct lm_datum){.count = all - 1, .tokens = tokens, .targets = tokens + 1};
}

/* Scores the tokens after `*done` with the backend; arrays grow to all tokens. collisions NULL: not
 * wanted. */
static int score_tokens(const struct train_step *step, struct train_backend *backend,
                        float **scores, float **collisions, size_t *done, struct err *err)
{
    const struct rl_batch *batch = &step->batch;
    struct lm_datum *datums = mem_alloc((batch->rows + 1) * sizeof *datums);
    size_t *rows = mem_alloc((batch->rows + 1) * sizeof *rows), count = 0;
    struct arena arena = {0};
    struct loss_sums sums;
    *scores = mem_resize(*scores, (batch->tokens + 1) * sizeof **scores);
    if (collisions)
        *collisions = mem_resize(*collisions, (batch->tokens + 1) * sizeof **collisions);
    for (size_t row = 0; row < batch->rows; row++) {
        if (batch->first[row] < *done || step->turns[row]->answer.count == 0)
            continue;
        datums[count] = make_datum(step->turns[row], &arena);
        datums[count].logprob = arena_alloc(&arena, datums[count].count * sizeof(float));
        if (collisions)
            datums[count].collision = arena_alloc(&arena, datums[count].count * sizeof(float));
        rows[count++] = row;
    }
    int result = count == 0 ? 0
                            : train_backend_forward(backend, datums, count,
                                                    loss_find("cross_entropy"), NULL, &sums, err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        const struct rl_turn *turn = step->turns[rows[i]];
        size_t first = batch->first[rows[i]], behind = turn->prompt.count - 1;
        size_t bytes = turn->answer.count * sizeof(float);
        memcpy(*scores + first, datums[i].logprob + behind, bytes);
        if (collisions)
            memcpy(*collisions + first, datums[i].collision + behind, bytes);
    }
    if (result == 0)
        *done = batch->tokens;
    arena_deinit(&arena);
    mem_free(rows);
    mem_free(datums);
    return result;
}

int train_step_score(struct train_step *step, struct train_backend *backend, struct err *err)
{
    struct rl_batch *batch = &step->batch;
    bool whole = backend && rl_method_uses_scores(step->options.method);
    int result = backend ? score_tokens(step, backend, &step->trained,
                                        whole ? &step->collision : NULL, &step->scored, err)
                         : 0;
    if (result < 0 || batch->tokens == 0)
        return result;
    memcpy(batch->trained, backend ? step->trained : batch->sampled,
           batch->tokens * sizeof *batch->trained);
    if (whole)
        memcpy(batch->collision, step->collision, batch->tokens * sizeof *batch->collision);
    return 0;
}

int train_step_score_base(struct train_step *step, struct train_backend *base, struct err *err)
{
    return score_tokens(step, base, &step->base, NULL, &step->based, err);
}

void train_step_reject(struct train_step *step)
{
    rl_method_reject(&step->batch, step->options.method, step->options.seed, step->options.step,
                     &step->report);
}

/* Whether the row has a term in the loss: an advantage, or with a KL in the loss any weight. */
static bool counts_in_loss(const struct train_step *step, size_t row)
{
    bool weighs = step->options.kl_loss;
    for (size_t i = step->batch.first[row]; i < step->batch.first[row + 1]; i++)
        if (step->advantage[i] != 0 || (weighs && step->weight[i] != 0))
            return true;
    return false;
}

float train_step_part_scale(const struct train_step *step)
{
    return step->options.method->normalisation.aggregation == RL_SEQ_SUM ? 1 : (float)step->parts;
}

static struct lm_datum train_datum(struct train_step *step, size_t row)
{
    const struct rl_batch *batch = &step->batch;
    const struct rl_turn *turn = step->turns[row];
    const float *against = step->options.ratio_trained ? batch->trained : batch->sampled;
    struct lm_datum datum = make_datum(turn, &step->arena);
    float *sampled = arena_alloc(&step->arena, datum.count * sizeof *sampled);
    float *advantages = arena_alloc(&step->arena, datum.count * sizeof *advantages);
    float *weights = arena_alloc(&step->arena, datum.count * sizeof *weights);
    size_t first = batch->first[row], behind = turn->prompt.count - 1;
    const float scale = train_step_part_scale(step);
    for (size_t i = 0; i < behind; i++)
        sampled[i] = NAN;
    for (size_t i = 0; i < turn->answer.count; i++) {
        /* Rows that are not trained on must have no effect either (dro). */
        sampled[behind + i] = step->advantage[first + i] != 0 ? against[first + i] : NAN;
        advantages[behind + i] = (float)step->advantage[first + i] * scale;
        weights[behind + i] = (float)step->weight[first + i] * scale;
    }
    datum.sampled = sampled;
    datum.advantages = advantages;
    datum.weights = weights;
    return datum;
}

/* Log-probabilities of the base for a datum's rows; NAN where no KL counts. */
static const float *datum_base(struct train_step *step, size_t row)
{
    size_t answer = step->turns[row]->answer.count, behind = step->turns[row]->prompt.count - 1;
    float *base = arena_alloc(&step->arena, (behind + answer) * sizeof *base);
    for (size_t i = 0; i < behind; i++)
        base[i] = NAN;
    for (size_t i = 0; i < answer; i++) {
        size_t token = step->batch.first[row] + i;
        base[behind + i] = step->base && step->weight[token] != 0 ? step->base[token] : NAN;
    }
    return base;
}

/* In the batch's order; with several updates in a step in a random order, so that no update has all
 * rows of one prompt. */
static void make_datums(struct train_step *step)
{
    size_t *order = mem_alloc((step->batch.rows + 1) * sizeof *order), count = 0;
    for (size_t i = 0; i < step->batch.rows; i++) {
        order[i] = i;
        count += counts_in_loss(step, i);
    }
    step->parts = step->options.substeps < count ? step->options.substeps : count;
    if (step->options.substeps > 1)
        rl_shuffle(step->options.seed, step->options.step, RL_STREAM_SUBSTEPS, order,
                   step->batch.rows);
    step->datums = arena_alloc(&step->arena, (step->batch.rows + 1) * sizeof *step->datums);
    step->bases = arena_alloc(&step->arena, (step->batch.rows + 1) * sizeof(const float *));
    step->datum_count = 0;
    for (size_t i = 0; i < step->batch.rows; i++) {
        if (!counts_in_loss(step, order[i]))
            continue;
        step->bases[step->datum_count] = datum_base(step, order[i]);
        step->datums[step->datum_count++] = train_datum(step, order[i]);
    }
    mem_free(order);
}

int train_step_weigh(struct train_step *step, size_t wanted, struct err *err)
{
    struct rl_method method = *step->options.method;
    method.advantage.baseline = step->baseline;
    int result = rl_method_weigh(&step->batch, &method, wanted, step->options.seed,
                                 step->options.step, step->advantage, err);
    if (result < 0)
        return result;
    rl_token_weights(&step->batch, &step->options.method->normalisation, step->weight);
    if (step->options.kl > 0 && step->base)
        step->kl = rl_kl_penalty(&step->batch, step->base,
                                 step->options.kl_loss ? 0 : step->options.kl,
                                 step->options.kl_discount, step->weight, step->advantage);
    make_datums(step);
    return 0;
}
