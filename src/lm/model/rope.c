/* Rope tables in the f32 steps in which Transformers makes them, so that far positions agree as
 * well: at position 30,000 the last bit of a frequency is 0.002 of an angle. */
#include "lm/model/build.h"

#include "base/mem.h"

#include <math.h>

static void plain(const struct lm_config *config, float *frequencies, float factor)
{
    size_t width = config->head_width;
    for (size_t i = 0; i < width / 2; i++) {
        float exponent = (float)(2 * i) / (float)width;
        frequencies[i] = 1.0F / powf((float)config->rope.theta, exponent) / factor;
    }
}

/* Low frequencies are stretched, high ones kept, those between mixed ("Llama 3.1" checkpoints). */
static void llama3(const struct lm_config *config, float *frequencies)
{
    const struct lm_rope_config *rope = &config->rope;
    double positions = (double)rope->original_positions;
    float longest = (float)(positions / rope->low_freq_factor);
    float shortest = (float)(positions / rope->high_freq_factor);
    float low = (float)rope->low_freq_factor, factor = (float)rope->factor;
    float span = (float)(rope->high_freq_factor - rope->low_freq_factor);
    plain(config, frequencies, 1);
    for (size_t i = 0; i < config->head_width / 2; i++) {
        float frequency = frequencies[i];
        float length = (float)(2 * M_PI) / frequency;
        float smooth = ((float)positions / length - low) / span;
        if (length > longest)
            frequencies[i] = frequency / factor;
        else if (length >= shortest)
            frequencies[i] = (1 - smooth) * frequency / factor + smooth * frequency;
    }
}

/* The dimension that turns `rotations` times within the original positions. */
static double yarn_dimension(const struct lm_config *config, double rotations)
{
    double turns = (double)config->rope.original_positions / (rotations * 2 * M_PI);
    return (double)config->head_width * log(turns) / (2 * log(config->rope.theta));
}

static double yarn_scale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

/* Peng et al. 2023, section 3.2 to 3.4. */
static float yarn(const struct lm_config *config, float *frequencies)
{
    const struct lm_rope_config *rope = &config->rope;
    double low = yarn_dimension(config, rope->beta_fast);
    double high = yarn_dimension(config, rope->beta_slow);
    if (rope->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)config->head_width - 1);
    if (low == high)
        high += 0.001;
    for (size_t i = 0; i < config->head_width / 2; i++) {
        float power = powf((float)rope->theta, (float)(2 * i) / (float)config->head_width);
        float kept = 1.0F / power, stretched = 1.0F / ((float)rope->factor * power);
        float ramp = ((float)i - (float)low) / (float)(high - low);
        float keep = 1 - fminf(fmaxf(ramp, 0), 1);
        frequencies[i] = stretched * (1 - keep) + kept * keep;
    }
    if (rope->attention_factor > 0)
        return (float)rope->attention_factor;
    if (rope->mscale != 0 && rope->mscale_all_dim != 0)
        return (float)(yarn_scale(rope->factor, rope->mscale) /
                       yarn_scale(rope->factor, rope->mscale_all_dim));
    return (float)yarn_scale(rope->factor, 1);
}

/* [head_width / 2]; returns what cosine and sine are multiplied by. */
static float find_frequencies(const struct lm_config *config, float *frequencies)
{
    switch (config->rope.kind) {
    case LM_ROPE_YARN:
        return yarn(config, frequencies);
    case LM_ROPE_LLAMA3:
        llama3(config, frequencies);
        return 1;
    case LM_ROPE_LINEAR:
        plain(config, frequencies, (float)config->rope.factor);
        return 1;
    case LM_ROPE_DEFAULT:
        break;
    }
    plain(config, frequencies, 1);
    return 1;
}

int lm_rope_tables(const struct lm_config *config, size_t positions, struct lm_backend *backend,
                   float **cosine, float **sine, struct err *err)
{
    size_t half = config->head_width / 2;
    size_t bytes = positions * half * sizeof(float);
    int result = lm_backend_alloc(backend, bytes, "the rope tables", (void **)cosine, err);
    if (result == 0)
        result = lm_backend_alloc(backend, bytes, "the rope tables", (void **)sine, err);
    if (result < 0)
        return result;
    float *row = mem_alloc(3 * half * sizeof *row);
    float *frequencies = row + 2 * half;
    float scale = find_frequencies(config, frequencies);
    for (size_t position = 0; position < positions; position++) {
        for (size_t i = 0; i < half; i++) {
            float angle = (float)position * frequencies[i];
            row[i] = cosf(angle) * scale;
            row[half + i] = sinf(angle) * scale;
        }
        backend->upload(backend, *cosine + position * half, row, half * sizeof *row);
        backend->upload(backend, *sine + position * half, row + half, half * sizeof *row);
    }
    mem_free(row);
    return 0;
}
