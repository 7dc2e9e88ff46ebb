/* tokenizer.json and tokenizer_config.json, as the `tokenizers` library and Transformers read
 * them. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "lm/tokenizer/byte_unicode.h"
#include "lm/tokenizer/learn_internal.h"

#include <stdio.h>
#include <string.h>

/* The rules of lm/tokenizer/chat.h's CHAT_PLAIN. */
#define CHAT_TEMPLATE                                                                              \
    "{%- for message in messages %}"                                                               \
    "{%- set inner = message.role == 'tool' %}"                                                    \
    "{%- if not inner or loop.first or messages[loop.index0 - 1].role != 'tool' %}"                \
    "{{- '<|im_start|>' + ('user' if inner else message.role) }}"                                  \
    "{%- endif %}"                                                                                 \
    "{{- ('\\n<tool_response>\\n' + message.content + '\\n</tool_response>') if inner"             \
    " else '\\n' + message.content }}"                                                             \
    "{%- if not inner or loop.last or messages[loop.index0 + 1].role != 'tool' %}"                 \
    "{{- '<|im_end|>\\n' }}"                                                                       \
    "{%- endif %}"                                                                                 \
    "{%- endfor %}"                                                                                \
    "{%- if add_generation_prompt %}"                                                              \
    "{{- '<|im_start|>assistant\\n' }}"                                                            \
    "{%- endif %}"

static void put_token(struct buf *out, const struct learn_string *token)
{
    char letter[2];
    for (size_t i = 0; i < token->count; i++)
        buf_append(out, letter, byte_unicode_write((uint8_t)token->bytes[i], letter));
}

static json_t *byte_level(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 0, "use_regex", 0);
}

static json_t *pre_tokenizer(void)
{
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers",
                     "type", "Split", "pattern", "Regex", LEARN_PATTERN, "behavior", "Isolated",
                     "invert", 0, byte_level());
}

static json_t *added_token(const char *text, size_t id, bool with_id)
{
    json_t *token = json_object();
    if (with_id)
        json_put(token, "id", json_integer((json_int_t)id));
    json_put(token, "content", json_text(text));
    static const char *const off[] = {"single_word", "lstrip", "rstrip", "normalized"};
    for (size_t i = 0; i < COUNT(off); i++)
        json_put(token, off[i], json_false());
    json_put(token, "special", json_true());
    return token;
}

/* Behind the learned ones; check_special has put them into the strings, too, where they count
 * only once. */
static json_t *added_tokens(size_t first, const char *const *special)
{
    json_t *list = json_array();
    for (size_t i = 0; special[i]; i++)
        json_array_append_new(list, added_token(special[i], first + i, true));
    return list;
}

static json_t *model(const struct learned *learned, size_t count)
{
    json_t *vocab = json_object(), *merges = json_array();
    struct buf text;
    buf_init(&text, LIMIT_TOKENIZER_CONFIG_BYTES);
    for (size_t i = 0; i < count; i++) {
        buf_reset(&text);
        put_token(&text, &learned->tokens.items[i]);
        json_put(vocab, text.data, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < learned->merge_count; i++) {
        buf_reset(&text);
        put_token(&text, &learned->tokens.items[learned->merges[i].left]);
        buf_puts(&text, " ");
        put_token(&text, &learned->tokens.items[learned->merges[i].right]);
        json_array_append_new(merges, json_text(text.data));
    }
    buf_deinit(&text);
    return json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                     "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "",
                     "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab,
                     "merges", merges);
}

static json_t *tokenizer(const struct learned *learned, size_t count, const char *const *special)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added_tokens(count, special),
                     "normalizer", "pre_tokenizer", pre_tokenizer(), "post_processor", byte_level(),
                     "decoder", byte_level(), "model", model(learned, count));
}

static bool has(const char *const *special, const char *text)
{
    while (*special && strcmp(*special, text) != 0)
        special++;
    return *special;
}

static json_t *config(size_t count, const char *const *special)
{
    json_t *object = json_object(), *tokens = json_object();
    char key[24];
    for (size_t i = 0; special[i]; i++) {
        snprintf(key, sizeof key, "%zu", count + i);
        json_put(tokens, key, added_token(special[i], 0, false));
    }
    json_put(object, "tokenizer_class", json_text("PreTrainedTokenizerFast"));
    json_put(object, "added_tokens_decoder", tokens);
    json_put(object, "clean_up_tokenization_spaces", json_false());
    json_put(object, "bos_token", json_null());
    json_put(object, "unk_token", json_null());
    bool chat = has(special, "<|im_start|>") && has(special, "<|im_end|>");
    json_put(object, "eos_token", json_text(chat ? "<|im_end|>" : special[0]));
    json_put(object, "pad_token", json_text(special[0]));
    if (chat)
        json_put(object, "chat_template", json_text(CHAT_TEMPLATE));
    return object;
}

static int write_file(const char *directory, const char *name, json_t *value, struct err *err)
{
    char *path = mem_printf("%s/%s", directory, name);
    struct buf text;
    buf_init(&text, LIMIT_LM_LEARNED_BYTES);
    int result = json_line_write(value, &text, err);
    if (result == 0)
        result = file_write_atomic(path, text.data, text.len, 0644, err);
    buf_deinit(&text);
    mem_free(path);
    json_decref(value);
    return result;
}

int learn_write(const char *directory, const struct learned *learned, const char *const *special,
                struct err *err)
{
    size_t count = LEARN_BYTES + learned->merge_count;
    int result = write_file(directory, "tokenizer.json", tokenizer(learned, count, special), err);
    if (result < 0)
        return result;
    return write_file(directory, "tokenizer_config.json", config(count, special), err);
}
