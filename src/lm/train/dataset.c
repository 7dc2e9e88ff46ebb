#include "lm/train/dataset.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "lm/train/dataset_line.h"
#include "lm/train/dataset_order.h"

#include <string.h>

const struct dataset_options dataset_defaults = {
    .style = CHAT_PLAIN,
    .max_tokens = 2048,
    .too_long = DATASET_CUT,
    .shuffle = true,
    .end_token = -1,
};

/* `rows` rows from `first` on: their targets lie one further. */
struct example {
    size_t first, rows;
};

struct dataset {
    struct dataset_options options;
    struct tokens ids; /* of all examples, one behind the other */
    float *weights;    /* of each id's target, which is the next id */
    size_t weight_capacity;
    struct example *examples;
    size_t example_capacity;
    struct dataset_stats stats;
    char hash[HASH_HEX_BYTES];
};

static void add_example(struct dataset *dataset, size_t first, size_t rows)
{
    struct dataset_stats *stats = &dataset->stats;
    size_t targets = 0;
    for (size_t i = first; i < first + rows; i++)
        targets += dataset->weights[i] != 0;
    if (targets == 0) {
        stats->dropped++;
        return;
    }
    if (stats->count == dataset->example_capacity) {
        dataset->example_capacity = dataset->example_capacity ? 2 * dataset->example_capacity : 256;
        dataset->examples = mem_resize(dataset->examples,
                                       dataset->example_capacity * sizeof *dataset->examples);
    }
    dataset->examples[stats->count++] = (struct example){first, rows};
    stats->rows += rows;
    stats->targets += targets;
    if (rows > stats->longest)
        stats->longest = rows;
}

static void set_weights(struct dataset *dataset, size_t first, const struct buf *mask)
{
    size_t count = dataset->ids.count;
    if (count > dataset->weight_capacity) {
        dataset->weight_capacity = 2 * count;
        dataset->weights = mem_resize(dataset->weights,
                                      dataset->weight_capacity * sizeof *dataset->weights);
    }
    for (size_t i = 0; first + i < count; i++)
        dataset->weights[first + i] = i + 1 < mask->len && mask->data[i + 1] ? 1.0F : 0.0F;
}

/* The ids from `first` on are one line's. */
static void take_line(struct dataset *dataset, size_t first, enum dataset_kind kind)
{
    const struct dataset_options *options = &dataset->options;
    size_t rows = dataset->ids.count - first, most = options->max_tokens;
    rows -= rows > 0;
    bool is_long = rows > most;
    dataset->stats.lines++;
    if (is_long && options->too_long == DATASET_DROP) {
        dataset->stats.dropped++;
        dataset->ids.count = first;
        return;
    }
    dataset->stats.cut += is_long;
    if (!is_long || options->too_long != DATASET_SPLIT || kind != DATASET_TEXT) {
        add_example(dataset, first, is_long ? most : rows);
        return;
    }
    for (size_t at = 0; at < rows; at += most)
        add_example(dataset, first + at, rows - at < most ? rows - at : most);
}

static int add_object(struct dataset *dataset, struct tokenizer *tokenizer, const json_t *object,
                      struct buf *mask, struct err *err)
{
    struct arena arena = {0};
    struct dataset_line line;
    size_t first = dataset->ids.count;
    buf_reset(mask);
    int result = dataset_line_read(object, &arena, &line, err);
    if (result == 0)
        result = dataset_line_encode(&line, tokenizer, &dataset->options, &dataset->ids, mask, err);
    if (result == 0) {
        set_weights(dataset, first, mask);
        take_line(dataset, first, line.kind);
    }
    arena_deinit(&arena);
    return result;
}

static int add_file(struct dataset *dataset, struct tokenizer *tokenizer, const char *path,
                    struct buf *mask, struct err *err)
{
    struct lines *lines;
    const char *text;
    size_t count;
    int result = lines_open(&lines, path, LIMIT_TRAJECTORY_BYTES, err);
    while (result == 0 && (result = lines_next(lines, &text, &count, err)) > 0) {
        json_t *object = NULL;
        size_t number = lines_number(lines);
        result = json_parse_line(path, number, text, count, &object, err);
        if (result == 0 && add_object(dataset, tokenizer, object, mask, err) < 0)
            result = err_prefix(err, "%.300s:%zu", path, number);
        json_decref(object);
    }
    lines_close(lines);
    return result;
}

