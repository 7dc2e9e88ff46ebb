#include "lm/train/dataset_line.h"

#include "base/array.h"
#include "lm/tokenizer/chat_json.h"

#include <string.h>

static int read_messages(const json_t *object, struct arena *arena, struct dataset_line *line,
                         struct err *err)
{
    return chat_json_read(json_object_get(object, "messages"), arena, &line->messages,
                          &line->message_count, err);
}

static int read_completion(const json_t *object, struct arena *arena, struct dataset_line *line,
                           struct err *err)
{
    int result = json_get_string(object, "prompt", &line->prompt, err);
    return result < 0 ? result : json_get_string(object, "completion", &line->text, err);
}

static int read_text(const json_t *object, struct arena *arena, struct dataset_line *line,
                     struct err *err)
{
    return json_get_string(object, "text", &line->text, err);
}

/* The first key that is there says what the line is. */
static const struct {
    const char *key;
    enum dataset_kind kind;
    int (*read)(const json_t *object, struct arena *arena, struct dataset_line *line,
                struct err *err);
} kinds[] = {
    {"messages", DATASET_MESSAGES, read_messages},
    {"completion", DATASET_COMPLETION, read_completion},
    {"text", DATASET_TEXT, read_text},
};

int dataset_line_read(const json_t *object, struct arena *arena, struct dataset_line *line,
                      struct err *err)
{
    *line = (struct dataset_line){0};
    for (size_t i = 0; json_is_object(object) && i < COUNT(kinds); i++)
        if (json_object_get(object, kinds[i].key)) {
            line->kind = kinds[i].kind;
            return kinds[i].read(object, arena, line, err);
        }
    return err_set(err, ERR_INPUT,
                   "is no example: it takes \"messages\", \"prompt\" and \"completion\", or "
                   "\"text\"");
}

static int put_text(struct tokenizer *tokenizer, const char *text,
                    const struct tokenizer_encoding *how, bool learned, struct tokens *out,
                    struct buf *mask, struct err *err)
{
    const char mark = learned ? 1 : 0;
    size_t before = out->count;
    int result = tokenizer_encode(tokenizer, text, strlen(text), how, out, err);
    for (size_t i = before; result == 0 && i < out->count; i++)
        buf_append(mask, &mark, 1);
    return result;
}

static int put_end(int32_t id, struct tokens *out, struct buf *mask, struct err *err)
{
    const char learned = 1;
    if (id < 0)
        return 0;
    buf_append(mask, &learned, 1);
    return tokens_add(out, id, err);
}

int dataset_line_encode(const struct dataset_line *line, struct tokenizer *tokenizer,
                        const struct dataset_options *options, struct tokens *out, struct buf *mask,
                        struct err *err)
{
    const struct chat_options chat = {.style = options->style, .thinking = options->thinking};
    const struct tokenizer_encoding first = {.special = options->special, .begin = true};
    const struct tokenizer_encoding next = {.special = options->special};
    int result = 0;
    if (line->kind == DATASET_MESSAGES)
        return chat_encode(tokenizer, line->messages, line->message_count, &chat, out, mask, err);
    if (line->prompt)
        result = put_text(tokenizer, line->prompt, &first, false, out, mask, err);
    if (result == 0)
        result = put_text(tokenizer, line->text, line->prompt ? &next : &first, true, out, mask,
                          err);
    return result < 0 ? result : put_end(options->end_token, out, mask, err);
}
