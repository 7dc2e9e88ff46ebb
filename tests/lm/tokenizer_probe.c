/* A tokenizer for programs of other languages: tests/lm/tokenizer_checks.py and bench/tokenizer.py.
 *
 *   tokenizer_probe FILE [WORD…]
 *
 * Reads texts from standard input, each behind its length in bytes (32 bits, little-endian), and
 * writes for each how many ids it has and the ids, how many bytes they decode to and those bytes.
 *
 *   special   special tokens in the texts become their ids
 *   begin     with what the file puts around a text
 *   skip      special tokens are not decoded
 *   stream    decoded id by id
 *   time      encodes all of it over and over for two seconds, and prints bytes and seconds of
 *             the fastest time through
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES ((size_t)1 << 30)
#define BENCH_NS INT64_C(2000000000)

struct probe {
    struct tokenizer *tokenizer;
    struct tokenizer_encoding how;
    bool skip, stream, time;
};

static bool option(struct probe *probe, const char *word)
{
    const struct {
        const char *word;
        bool *flag;
    } words[] = {{"special", &probe->how.special},
                 {"begin", &probe->how.begin},
                 {"skip", &probe->skip},
                 {"stream", &probe->stream},
                 {"time", &probe->time}};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(words[i].word, word) == 0) {
            *words[i].flag = true;
            return true;
        }
    return false;
}

static int decode(const struct probe *probe, const struct tokens *tokens, struct buf *out,
                  struct err *err)
{
    struct tokenizer_stream stream = {0};
    int result = 0;
    if (!probe->stream)
        return tokenizer_decode(probe->tokenizer, tokens->ids, tokens->count, probe->skip, out,
                                err);
    for (size_t i = 0; result == 0 && i < tokens->count; i++)
        result = tokenizer_stream_put(probe->tokenizer, &stream, tokens->ids[i], probe->skip, out,
                                      err);
    return result < 0 ? result : tokenizer_stream_end(&stream, out, err);
}

static void put(const void *items, size_t item_bytes, size_t count)
{
    uint32_t sent = (uint32_t)count;
    fwrite(&sent, sizeof sent, 1, stdout);
    if (count > 0)
        fwrite(items, item_bytes, count, stdout);
}

static int answer(const struct probe *probe, const char *text, size_t count, struct err *err)
{
    struct tokens tokens = {0};
    struct buf decoded;
    buf_init(&decoded, INPUT_BYTES);
    int result = tokenizer_encode(probe->tokenizer, text, count, &probe->how, &tokens, err);
    if (result == 0)
        result = decode(probe, &tokens, &decoded, err);
    if (result == 0) {
        put(tokens.ids, sizeof *tokens.ids, tokens.count);
        put(decoded.data, 1, decoded.len);
    }
    tokens_deinit(&tokens);
    buf_deinit(&decoded);
    return result;
}

/* Visits each text; bytes of all of them, or an error. */
static int64_t each(const struct probe *probe, const char *input, size_t count,
                    struct tokens *tokens, struct err *err)
{
    int64_t bytes = 0;
    for (size_t at = 0; at < count;) {
        uint32_t length = UINT32_MAX;
        if (count - at >= sizeof length)
            memcpy(&length, input + at, sizeof length);
        if (count - at - sizeof length < length)
            return err_set(err, ERR_INPUT, "a text that is cut off");
        at += sizeof length;
        int result = tokens ? tokenizer_encode(probe->tokenizer, input + at, length, &probe->how,
                                               tokens, err)
                            : answer(probe, input + at, length, err);
        if (result < 0)
            return result;
        at += length;
        bytes += length;
    }
    return bytes;
}

static int64_t measure(const struct probe *probe, const char *input, size_t count, struct err *err)
{
    struct tokens tokens = {0};
    int64_t best_ns = INT64_MAX, bytes = 0, end_ns = clock_now_ns() + BENCH_NS;
    while (bytes >= 0 && clock_now_ns() < end_ns) {
        int64_t from_ns = clock_now_ns();
        tokens.count = 0;
        bytes = each(probe, input, count, &tokens, err);
        int64_t ns = clock_now_ns() - from_ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    tokens_deinit(&tokens);
    printf("%lld %.6f\n", (long long)bytes, (double)best_ns * 1e-9);
    return bytes;
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    struct err err = {0};
    char *input = NULL;
    size_t count = 0;
    for (int i = 2; i < argc; i++)
        if (!option(&probe, argv[i]))
            argc = 0;
    if (argc < 2) {
        fputs("tokenizer_probe FILE [special] [begin] [skip] [stream] [time]\n", stderr);
        return 2;
    }
    int64_t result = tokenizer_open(&probe.tokenizer, argv[1], &err);
    if (result == 0)
        result = file_read_fd(STDIN_FILENO, "standard input", INPUT_BYTES, &input, &count, &err);
    if (result == 0)
        result = probe.time ? measure(&probe, input, count, &err)
                            : each(&probe, input, count, NULL, &err);
    tokenizer_close(probe.tokenizer);
    mem_free(input);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    return result < 0;
}
