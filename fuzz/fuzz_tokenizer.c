/* The bytes as a tokenizer.json; what is taken must encode, and give back what it decodes. Then the
 * bytes as a text for a small tokenizer, whose ids must give them back, whole and streamed. */
#include "lm/tokenizer/tokenizer.h"

#include "base/utf8.h"
#include "lm/tokenizer/byte_unicode.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tokenizer *small(void)
{
    static const char words[] =
        "'s| ?\\\\p{L}+|\\\\p{N}{1,3}| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+";
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    buf_printf(&text,
               "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
               "\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\","
               "\"use_regex\":false}]},\"decoder\":{\"type\":\"ByteLevel\"},\"added_tokens\":["
               "{\"id\":300,\"content\":\"<|x|>\",\"special\":true}],\"model\":{\"vocab\":{",
               words);
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[2];
        size_t count = byte_unicode_write((uint8_t)byte, letter);
        buf_printf(&text, "\"%s%.*s\":%u,", byte == '"' || byte == '\\' ? "\\" : "", (int)count,
                   letter, byte);
    }
    buf_puts(&text, "\"aa\":256,\"th\":257,\"the\":258,\"\\u0120a\":259},"
                    "\"merges\":[\"a a\",\"t h\",[\"th\",\"e\"],\"\\u0120 a\"]}}");
    if (tokenizer_parse(&tokenizer, "small", text.data, text.len, &err) < 0)
        abort();
    buf_deinit(&text);
    return tokenizer;
}

static void decode(const struct tokenizer *tokenizer, const struct tokens *tokens,
                   struct buf *whole, struct buf *streamed)
{
    struct tokenizer_stream stream = {0};
    struct err err = {0};
    if (tokenizer_decode(tokenizer, tokens->ids, tokens->count, false, whole, &err) < 0)
        abort();
    for (size_t i = 0; i < tokens->count; i++)
        if (tokenizer_stream_put(tokenizer, &stream, tokens->ids[i], false, streamed, &err) < 0)
            abort();
    if (tokenizer_stream_end(&stream, streamed, &err) < 0)
        abort();
    if (!utf8_is_valid(streamed->data, streamed->len))
        abort();
    if (utf8_is_valid(whole->data, whole->len) &&
        (whole->len != streamed->len || memcmp(whole->data, streamed->data, whole->len) != 0))
        abort();
}

static void encode(struct tokenizer *tokenizer, const char *text, size_t count, bool comes_back)
{
    struct tokens tokens = {0};
    struct buf whole, streamed;
    struct err err = {0};
    buf_init(&whole, TEXT_BYTES);
    buf_init(&streamed, TEXT_BYTES);
    struct tokenizer_encoding how = {.special = count % 2, .begin = !comes_back};
    int result = tokenizer_encode(tokenizer, text, count, &how, &tokens, &err);
    if (result < 0 ? err.text[0] == '\0' || tokens.count > 0 || comes_back : false)
        abort();
    for (size_t i = 0; i < tokens.count; i++)
        if (tokens.ids[i] < 0 || (size_t)tokens.ids[i] >= tokenizer_size(tokenizer))
            abort();
    decode(tokenizer, &tokens, &whole, &streamed);
    if (comes_back && (whole.len != count || memcmp(whole.data, text, count) != 0))
        abort();
    tokens_deinit(&tokens);
    buf_deinit(&whole);
    buf_deinit(&streamed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *known;
    static const char text[] = "aab the <|x|> \xE4\xB8\xAD\xFF e\xCC\x81 aa";
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    if (!known)
        known = small();
    int result = tokenizer_parse(&tokenizer, "input", (const char *)data, size, &err);
    if (result < 0 ? tokenizer != NULL || err.text[0] == '\0' : tokenizer == NULL)
        abort();
    if (tokenizer) {
        encode(tokenizer, text, sizeof text - 1, false);
        encode(tokenizer, (const char *)data, size < 512 ? size : 512, false);
    }
    tokenizer_close(tokenizer);
    encode(known, (const char *)data, size, true);
    return 0;
}
