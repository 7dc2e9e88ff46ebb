#include "lm/tokenizer/tokenizer.h"

#include "base/file.h"
#include "lm/tokenizer/parts.h"

#include <string.h>

int tokens_add(struct tokens *tokens, int32_t id, struct err *err)
{
    if (tokens->count == tokens->capacity) {
        if (tokens->count >= LIMIT_TOKENS_OF_TEXT)
            return err_set(err, ERR_LIMIT, "more than %zu tokens", LIMIT_TOKENS_OF_TEXT);
        tokens->capacity = tokens->capacity ? 2 * tokens->capacity : 64;
        tokens->ids = mem_resize(tokens->ids, tokens->capacity * sizeof *tokens->ids);
    }
    tokens->ids[tokens->count++] = id;
    return 0;
}

void tokens_deinit(struct tokens *tokens)
{
    mem_free(tokens->ids);
    *tokens = (struct tokens){0};
}

int tokenizer_parse(struct tokenizer **out, const char *name, const char *text, size_t count,
                    struct err *err)
{
    json_t *document = NULL;
    *out = NULL;
    if (count > LIMIT_TOKENIZER_BYTES)
        return err_set(err, ERR_LIMIT, "%s has more than %zu bytes", name, LIMIT_TOKENIZER_BYTES);
    int result = json_parse(name, text, count, &document, err);
    if (result < 0)
        return result;
    struct tokenizer *tokenizer = mem_alloc(sizeof *tokenizer);
    pthread_mutex_init(&tokenizer->lock, NULL);
    if (json_is_object(document))
        result = tokenizer_read(tokenizer, document, err);
    else
        result = err_set(err, ERR_INPUT, "not a JSON object");
    json_decref(document);
    if (result == 0) {
        *out = tokenizer;
        return 0;
    }
    tokenizer_close(tokenizer);
    return err_prefix(err, "%s", name);
}

int tokenizer_open(struct tokenizer **out, const char *path, struct err *err)
{
    char *text = NULL, *inside = NULL;
    size_t count = 0;
    *out = NULL;
    if (file_is_directory(path))
        path = inside = mem_printf("%s/tokenizer.json", path);
    int result = file_read(path, LIMIT_TOKENIZER_BYTES, &text, &count, err);
    if (result == 0)
        result = tokenizer_parse(out, path, text, count, err);
    mem_free(text);
    mem_free(inside);
    return result;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    workspace_free_all(tokenizer->idle);
    for (size_t i = 0; i < tokenizer->split_count; i++)
        pattern_free(tokenizer->splits[i].pattern);
    added_deinit(&tokenizer->raw);
    added_deinit(&tokenizer->normalized);
    bpe_deinit(&tokenizer->bpe);
    names_deinit(&tokenizer->vocab);
    names_deinit(&tokenizer->added_names);
    mem_free(tokenizer->tokens);
    arena_deinit(&tokenizer->arena);
    pthread_mutex_destroy(&tokenizer->lock);
    mem_free(tokenizer);
}

const char *tokenizer_bytes(const struct tokenizer *tokenizer, int32_t id, size_t *count)
{
    bool known = id >= 0 && (size_t)id < tokenizer->size && tokenizer->tokens[id].known;
    *count = known ? tokenizer->tokens[id].count : 0;
    return known ? tokenizer->tokens[id].bytes : "";
}

size_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return tokenizer->size;
}

int32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text)
{
    int32_t id = names_find(&tokenizer->added_names, text, strlen(text));
    return id >= 0 ? id : names_find(&tokenizer->vocab, text, strlen(text));
}

bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->size && tokenizer->tokens[id].special;
}
