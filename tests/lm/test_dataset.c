/* Data sets: what lines become, what is counted, what is refused, and the order of epochs. */
#include "lm/train/dataset.h"

#include "../support/learned.h"
#include "../support/scratch.h"
#include "../support/test.h"
#include "lm/train/dataset_order.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_BYTES 65536

TEST_GROUP(learned_begin, learned_end);

static int open_text(struct dataset **out, const char *text, const struct dataset_options *options,
                     struct err *err)
{
    const char *const paths[] = {scratch_path("data.jsonl")};
    scratch_write("data.jsonl", text, strlen(text));
    return dataset_open(out, paths, 1, learned, options, err);
}

static struct dataset *must_open(const char *text, const struct dataset_options *options)
{
    struct dataset *dataset;
    struct err err;
    assert_ok(open_text(&dataset, text, options, &err), &err);
    return dataset;
}

/* The whole of a datum; with `learned_only` the targets that are to be learned. */
static void put_text(const struct lm_datum *datum, bool learned_only, struct buf *out)
{
    buf_reset(out);
    if (!learned_only)
        assert_int_equal(tokenizer_decode(learned, datum->tokens, 1, false, out, NULL), 0);
    for (size_t i = 0; i < datum->count; i++)
        if (!learned_only || datum->weights[i] != 0)
            assert_int_equal(tokenizer_decode(learned, &datum->targets[i], 1, false, out, NULL), 0);
}

static const struct {
    const char *line, *text, *learned;
} lines[] = {
    {"{\"text\": \"the user asks\"}", "the user asks<|endoftext|>", " user asks<|endoftext|>"},
    {"{\"prompt\": \"the user\", \"completion\": \" asks\"}", "the user asks<|endoftext|>",
     " asks<|endoftext|>"},
    {"{\"prompt\": \"\", \"completion\": \"the user\"}", "the user<|endoftext|>",
     " user<|endoftext|>"},
    {"{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\", "
     "\"content\": \"a\"}, {\"role\": \"user\", \"content\": \"r\"}, {\"role\": \"assistant\", "
     "\"content\": \"b\"}]}",
     "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n<|im_start|>user\nr"
     "<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n",
     "a<|im_end|>b<|im_end|>"},
    /* as a rollout writes it: other keys are left alone */
    {"{\"schema\": 1, \"episode\": \"e\", \"messages\": [{\"role\": \"user\", \"content\": \"q\"}, "
     "{\"role\": \"assistant\", \"content\": \"a\"}], \"turns\": [{\"prompt\": []}], \"return\": "
     "1}",
     "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n", "a<|im_end|>"},
};

TEST(lines)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct dataset *dataset = must_open(lines[i].line, &dataset_defaults);
        struct lm_datum datum;
        assert_int_equal(dataset_count(dataset), 1);
        dataset_at(dataset, 0, 0, &datum);
        put_text(&datum, false, &text);
        assert_string_equal(text.data, lines[i].text);
        put_text(&datum, true, &text);
        assert_string_equal(text.data, lines[i].learned);
        for (size_t k = 1; k < datum.count; k++)
            assert_int_equal(datum.tokens[k], datum.targets[k - 1]);
        assert_null(datum.advantages);
        dataset_close(dataset);
    }
    buf_deinit(&text);
}

/* Special tokens count as such only where that is asked for. */
TEST(special)
{
    static const char line[] = "{\"text\": \"a<|im_end|>\"}";
    struct dataset_options options = dataset_defaults;
    for (int special = 0; special < 2; special++) {
        struct lm_datum datum;
        options.special = special;
        struct dataset *dataset = must_open(line, &options);
        dataset_at(dataset, 0, 0, &datum);
        assert_int_equal(datum.count == 2, special);
        assert_int_equal(datum.targets[0] == tokenizer_id(learned, "<|im_end|>"), special);
        dataset_close(dataset);
    }
}

