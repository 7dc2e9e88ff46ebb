#include "lm/tokenizer/parts.h"

#include "base/array.h"
#include "base/clock.h"
#include "lm/tokenizer/mix.h"

#include <string.h>

static int read_part(struct tokenizer *tokenizer, const json_t *part, const char *list,
                     const struct part_kind *kinds, size_t count, struct err *err)
{
    const char *type = NULL;
    json_t *inner = NULL;
    if (!part || json_is_null(part))
        return 0;
    if (!json_is_object(part))
        return err_set(err, ERR_INPUT, "not an object");
    int result = json_get_string(part, "type", &type, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kinds[i].type, type) == 0)
            return kinds[i].read(tokenizer, part, err);
    if (strcmp(type, "Sequence") != 0)
        return err_set(err, ERR_INPUT, "type '%.64s' is not known", type);
    result = json_get_array(part, list, &inner, err);
    for (size_t i = 0; result == 0 && i < json_array_size(inner); i++)
        result = read_part(tokenizer, json_array_get(inner, i), list, kinds, count, err);
    return result;
}

static int in_part(const char *part, int result, struct err *err)
{
    return result < 0 ? err_prefix(err, "%s", part) : 0;
}

int tokenizer_read_part(struct tokenizer *tokenizer, const json_t *document, const char *key,
                        const char *list, const struct part_kind *kinds, size_t count,
                        struct err *err)
{
    const json_t *part = json_object_get(document, key);
    return in_part(key, read_part(tokenizer, part, list, kinds, count, err), err);
}

static int read_form(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    if (!normalizer_add(&tokenizer->normalizer, json_text_at(part, "type")))
        return err_set(err, ERR_LIMIT, "more than %d forms", NORMALIZE_FORMS);
    return 0;
}

static const struct part_kind normalizers[] = {{"NFC", read_form},
                                               {"NFD", read_form},
                                               {"NFKC", read_form},
                                               {"NFKD", read_form}};

static int put_template_id(struct tokenizer *tokenizer, const json_t *id, bool behind,
                           struct err *err)
{
    int32_t *ids = behind ? tokenizer->after : tokenizer->before;
    size_t *count = behind ? &tokenizer->after_count : &tokenizer->before_count;
    json_int_t value = json_integer_value(id);
    size_t found;
    if (!json_is_integer(id) || value < 0 || value > INT32_MAX)
        return err_set(err, ERR_INPUT, "an id that is none");
    tokenizer_bytes(tokenizer, (int32_t)value, &found);
    if (found == 0)
        return err_set(err, ERR_INPUT, "id %lld is no token's", (long long)value);
    if (*count == LIMIT_TOKENIZER_TEMPLATE)
        return err_set(err, ERR_LIMIT, "more than %d tokens", LIMIT_TOKENIZER_TEMPLATE);
    ids[(*count)++] = (int32_t)value;
    return 0;
}

static int read_template_token(struct tokenizer *tokenizer, const json_t *part, const json_t *item,
                               bool behind, struct err *err)
{
    const char *name = NULL;
    json_t *known = NULL, *entry = NULL, *ids = NULL;
    int result = json_get_string(item, "id", &name, err);
    if (result == 0)
        result = json_get_object(part, "special_tokens", &known, err);
    if (result == 0)
        result = json_get_object(known, name, &entry, err);
    if (result == 0)
        result = json_get_array(entry, "ids", &ids, err);
    for (size_t i = 0; result == 0 && i < json_array_size(ids); i++)
        result = put_template_id(tokenizer, json_array_get(ids, i), behind, err);
    return result;
}

/* What stands around the text, "A", where there is only one. */
static int read_template(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    json_t *items = NULL;
    bool behind = false;
    int result = json_get_array(part, "single", &items, err);
    if (tokenizer->before_count + tokenizer->after_count > 0)
        return err_set(err, ERR_INPUT, "more than one TemplateProcessing");
    for (size_t i = 0; result == 0 && i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const json_t *token = json_object_get(item, "SpecialToken");
        bool text = json_is_object(json_object_get(item, "Sequence"));
        if (json_is_object(token))
            result = read_template_token(tokenizer, part, token, behind, err);
        else if (!text || behind)
            result = err_set(err, ERR_INPUT, "'single' must hold one Sequence and SpecialTokens");
        behind |= text;
    }
    if (result == 0 && !behind)
        result = err_set(err, ERR_INPUT, "'single' holds no Sequence");
    return result;
}

