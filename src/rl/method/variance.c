#include "rl/method/variance.h"

#include "rl/method/energy.h"

#include <math.h>

#define EPSILON 1e-8
#define ALIKE 1e-6

/* Means over a group's rows. */
struct moments {
    double count, energy, square, product; /* W, A² W, A √W */
};

static struct moments measure_rows(const struct rl_batch *batch, const double *energy,
                                   const size_t *rows, size_t count)
{
    struct moments moments = {.count = (double)count};
    for (size_t i = 0; i < count; i++) {
        double advantage = batch->advantage[rows[i]], own = energy[rows[i]];
        moments.energy += own / moments.count;
        moments.square += advantage * advantage * own / moments.count;
        moments.product += advantage * sqrt(own + EPSILON) / moments.count;
    }
    return moments;
}

/* At least 0 but for EPSILON under the root. */
static double spread_of(const struct moments *moments)
{
    return fmax(moments->square - moments->product * moments->product, 0);
}

static void scale_row(struct rl_batch *batch, size_t row, double factor)
{
    batch->advantage[row] *= factor;
    for (size_t i = batch->first[row]; i < batch->first[row + 1]; i++)
        batch->offset[i] *= factor;
}

/* factor [rows] times that of each row's prompt. */
static void weigh_prompts(const struct rl_batch *batch, const double *energy, double *factor)
{
    struct rl_groups groups;
    double sum = 0, several = 0;
    rl_groups_init(&groups, batch, RL_BY_PROMPT, RL_ANY, false);
    double *inverse = mem_alloc((groups.count + 1) * sizeof *inverse);
    for (size_t g = 0; g < groups.count; g++) {
        size_t count = groups.start[g + 1] - groups.start[g];
        if (count < 2)
            continue;
        struct moments m = measure_rows(batch, energy, groups.rows + groups.start[g], count);
        inverse[g] = 1 / (spread_of(&m) / (m.count - 1) + EPSILON);
        sum += inverse[g];
        several++;
    }
    for (size_t g = 0; g < groups.count && several > 0; g++)
        for (size_t i = groups.start[g]; i < groups.start[g + 1]; i++)
            factor[groups.rows[i]] *= several * inverse[g] / sum;
    mem_free(inverse);
    rl_groups_deinit(&groups);
}

static void weigh_batch(const struct rl_batch *batch, const double *energy, double *factor)
{
    struct rl_groups all;
    rl_groups_init(&all, batch, RL_BY_BATCH, RL_ANY, false);
    struct moments m = measure_rows(batch, energy, all.rows, all.rows_count);
    double scale = m.square / (m.square + spread_of(&m) + EPSILON);
    for (size_t i = 0; i < all.rows_count; i++)
        factor[all.rows[i]] *= energy[all.rows[i]] / (m.energy + EPSILON) * scale;
    rl_groups_deinit(&all);
}

int rl_reweigh(struct rl_batch *batch, enum rl_reweighing kind,
               const struct rl_advantage_options *options, struct err *err)
{
    struct rl_advantage_options trained = *options;
    if (kind == RL_REWEIGH_NONE)
        return 0;
    trained.out = RL_ANY;
    double *path = mem_alloc((batch->tokens + 1) * sizeof *path);
    double *energy = mem_alloc((2 * batch->rows + 1) * sizeof *energy);
    double *factor = energy + batch->rows;
    int result = rl_energies(batch, RL_SPAN_TURN, &trained, "reweigh", path, energy, err);
    for (size_t row = 0; row < batch->rows; row++)
        factor[row] = 1;
    if (result == 0 && kind != RL_REWEIGH_BATCH)
        weigh_prompts(batch, energy, factor);
    if (result == 0 && kind != RL_REWEIGH_PROMPTS)
        weigh_batch(batch, energy, factor);
    for (size_t row = 0; result == 0 && row < batch->rows; row++)
        scale_row(batch, row, factor[row]);
    mem_free(energy);
    mem_free(path);
    return result;
}

/* Mean and deviation of a stream (Welford). */
struct spread {
    double count, mean, squares;
};

static void spread_add(struct spread *spread, double value)
{
    double off = value - spread->mean;
    spread->mean += off / ++spread->count;
    spread->squares += off * (value - spread->mean);
}

static bool counts(const struct rl_batch *batch, size_t row)
{
    return batch->drop[row] == 0 && rl_row_tokens(batch, row) > 0;
}

static bool rows_are_uniform(const struct rl_batch *batch)
{
    for (size_t row = 0; row < batch->rows; row++) {
        struct spread offsets = {0};
        for (size_t i = batch->first[row]; counts(batch, row) && i < batch->first[row + 1]; i++)
            if (batch->mask[i])
                spread_add(&offsets, batch->offset[i]);
        if (offsets.count > 1 && offsets.squares / (offsets.count - 1) > ALIKE)
            return false;
    }
    return true;
}

void rl_standardise(struct rl_batch *batch)
{
    bool uniform = rows_are_uniform(batch);
    struct spread all = {0};
    for (size_t row = 0; row < batch->rows; row++) {
        if (!counts(batch, row))
            continue;
        if (uniform)
            spread_add(&all, batch->advantage[row]);
        for (size_t i = batch->first[row]; !uniform && i < batch->first[row + 1]; i++)
            if (batch->mask[i])
                spread_add(&all, batch->advantage[row] + batch->offset[i]);
    }
    double deviation = all.count > 1 ? sqrt(all.squares / (all.count - 1)) : 0;
    if (deviation < ALIKE)
        return;
    for (size_t row = 0; row < batch->rows; row++)
        if (counts(batch, row)) {
            batch->advantage[row] -= all.mean;
            scale_row(batch, row, 1 / deviation);
        }
}
