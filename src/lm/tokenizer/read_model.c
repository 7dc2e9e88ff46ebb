/* The model (vocabulary and merges) and the pre-tokenizer of a tokenizer.json. */
#include "lm/tokenizer/byte_unicode.h"
#include "lm/tokenizer/parts.h"

#include "base/array.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static int put_token(struct tokenizer *tokenizer, const char *text, int32_t id, struct err *err)
{
    struct token *token = &tokenizer->tokens[id];
    size_t count = strlen(text);
    char *bytes = arena_alloc(&tokenizer->arena, count + 1);
    ptrdiff_t decoded = tokenizer->byte_level ? byte_unicode_bytes(text, count, bytes) : -1;
    if (token->known)
        return err_set(err, ERR_INPUT, "'%.64s' has id %d, which is another token's", text, id);
    if (decoded < 0)
        memcpy(bytes, text, count);
    else
        count = (size_t)decoded;
    *token = (struct token){.bytes = bytes, .count = (uint32_t)count, .known = true};
    /* A text that isn't made of letters is never met where all words are. */
    if (decoded >= 0 || !tokenizer->byte_level)
        names_put(&tokenizer->vocab, bytes, count, id);
    return 0;
}

static int read_bytes(struct tokenizer *tokenizer, struct err *err)
{
    for (int byte = 0; byte < 256; byte++) {
        char text[8] = {(char)byte};
        size_t count = 1;
        tokenizer->byte_ids[byte] = -1;
        if (!tokenizer->byte_level)
            count = (size_t)snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        if (tokenizer->byte_level || tokenizer->byte_fallback)
            tokenizer->byte_ids[byte] = names_find(&tokenizer->vocab, text, count);
        if (tokenizer->byte_level && tokenizer->byte_ids[byte] < 0)
            return err_set(err, ERR_INPUT, "the vocabulary has no token for the byte 0x%02X",
                           (unsigned)byte);
    }
    return 0;
}

static int read_unknown(struct tokenizer *tokenizer, const json_t *model, const json_t *vocab,
                        struct err *err)
{
    const char *text = "";
    int result = json_find_string(model, "unk_token", &text, err);
    const json_t *id = json_object_get(vocab, text);
    tokenizer->unk = -1;
    if (result < 0 || text[0] == '\0')
        return result;
    if (id)
        tokenizer->unk = (int32_t)json_integer_value(id);
    else if (!tokenizer->byte_level)
        return err_set(err, ERR_INPUT, "unk_token '%.64s' is not in the vocabulary", text);
    return 0;
}

/* "a b", or ["a", "b"]; into two strings that end in NUL. */
static bool split_merge(const json_t *merge, struct buf *left, struct buf *right)
{
    buf_reset(left);
    buf_reset(right);
    if (json_is_array(merge)) {
        buf_puts(left, json_string_value(json_array_get(merge, 0)) ?: "");
        buf_puts(right, json_string_value(json_array_get(merge, 1)) ?: "");
        return json_array_size(merge) == 2 && left->len > 0 && right->len > 0;
    }
    const char *text = json_string_value(merge);
    const char *space = text ? strchr(text, ' ') : NULL;
    if (!space || strchr(space + 1, ' '))
        return false;
    buf_append(left, text, (size_t)(space - text));
    buf_puts(right, space + 1);
    return left->len > 0 && right->len > 0;
}

static int put_merge(struct tokenizer *tokenizer, const json_t *vocab, size_t rank,
                     struct buf parts[2], struct err *err)
{
    int32_t ids[3];
    for (size_t i = 0; i < 3; i++) {
        if (i == 2)
            buf_append(&parts[0], parts[1].data, parts[1].len);
        const char *text = parts[i % 2].data;
        const json_t *id = json_object_get(vocab, text);
        if (!id)
            return err_set(err, ERR_INPUT,
                           "merge %zu needs '%.64s', which is not in the vocabulary", rank, text);
        ids[i] = (int32_t)json_integer_value(id);
    }
    bpe_put(&tokenizer->bpe, ids[0], ids[1], (struct bpe_merge_to){(uint32_t)rank, ids[2]});
    return 0;
}