/* Of a ByteLevel post-processor, which moves offsets alone; of a Fuse decoder, which joins what is
 * joined here anyway. */
static int read_nothing(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    return 0;
}

static const struct part_kind processors[] = {{"TemplateProcessing", read_template},
                                              {"ByteLevel", read_nothing}};

static int read_byte_level(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    if (!tokenizer->byte_level)
        return err_set(err, ERR_INPUT, "ByteLevel, but the pre_tokenizer is not");
    tokenizer->decodes = true;
    return 0;
}

/* "<0x41>" is a byte. */
static int read_byte_fallback(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    if (tokenizer->byte_level)
        return err_set(err, ERR_INPUT, "ByteFallback behind a pre_tokenizer ByteLevel");
    tokenizer->decodes = true;
    for (int byte = 0; byte < 256; byte++) {
        int32_t id = tokenizer->byte_ids[byte];
        if (id < 0)
            continue;
        char *bytes = arena_alloc(&tokenizer->arena, 1);
        bytes[0] = (char)byte;
        tokenizer->tokens[id].bytes = bytes;
        tokenizer->tokens[id].count = 1;
    }
    return 0;
}

static const struct part_kind decoders[] = {{"ByteLevel", read_byte_level},
                                            {"ByteFallback", read_byte_fallback},
                                            {"Fuse", read_nothing}};

struct added_entry {
    const char *content;
    int64_t id;
    bool special, single_word, lstrip, rstrip, normalized;
};

static int read_added_entry(const json_t *item, struct added_entry *entry, struct err *err)
{
    if (!json_is_object(item))
        return err_set(err, ERR_INPUT, "an added token that is not an object");
    int result = json_get_string(item, "content", &entry->content, err);
    if (result == 0)
        result = json_get_int(item, "id", &entry->id, err);
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {{"special", &entry->special},
                 {"single_word", &entry->single_word},
                 {"lstrip", &entry->lstrip},
                 {"rstrip", &entry->rstrip},
                 {"normalized", &entry->normalized}};
    for (size_t i = 0; result == 0 && i < COUNT(flags); i++)
        result = json_find_bool(item, flags[i].key, flags[i].flag, err);
    return result;
}

/* Where the model has this text too, or another token has this id. */
static int check_added(const struct tokenizer *tokenizer, const struct added_entry *entry,
                       const json_t *vocab, struct err *err)
{
    const json_t *twin = json_object_get(vocab, entry->content);
    const struct token *taken = &tokenizer->tokens[entry->id];
    if (twin && json_integer_value(twin) != entry->id)
        return err_set(err, ERR_INPUT, "'%.64s' has id %lld here and id %lld in the vocabulary",
                       entry->content, (long long)entry->id, (long long)json_integer_value(twin));
    if (!twin && taken->known)
        return err_set(err, ERR_INPUT, "'%.64s' has id %lld, which is another token's",
                       entry->content, (long long)entry->id);
    return 0;
}

static int put_added(struct tokenizer *tokenizer, const struct added_entry *entry, struct err *err)
{
    size_t count = strlen(entry->content);
    char *text = arena_strndup(&tokenizer->arena, entry->content, count);
    tokenizer->tokens[entry->id] = (struct token){.bytes = text,
                                                  .count = (uint32_t)count,
                                                  .known = true,
                                                  .added = true,
                                                  .special = entry->special};
    if (!names_put(&tokenizer->added_names, text, count, (int32_t)entry->id))
        return err_set(err, ERR_INPUT, "'%.64s' is there twice", text);
    struct added_token token = {.text = text,
                                .count = count,
                                .id = (int32_t)entry->id,
                                .special = entry->special,
                                .single_word = entry->single_word,
                                .lstrip = entry->lstrip,
                                .rstrip = entry->rstrip};
    if (entry->normalized) {
        struct buf buffers[2];
        buf_init(&buffers[0], LIMIT_TOKENIZER_TEXT_BYTES);
        buf_init(&buffers[1], LIMIT_TOKENIZER_TEXT_BYTES);
        const char *normal = normalizer_apply(&tokenizer->normalizer, text, &token.count, buffers);
        if (normal && normal != text)
            token.text = arena_strndup(&tokenizer->arena, normal, token.count);
        buf_deinit(&buffers[0]);
        buf_deinit(&buffers[1]);
    }
    added_put(entry->normalized ? &tokenizer->normalized : &tokenizer->raw, &token);
    return 0;
}