#define NO_ANSWER "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}]}\n"
/* 9 rows: ten digits and an end; 19 rows; a prompt of 8 digits before 4. */
#define SHORT "{\"text\": \"123456789\"}\n"
#define LONG "{\"text\": \"1234567890123456789\"}\n"
#define LATE "{\"prompt\": \"12345678\", \"completion\": \"1234\"}\n"

TEST(too_long)
{
    static const struct {
        const char *text;
        enum dataset_long too_long;
        size_t max_tokens;
        struct dataset_stats stats;
    } cases[] = {
        {SHORT LONG, DATASET_CUT, 100, {2, 2, 0, 0, 28, 28, 19}},
        {SHORT LONG, DATASET_CUT, 9, {2, 2, 1, 0, 18, 18, 9}},
        {SHORT LONG, DATASET_DROP, 9, {2, 1, 0, 1, 9, 9, 9}},
        {SHORT LONG, DATASET_SPLIT, 9, {2, 4, 1, 0, 28, 28, 9}},
        {SHORT LATE, DATASET_CUT, 10, {2, 2, 1, 0, 19, 12, 10}},
        {SHORT LATE, DATASET_SPLIT, 10, {2, 2, 1, 0, 19, 12, 10}},
        {SHORT LATE, DATASET_CUT, 7, {2, 1, 2, 1, 7, 7, 7}}, /* the completion is gone */
        {SHORT NO_ANSWER, DATASET_CUT, 100, {2, 1, 0, 1, 9, 9, 9}},
        {SHORT "\n  \n" SHORT, DATASET_CUT, 100, {2, 2, 0, 0, 18, 18, 9}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct dataset_options options = dataset_defaults;
        options.too_long = cases[i].too_long;
        options.max_tokens = cases[i].max_tokens;
        struct dataset *dataset = must_open(cases[i].text, &options);
        struct dataset_stats stats = dataset_stats(dataset);
        assert_memory_equal(&stats, &cases[i].stats, sizeof stats);
        dataset_close(dataset);
    }
}

/* A text that was split gives its tokens back, one behind the other. */
TEST(split_loses_nothing)
{
    struct dataset_options options = dataset_defaults;
    struct buf text, all;
    buf_init(&text, TEXT_BYTES);
    buf_init(&all, TEXT_BYTES);
    options.too_long = DATASET_SPLIT;
    options.max_tokens = 4;
    options.shuffle = false;
    struct dataset *dataset = must_open(LONG, &options);
    buf_puts(&all, "1");
    for (size_t i = 0; i < dataset_count(dataset); i++) {
        struct lm_datum datum;
        dataset_at(dataset, 3, i, &datum);
        put_text(&datum, true, &text);
        buf_puts(&all, text.data);
    }
    assert_string_equal(all.data, "1234567890123456789<|endoftext|>");
    dataset_close(dataset);
    buf_deinit(&text);
    buf_deinit(&all);
}

static const struct {
    const char *text, *error;
} refused[] = {
    {"", "the data set holds no line"},
    {"\n\n", "the data set holds no line"},
    {NO_ANSWER, "nothing to learn from: 1 lines"},
    {SHORT "{\"text\": 1}", "data.jsonl:2: 'text' must be a string"},
    {SHORT "{\"texts\": \"a\"}", "data.jsonl:2: is no example"},
    {"[1]", "data.jsonl:1: is no example"},
    {"{\"text\": \"a\"", "data.jsonl:1:1"},
    {SHORT "{\"text\": \"a\" 1}", "data.jsonl:2:14"},
    {"{\"completion\": \"a\"}", "data.jsonl:1: 'prompt'"},
    {"{\"messages\": [{\"role\": \"x\", \"content\": \"\"}]}", "data.jsonl:1: messages[0]: "},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct dataset *dataset;
        struct err err;
        assert_int_equal(open_text(&dataset, refused[i].text, &dataset_defaults, &err), ERR_INPUT);
        assert_null(dataset);
        if (!strstr(err.text, refused[i].error))
            fail_msg("'%s' says: %s", refused[i].text, err.text);
    }
}