static int read_merges(struct tokenizer *tokenizer, const json_t *merges, const json_t *vocab,
                       struct err *err)
{
    struct buf parts[2];
    size_t count = json_array_size(merges);
    int result = 0;
    if (count > LIMIT_TOKEN_IDS)
        return err_set(err, ERR_LIMIT, "more than %d merges", LIMIT_TOKEN_IDS);
    bpe_init(&tokenizer->bpe, count, clock_secret());
    buf_init(&parts[0], LIMIT_TOKENIZER_BYTES);
    buf_init(&parts[1], LIMIT_TOKENIZER_BYTES);
    for (size_t i = 0; result == 0 && i < count; i++) {
        const json_t *merge = json_array_get(merges, i);
        const char *text = json_string_value(merge);
        if (text && strncmp(text, "#version", 8) == 0)
            continue;
        if (split_merge(merge, &parts[0], &parts[1]))
            result = put_merge(tokenizer, vocab, i, parts, err);
        else
            result = err_set(err, ERR_INPUT, "merge %zu is not two tokens", i);
    }
    buf_deinit(&parts[0]);
    buf_deinit(&parts[1]);
    return result;
}

/* What would make another model of it. */
static int refuse_others(const json_t *model, struct err *err)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const char *type = "BPE";
    double dropout = 0;
    int result = json_find_string(model, "type", &type, err);
    if (result == 0 && strcmp(type, "BPE") != 0)
        return err_set(err, ERR_INPUT, "type '%.64s' is not known: it must be BPE", type);
    if (result == 0)
        result = json_find_double(model, "dropout", &dropout, err);
    if (result == 0 && dropout != 0)
        return err_set(err, ERR_INPUT, "'dropout' is not known: ids would be random");
    for (size_t i = 0; result == 0 && i < COUNT(affixes); i++) {
        const char *affix = "";
        result = json_find_string(model, affixes[i], &affix, err);
        if (result == 0 && affix[0])
            return err_set(err, ERR_INPUT, "'%s' is not known", affixes[i]);
    }
    return result;
}

int tokenizer_read_model(struct tokenizer *tokenizer, const json_t *model, struct err *err)
{
    static const char *const keys[] = {"type",
                                       "dropout",
                                       "unk_token",
                                       "continuing_subword_prefix",
                                       "end_of_word_suffix",
                                       "fuse_unk",
                                       "byte_fallback",
                                       "ignore_merges",
                                       "vocab",
                                       "merges"};
    json_t *vocab = json_object_get(model, "vocab"), *merges = NULL, *id;
    const char *text;
    int result = json_check_keys(model, keys, COUNT(keys), err);
    if (result == 0)
        result = refuse_others(model, err);
    if (result == 0)
        result = json_find_bool(model, "fuse_unk", &tokenizer->fuse_unk, err);
    if (result == 0)
        result = json_find_bool(model, "byte_fallback", &tokenizer->byte_fallback, err);
    if (result == 0)
        result = json_find_bool(model, "ignore_merges", &tokenizer->ignore_merges, err);
    if (result == 0)
        result = json_get_array(model, "merges", &merges, err);
    if (result < 0)
        return result;
    json_object_foreach(vocab, text, id)
    {
        result = put_token(tokenizer, text, (int32_t)json_integer_value(id), err);
        if (result < 0)
            return result;
    }
    result = read_bytes(tokenizer, err);
    if (result == 0)
        result = read_unknown(tokenizer, model, vocab, err);
    return result < 0 ? result : read_merges(tokenizer, merges, vocab, err);
}