static int read_added(struct tokenizer *tokenizer, const json_t *items, const json_t *vocab,
                      struct err *err)
{
    int result = 0;
    if (json_array_size(items) > LIMIT_ADDED_TOKENS)
        return err_set(err, ERR_LIMIT, "more than %d added tokens", LIMIT_ADDED_TOKENS);
    for (size_t i = 0; result == 0 && i < json_array_size(items); i++) {
        struct added_entry entry = {.content = ""};
        result = read_added_entry(json_array_get(items, i), &entry, err);
        if (result < 0)
            break;
        if (entry.content[0] == '\0')
            continue;
        if (strlen(entry.content) > LIMIT_ADDED_TOKEN_BYTES)
            return err_set(err, ERR_LIMIT, "an added token of more than %d bytes",
                           LIMIT_ADDED_TOKEN_BYTES);
        result = check_added(tokenizer, &entry, vocab, err);
        if (result == 0)
            result = put_added(tokenizer, &entry, err);
    }
    return result;
}

static bool is_id(const json_t *id, json_int_t *highest)
{
    json_int_t value = json_integer_value(id);
    *highest = value > *highest ? value : *highest;
    return json_is_integer(id) && value >= 0 && value < LIMIT_TOKEN_IDS;
}

/* Ids are looked through before there is a table for them. */
static int measure(struct tokenizer *tokenizer, const json_t *vocab, const json_t *added,
                   struct err *err)
{
    json_int_t highest = -1;
    const char *text;
    json_t *id;
    json_object_foreach((json_t *)vocab, text, id)
    {
        if (!is_id(id, &highest))
            return err_set(err, ERR_INPUT, "the id of '%.64s' must be a number from 0 to %d", text,
                           LIMIT_TOKEN_IDS - 1);
    }
    for (size_t i = 0; i < json_array_size(added); i++)
        if (!is_id(json_object_get(json_array_get(added, i), "id"), &highest))
            return err_set(err, ERR_INPUT, "the id of an added token must be a number from 0 to %d",
                           LIMIT_TOKEN_IDS - 1);
    if (highest < 0)
        return err_set(err, ERR_INPUT, "the vocabulary is empty");
    tokenizer->size = (size_t)highest + 1;
    tokenizer->tokens = mem_alloc(tokenizer->size * sizeof *tokenizer->tokens);
    tokenizer->vocab.seed = clock_secret();
    tokenizer->added_names.seed = mix(tokenizer->vocab.seed, 1);
    added_init(&tokenizer->raw);
    added_init(&tokenizer->normalized);
    return 0;
}

int tokenizer_read(struct tokenizer *tokenizer, const json_t *document, struct err *err)
{
    static const char *const keys[] = {"version",        "truncation", "padding",
                                       "added_tokens",   "normalizer", "pre_tokenizer",
                                       "post_processor", "decoder",    "model"};
    json_t *model = NULL, *vocab = NULL, *added = NULL;
    int result = json_check_keys(document, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_object(document, "model", &model, err);
    if (result == 0)
        result = json_get_object(model, "vocab", &vocab, err);
    if (result == 0)
        result = json_find_array(document, "added_tokens", &added, err);
    if (result == 0)
        result = measure(tokenizer, vocab, added, err);
#define PART(key, kinds, list)                                                                     \
    tokenizer_read_part(tokenizer, document, key, list, kinds, COUNT(kinds), err)
    if (result == 0)
        result = PART("normalizer", normalizers, "normalizers");
    if (result == 0)
        result = tokenizer_read_splits(tokenizer, document, err);
    if (result == 0)
        result = in_part("model", tokenizer_read_model(tokenizer, model, err), err);
    if (result == 0)
        result = PART("decoder", decoders, "decoders");
    if (result == 0 && !tokenizer->decodes)
        result = err_set(err, ERR_INPUT, "decoder: it must be ByteLevel or ByteFallback");
    if (result == 0)
        result = in_part("added_tokens", read_added(tokenizer, added, vocab, err), err);
    if (result == 0)
        result = PART("post_processor", processors, "processors");
#undef PART
    return result;
}
