/* Which words a source has, and that FTS5 gets the same. */
#include "retrieval/analyzer.h"

#include "../support/test.h"
#include "base/buf.h"
#include "retrieval/fts_tokenizer.h"

/* "whole+part part other": '+' where a word is beside the one before it. */
static int collect(void *context, const struct analyzer_word *word)
{
    struct buf *out = context;
    buf_printf(out, "%s%s", out->len == 0 ? "" : word->beside ? "+" : " ", word->text);
    return 0;
}

TEST(cuts)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", ""},
        {"log_softmax", "log_softmax+log softmax"},
        {"ScaledDotProduct", "scaleddotproduct+scaled dot matmul"},
        {"HTTPServer", "httpserver+http server"},
        {"warpReduceSum2D", "warpreducesum2d+warp reduce sum"},
        {"conv2d", "conv2d+convolution"},
        {"x + y * i", ""},
        {"import torch.nn as nn", ""},
        {"class Model(nn.Module): def forward(self, x): return relu(x)", "relu"},
        {"rows row Rows", "row row row"},
        {"gemm bmm mm matmul", "matmul matmul matmul matmul"},
        {"a @ b", "matmul"},
        {"@triton.jit", ""},
        {"3 17 1024 123456 1234567", "17 1024 123456"},
        {"0x1F 23_Softmax", "0x1f 23 softmax"},
        {"__shfl_down_sync", "shfl_down_sync+shfl down sync"},
        {"/* Softmax of each row */", "softmax row"},
        {"Category: matmul\nrelu", "relu"},
        {"category = 1", ""},
        {"na\xc3\xafve \xff", "na\xc3\xafve"},
        {"_ __ ___", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf out;
        buf_init(&out, 4096);
        assert_int_equal(analyzer_each(rows[i].text, strlen(rows[i].text), collect, &out), 0);
        if (strcmp(out.data, rows[i].words) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, out.data, rows[i].words);
        buf_deinit(&out);
    }
}

static int bounded(void *context, const struct analyzer_word *word)
{
    const size_t *count = context;
    assert_true(word->length > 0 && word->length < WORD_BYTES);
    assert_int_equal(strlen(word->text), word->length);
    assert_true(word->start < word->end && word->end <= *count);
    return 0;
}

TEST(long_identifiers)
{
    char text[4096];
    size_t count = sizeof text;
    for (size_t i = 0; i < count; i++)
        text[i] = (char)(i % 7 == 0   ? '_'
                         : i % 5 == 0 ? 'A' + (char)(i % 26)
                                      : 'a' + (char)(i % 26));
    assert_int_equal(analyzer_each(text, count, bounded, &count), 0);
}

static int stop_at_two(void *context, const struct analyzer_word *word)
{
    return ++*(int *)context == 2 ? 7 : 0;
}

TEST(ends_when_stopped)
{
    int seen = 0;
    assert_int_equal(analyzer_each("alpha beta gamma", 16, stop_at_two, &seen), 7);
    assert_int_equal(seen, 2);
}

static int64_t matches(sqlite3 *db, const char *expression)
{
    sqlite3_stmt *statement;
    int64_t count = -1;
    assert_int_equal(sqlite3_prepare_v2(db, "select count(*) from words where words match ?1", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, expression, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

TEST(tokenizer)
{
    static const struct {
        const char *expression;
        int64_t matches;
    } rows[] = {{"\"log_softmax\"", 1},
                {"\"softmax\"", 2},
                {"\"log\"", 1},
                {"\"matmul\"", 1},
                {"\"torch\"", 0},
                {"\"absent\"", 0},
                {"\"row\" OR \"log\"", 2},
                {"\"softmax\" AND \"row\"", 1}};
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(fts_tokenizer_register(db, NULL), 0);
    assert_int_equal(
        sqlite3_exec(db,
                     "create virtual table words using fts5(text, tokenize = 'code', content = '');"
                     "insert into words (rowid, text) values (1, 'torch.log_softmax(x)'),"
                     " (2, '// softmax of rows'), (3, 'x @ y')",
                     NULL, NULL, NULL),
        SQLITE_OK);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (matches(db, rows[i].expression) != rows[i].matches)
            fail_msg("%s: %lld", rows[i].expression, (long long)matches(db, rows[i].expression));
    sqlite3_close(db);
}