/* GPT-2's words. */
static const char byte_level_words[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* The split that is read next, of a part that may have these keys. It is counted at once, so that
 * its pattern is freed. An error leaves *split NULL. */
static int begin_split(struct tokenizer *tokenizer, const json_t *part, const char *const *keys,
                       size_t count, struct split **split, struct err *err)
{
    int result = json_check_keys(part, keys, count, err);
    if (result < 0)
        return result;
    if (tokenizer->byte_level)
        return err_set(err, ERR_INPUT, "a part behind ByteLevel is not known");
    if (tokenizer->split_count == LIMIT_TOKENIZER_STEPS)
        return err_set(err, ERR_LIMIT, "more than %d parts", LIMIT_TOKENIZER_STEPS);
    *split = &tokenizer->splits[tokenizer->split_count++];
    (*split)->behavior = SPLIT_ISOLATED;
    return 0;
}

static int read_byte_level(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    static const char *const keys[] = {"type", "add_prefix_space", "trim_offsets", "use_regex"};
    bool words = true;
    struct split *split = NULL;
    int result = begin_split(tokenizer, part, keys, COUNT(keys), &split, err);
    if (!split)
        return result;
    result = json_find_bool(part, "add_prefix_space", &split->prefix_space, err);
    if (result == 0)
        result = json_find_bool(part, "use_regex", &words, err);
    tokenizer->byte_level = true;
    if (result == 0 && words)
        result = pattern_compile(&split->pattern, byte_level_words, strlen(byte_level_words), false,
                                 err);
    return result;
}

static int read_behavior(struct split *split, const json_t *part, struct err *err)
{
    static const struct {
        const char *name;
        enum split_behavior behavior;
    } behaviors[] = {{"Removed", SPLIT_REMOVED},
                     {"Isolated", SPLIT_ISOLATED},
                     {"Contiguous", SPLIT_CONTIGUOUS},
                     {"MergedWithPrevious", SPLIT_MERGED_WITH_PREVIOUS},
                     {"MergedWithNext", SPLIT_MERGED_WITH_NEXT}};
    const char *name = NULL;
    int result = json_get_string(part, "behavior", &name, err);
    for (size_t i = 0; result == 0 && i < COUNT(behaviors); i++)
        if (strcmp(behaviors[i].name, name) == 0) {
            split->behavior = behaviors[i].behavior;
            return 0;
        }
    return result < 0 ? result : err_set(err, ERR_INPUT, "behavior '%.64s' is not known", name);
}

static int read_split(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    static const char *const keys[] = {"type", "pattern", "behavior", "invert"};
    json_t *pattern = NULL;
    struct split *split = NULL;
    int result = begin_split(tokenizer, part, keys, COUNT(keys), &split, err);
    if (!split)
        return result;
    result = read_behavior(split, part, err);
    if (result == 0)
        result = json_find_bool(part, "invert", &split->invert, err);
    if (result == 0)
        result = json_get_object(part, "pattern", &pattern, err);
    if (result < 0)
        return result;
    const json_t *regex = json_object_get(pattern, "Regex");
    const json_t *literal = json_object_get(pattern, "String");
    const char *text = json_string_value(regex ? regex : literal);
    if (!text || (regex && literal))
        return err_set(err, ERR_INPUT, "'pattern' must be a Regex or a String");
    return pattern_compile(&split->pattern, text, strlen(text), !regex, err);
}

static int read_digits(struct tokenizer *tokenizer, const json_t *part, struct err *err)
{
    static const char *const keys[] = {"type", "individual_digits"};
    bool individual = false;
    struct split *split = NULL;
    int result = begin_split(tokenizer, part, keys, COUNT(keys), &split, err);
    if (!split)
        return result;
    result = json_find_bool(part, "individual_digits", &individual, err);
    if (result < 0)
        return result;
    split->behavior = individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
    return pattern_compile(&split->pattern, "\\p{N}", 5, false, err);
}

int tokenizer_read_splits(struct tokenizer *tokenizer, const json_t *document, struct err *err)
{
    static const struct part_kind kinds[] = {{"ByteLevel", read_byte_level},
                                             {"Split", read_split},
                                             {"Digits", read_digits}};
    return tokenizer_read_part(tokenizer, document, "pre_tokenizer", "pretokenizers", kinds,
                               COUNT(kinds), err);
}
