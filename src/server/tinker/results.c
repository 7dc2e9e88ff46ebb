#include "server/tinker/results.h"

#include "base/protobuf.h"
#include "policy/tinker_fields.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define NO_LOGPROB (-99999.0F) /* of an empty cell of the most probable */

static void put_floats(struct buf *out, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits = htole32(bits);
        buf_append(out, &bits, sizeof bits);
    }
}

static void put_offset(struct buf *out, uint64_t offset)
{
    offset = htole64(offset);
    buf_append(out, &offset, sizeof offset);
}

static size_t width_of(const struct tinker_pass *pass, size_t index)
{
    return pass->columns[index] > 0 ? pass->columns[index] : 1;
}

/* Datums `from` up to `end`, whose arrays have the same shape but for the rows. */
static void put_record(struct buf *out, const struct tinker_pass *pass, size_t from, size_t end)
{
    const size_t record = protobuf_open(out, OUTPUT_RECORDS);
    const size_t entry = protobuf_open(out, RECORD_FIELDS);
    protobuf_string(out, ENTRY_KEY, "logprobs");
    const size_t batched = protobuf_open(out, ENTRY_VALUE);
    size_t mark = protobuf_open(out, BATCHED_DATA);
    for (size_t i = from; i < end; i++)
        put_floats(out, pass->datums[i].logprob, pass->datums[i].count * width_of(pass, i));
    protobuf_close(out, mark);
    uint64_t offset = 0;
    mark = protobuf_open(out, BATCHED_OFFSETS);
    put_offset(out, 0);
    for (size_t i = from; i < end; i++)
        put_offset(out, offset += pass->datums[i].count * width_of(pass, i) * sizeof(float));
    protobuf_close(out, mark);
    protobuf_varint(out, BATCHED_TYPE, TYPE_FLOAT32);
    if (pass->columns[from] > 0)
        protobuf_varint(out, BATCHED_SHAPE, pass->columns[from]);
    protobuf_close(out, batched);
    protobuf_close(out, entry);
    protobuf_varint(out, RECORD_COUNT, end - from);
    protobuf_close(out, record);
}

/* Names are "name:reduction": the SDK merges the answers to several chunks by them. */
static void put_metric(struct buf *out, const char *name, double value)
{
    const size_t entry = protobuf_open(out, OUTPUT_METRICS);
    protobuf_string(out, ENTRY_KEY, name);
    protobuf_double(out, ENTRY_VALUE, value);
    protobuf_close(out, entry);
}

void tinker_pass_write(struct buf *out, const struct tinker_pass *pass,
                       const struct loss_sums *sums)
{
    protobuf_string(out, OUTPUT_TYPE, "ArrayRecord");
    for (size_t i = 0, end; i < pass->count; i = end) {
        end = i + 1;
        while (end < pass->count && pass->columns[end] == pass->columns[i])
            end++;
        put_record(out, pass, i, end);
    }
    put_metric(out, "loss:sum", sums->loss);
    put_metric(out, "tokens:sum", sums->tokens);
    if (pass->loss->ratio)
        put_metric(out, "clipped:sum", sums->clipped);
}

/* --- samples --- */

/* The first `width` of the `step` most probable of each position. */
static void put_top(struct buf *out, unsigned field, const struct lm_top *top, size_t count,
                    size_t step, size_t width)
{
    const size_t whole = protobuf_open(out, field);
    size_t mark = protobuf_open(out, TOP_TOKENS);
    for (size_t i = 0; i < count * width; i++) {
        const struct lm_top *cell = &top[i / width * step + i % width];
        const int32_t id = cell->id < 0 || isnan(cell->logprob) ? 0 : cell->id;
        protobuf_put_sfixed32(out, &id, 1);
    }
    protobuf_close(out, mark);
    mark = protobuf_open(out, TOP_LOGPROBS);
    for (size_t i = 0; i < count * width; i++) {
        const struct lm_top *cell = &top[i / width * step + i % width];
        const float value = cell->id < 0 || isnan(cell->logprob) ? NO_LOGPROB : cell->logprob;
        put_floats(out, &value, 1);
    }
    protobuf_close(out, mark);
    protobuf_varint(out, TOP_WIDTH, width);
    protobuf_varint(out, TOP_LENGTH, count);
    protobuf_close(out, whole);
}

static void put_sequence(struct buf *out, const struct lm_sample *sample,
                         const struct tinker_samples *samples)
{
    const size_t whole = protobuf_open(out, RESPONSE_SEQUENCES);
    protobuf_varint(out, SEQUENCE_REASON, sample->finish == LM_STOP ? REASON_STOP : REASON_LENGTH);
    size_t mark = protobuf_open(out, SEQUENCE_TOKENS);
    protobuf_put_sfixed32(out, sample->tokens, sample->count);
    protobuf_close(out, mark);
    mark = protobuf_open(out, SEQUENCE_LOGPROBS);
    put_floats(out, sample->logprobs, sample->count);
    protobuf_close(out, mark);
    if (samples->sample_top > 0)
        put_top(out, SEQUENCE_TOP, sample->top, sample->count, samples->width, samples->sample_top);
    protobuf_close(out, whole);
}

void tinker_samples_write(struct buf *out, const struct tinker_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++)
        put_sequence(out, &samples->samples[i], samples);
    if (samples->prompt) {
        const size_t mark = protobuf_open(out, RESPONSE_PROMPT);
        put_floats(out, samples->prompt, samples->prompt_count);
        protobuf_close(out, mark);
    }
    if (samples->prompt_top > 0 && samples->top)
        put_top(out, RESPONSE_PROMPT_TOP, samples->top, samples->prompt_count, samples->width,
                samples->prompt_top);
}