static int32_t find_end(const struct tokenizer *tokenizer)
{
    static const char *const names[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<|im_end|>"};
    int32_t id = -1;
    for (size_t i = 0; id < 0 && i < COUNT(names); i++)
        id = tokenizer_id(tokenizer, names[i]);
    return id;
}

static void set_hash(struct dataset *dataset)
{
    const struct dataset_options *options = &dataset->options;
    const struct dataset_stats *stats = &dataset->stats;
    struct hash *hash = hash_new();
    const uint64_t order[] = {options->shuffle, options->shuffle ? options->seed : 0, stats->count};
    hash_update(hash, order, sizeof order);
    for (size_t i = 0; i < stats->count; i++) {
        const struct example *example = &dataset->examples[i];
        const uint64_t rows = example->rows;
        hash_update(hash, &rows, sizeof rows);
        hash_update(hash, dataset->ids.ids + example->first, (example->rows + 1) * sizeof(int32_t));
        hash_update(hash, dataset->weights + example->first, example->rows * sizeof(float));
    }
    hash_finish(hash, dataset->hash);
}

static int check_count(const struct dataset *dataset, struct err *err)
{
    const struct dataset_stats *stats = &dataset->stats;
    if (stats->count > 0)
        return 0;
    if (stats->lines == 0)
        return err_set(err, ERR_INPUT, "the data set holds no line");
    return err_set(err, ERR_INPUT,
                   "the data set holds nothing to learn from: %zu lines, all of them too long or "
                   "without an answer",
                   stats->lines);
}

int dataset_open(struct dataset **out, const char *const *paths, size_t count,
                 struct tokenizer *tokenizer, const struct dataset_options *options,
                 struct err *err)
{
    struct dataset *dataset = mem_alloc(sizeof *dataset);
    struct buf mask;
    int result = 0;
    *out = NULL;
    dataset->options = *options;
    if (options->end_token < 0)
        dataset->options.end_token = find_end(tokenizer);
    if (options->max_tokens == 0)
        result = err_set(err, ERR_INPUT, "examples of at most 0 tokens are none");
    buf_init(&mask, LIMIT_TRAJECTORY_BYTES);
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_file(dataset, tokenizer, paths[i], &mask, err);
    buf_deinit(&mask);
    if (result == 0)
        result = check_count(dataset, err);
    if (result < 0) {
        dataset_close(dataset);
        return result;
    }
    set_hash(dataset);
    *out = dataset;
    return 0;
}

void dataset_close(struct dataset *dataset)
{
    if (!dataset)
        return;
    tokens_deinit(&dataset->ids);
    mem_free(dataset->weights);
    mem_free(dataset->examples);
    mem_free(dataset);
}

struct dataset_stats dataset_stats(const struct dataset *dataset)
{
    return dataset->stats;
}

size_t dataset_count(const struct dataset *dataset)
{
    return dataset->stats.count;
}

void dataset_at(const struct dataset *dataset, uint64_t epoch, size_t index, struct lm_datum *out)
{
    const struct dataset_options *options = &dataset->options;
    if (options->shuffle)
        index = dataset_order(options->seed, epoch, dataset->stats.count, index);
    const struct example *example = &dataset->examples[index];
    const int32_t *ids = dataset->ids.ids + example->first;
    *out = (struct lm_datum){.count = example->rows,
                             .tokens = ids,
                             .targets = ids + 1,
                             .weights = dataset->weights + example->first};
}

void dataset_next(const struct dataset *dataset, struct dataset_place *place, struct lm_datum *out)
{
    dataset_at(dataset, place->epoch, place->index, out);
    if (++place->index == dataset->stats.count)
        *place = (struct dataset_place){.epoch = place->epoch + 1};
}

const char *dataset_hash(const struct dataset *dataset)
{
    return dataset->hash;
}

void dataset_step_deinit(struct dataset_step *step)
{
    mem_free(step->datums);
    mem_free(step->weights);
    *step = (struct dataset_step){0};
}

static void plan_step(const struct dataset *dataset, size_t most, struct dataset_place *place,
                      struct dataset_step *step)
{
    uint64_t epoch = place->epoch;
    step->count = step->rows = 0;
    while (place->epoch == epoch) {
        struct dataset_place before = *place;
        struct lm_datum datum;
        dataset_next(dataset, place, &datum);
        if (step->count > 0 && step->rows + datum.count > most) {
            *place = before;
            break;
        }
        if (step->count == step->capacity) {
            step->capacity = 2 * step->capacity + 16;
            step->datums = mem_resize(step->datums, step->capacity * sizeof *step->datums);
        }
        step->datums[step->count++] = datum;
        step->rows += datum.count;
    }
}

uint64_t dataset_count_steps(const struct dataset *dataset, size_t most, uint64_t epochs)
{
    struct dataset_place place = {0};
    struct dataset_step step = {0};
    uint64_t steps = 0;
    for (; place.epoch < epochs && steps < LIMIT_LM_STEPS; steps++)
        plan_step(dataset, most, &place, &step);
    dataset_step_deinit(&step);
    return steps;
}

void dataset_take_step(const struct dataset *dataset, size_t most, struct dataset_place *place,
                       struct dataset_step *step)
{
    double sum = 0;
    plan_step(dataset, most, place, step);
    step->targets = 0;
    for (size_t i = 0; i < step->count; i++)
        for (size_t k = 0; k < step->datums[i].count; k++) {
            sum += step->datums[i].weights[k];
            step->targets += step->datums[i].weights[k] != 0;
        }
    if (step->rows > step->weights_capacity) {
        step->weights_capacity = step->rows;
        step->weights = mem_resize(step->weights, step->rows * sizeof *step->weights);
    }
    float *to = step->weights;
    for (size_t i = 0; i < step->count; i++) {
        for (size_t k = 0; k < step->datums[i].count; k++)
            to[k] = (float)(step->datums[i].weights[k] / (sum > 0 ? sum : 1));
        step->datums[i].weights = to;
        to += step->datums[i].count;
    }
}
