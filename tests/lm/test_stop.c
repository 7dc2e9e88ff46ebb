/* Stop strings in random token streams, against a search in all of the text after each token. */
#include "lm/sample/stop.h"

#include "../support/scratch.h"
#include "../support/test.h"
#include "base/random.h"
#include "lm/tokenizer/learn.h"

#define TEXT_BYTES ((size_t)1 << 16)
#define STREAMS 3000
#define TOKENS 40

/* Tokens of one to some letters, and parts of an é. */
static struct tokenizer *make_tokenizer(void)
{
    static const char *const texts[] = {"abab abba baab aabb abc cab bca aé éb é éa", "ab ab abc"};
    static const size_t counts[] = {46, 9};
    const struct learn_options options = {.vocab = 275, .least = 1};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    assert_ok(tokenizer_learn(scratch_path(""), texts, counts, 2, &options, &err), &err);
    assert_ok(tokenizer_open(&tokenizer, scratch_path(""), &err), &err);
    return tokenizer;
}

TEST(pure)
{
    static const char *const stops[] = {"abab", "bc", "\n\n"};
    static const struct {
        const char *text;
        size_t found, held;
    } rows[] = {
        {"", 0, 0},      {"x", 1, 0},       {"a", 1, 1},       {"xaba", 4, 3},
        {"xabac", 5, 0}, {"xababab", 1, 2}, {"abcabab", 1, 2}, {"b", 1, 1},
        {"\n", 1, 1},    {"aba\n", 4, 1},   {"ab\n\n", 2, 1},  {"aab", 3, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t count = strlen(rows[i].text);
        assert_int_equal(stop_find(rows[i].text, count, stops, 3), rows[i].found);
        assert_int_equal(stop_held(rows[i].text, count, stops, 3), rows[i].held);
    }
}

/* What is held back begins a stop string, and nothing that counts could. */
static void check_held(const struct buf *text, size_t safe, const char *const *stops, size_t count)
{
    const size_t left = text->len - safe;
    bool begins = left == 0;
    for (size_t i = 0; i < count; i++) {
        begins |= strlen(stops[i]) > left && memcmp(stops[i], text->data + safe, left) == 0;
        for (size_t at = 0; at < safe; at++)
            assert_false(strlen(stops[i]) > text->len - at &&
                         memcmp(stops[i], text->data + at, text->len - at) == 0);
    }
    assert_true(begins);
}

static size_t run_stream(struct tokenizer *tokenizer, const char *const *stops, size_t count,
                         uint64_t *random)
{
    /* Those that the letters of the stop strings are made of come most. */
    static const char alphabet[] = "ab c";
    struct tokenizer_stream stream = {0};
    struct stop_scan scan;
    struct buf text;
    const size_t size = tokenizer_size(tokenizer);
    stop_scan_init(&scan, tokenizer, stops, count);
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < TOKENS && !scan.found; i++) {
        int32_t id = (int32_t)(size - 1 - random_next(random) % 24);
        struct tokens ids = {0};
        if (random_next(random) % 3 == 0) {
            const struct tokenizer_encoding how = {0};
            assert_int_equal(tokenizer_encode(tokenizer, alphabet + random_next(random) % 4, 1,
                                              &how, &ids, NULL),
                             0);
            id = ids.ids[0];
        }
        tokens_deinit(&ids);
        assert_int_equal(stop_scan_put(&scan, id, NULL), 0);
        assert_int_equal(tokenizer_stream_put(tokenizer, &stream, id, true, &text, NULL), 0);
        const size_t first = stop_find(text.data, text.len, stops, count);
        assert_int_equal(scan.found, first < text.len);
        if (scan.found)
            assert_int_equal(scan.safe_bytes, first);
        else
            check_held(&text, scan.safe_bytes, stops, count);
    }
    const size_t before = scan.safe_bytes;
    assert_int_equal(stop_scan_end(&scan, NULL), 0);
    assert_int_equal(tokenizer_stream_end(&stream, &text, NULL), 0);
    assert_int_equal(scan.safe_bytes, scan.found ? before : text.len);
    const bool found = scan.found;
    stop_scan_deinit(&scan);
    buf_deinit(&text);
    return found;
}

TEST_WITH(streams, scratch_begin, NULL)
{
    static const char *const stops[] = {"abab", "bcb", "é ", "aabba", "ab\n", "  ", "\xc3\xa9\x62"};
    struct tokenizer *tokenizer = make_tokenizer();
    uint64_t random = 3;
    size_t found = 0;
    for (size_t i = 0; i < STREAMS; i++) {
        const size_t from = random_next(&random) % 7, count = 1 + random_next(&random) % (7 - from);
        found += run_stream(tokenizer, stops + from, count, &random);
    }
    assert_true(found > STREAMS / 10 && found < STREAMS - STREAMS / 10);
    tokenizer_close(tokenizer);
}