TEST(missing)
{
    const char *const paths[] = {"/nowhere/data.jsonl"}, *const directory[] = {scratch_path("")};
    struct dataset_options options = dataset_defaults;
    struct dataset *dataset;
    assert_int_equal(dataset_open(&dataset, paths, 1, learned, &options, NULL), ERR_MISSING);
    assert_int_equal(dataset_open(&dataset, directory, 1, learned, &options, NULL), ERR_INPUT);
    options.max_tokens = 0;
    assert_int_equal(open_text(&dataset, SHORT, &options, NULL), ERR_INPUT);
}

TEST(order_is_a_permutation)
{
    static const size_t counts[] = {1, 2, 3, 4, 5, 16, 17, 1000};
    for (size_t i = 0; i < COUNT(counts); i++) {
        unsigned char seen[1000] = {0};
        for (size_t k = 0; k < counts[i]; k++) {
            size_t at = dataset_order(7, 3, counts[i], k);
            assert_true(at < counts[i]);
            assert_int_equal(seen[at]++, 0);
        }
    }
}

/* Each of 4 examples comes about as often at each place, over epochs and over seeds. */
TEST(order_is_even)
{
    enum { TRIES = 4000, EXAMPLES = 4 };
    for (int by_seed = 0; by_seed < 2; by_seed++) {
        int times[EXAMPLES][EXAMPLES] = {{0}};
        for (uint64_t i = 0; i < TRIES; i++)
            for (size_t k = 0; k < EXAMPLES; k++)
                times[k][dataset_order(by_seed ? i : 1, by_seed ? 0 : i, EXAMPLES, k)]++;
        /* Five deviations of a binomial distribution. */
        for (size_t k = 0; k < EXAMPLES * EXAMPLES; k++)
            assert_in_range(times[k / EXAMPLES][k % EXAMPLES], 1000 - 137, 1000 + 137);
    }
}

static struct dataset *numbered(uint64_t seed, bool shuffle)
{
    struct dataset_options options = dataset_defaults;
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (int i = 10; i < 60; i++)
        buf_printf(&text, "{\"text\": \"%d\"}\n", i);
    options.seed = seed;
    options.shuffle = shuffle;
    struct dataset *dataset = must_open(text.data, &options);
    buf_deinit(&text);
    return dataset;
}

/* A place that was written down goes on as if nothing had happened. */
TEST(place)
{
    struct dataset *dataset = numbered(5, true), *other = numbered(5, true);
    struct dataset_place place = {0}, kept = {0};
    struct lm_datum datum, again;
    size_t same = 0;
    for (size_t i = 0; i < 120; i++) {
        if (i == 73)
            kept = place;
        dataset_next(dataset, &place, &datum);
        if (i >= 73) {
            dataset_next(other, &kept, &again);
            assert_memory_equal(datum.tokens, again.tokens, datum.count * sizeof *datum.tokens);
        }
    }
    assert_int_equal(place.epoch, 2);
    assert_int_equal(place.index, 20);
    for (size_t i = 0; i < 50; i++) {
        dataset_at(dataset, 0, i, &datum);
        dataset_at(dataset, 1, i, &again);
        same += datum.tokens == again.tokens;
    }
    assert_true(same < 12);
    dataset_close(dataset);
    dataset_close(other);
}

TEST(hash)
{
    enum { DATASETS = 5 };
    struct dataset *datasets[DATASETS] = {numbered(5, true), numbered(5, true), numbered(6, true),
                                          numbered(5, false), must_open(SHORT, &dataset_defaults)};
    assert_string_equal(dataset_hash(datasets[0]), dataset_hash(datasets[1]));
    for (size_t i = 2; i < DATASETS; i++)
        for (size_t k = 1; k < i; k++)
            assert_string_not_equal(dataset_hash(datasets[i]), dataset_hash(datasets[k]));
    for (size_t i = 0; i < DATASETS; i++)
        dataset_close(datasets[i]);
}
