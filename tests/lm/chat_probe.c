/* chat_probe: conversations as text, ids and marks, a line of JSON each, for comparison with
 * Transformers. The argument is a tokenizer's directory. */
#include "base/array.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mem.h"
#include "lm/tokenizer/chat_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES ((size_t)1 << 20)

static void check(int result, const struct err *err)
{
    if (result >= 0)
        return;
    fprintf(stderr, "chat_probe: %s\n", err->text);
    exit(2);
}

static enum chat_style style_of(const char *name)
{
    static const char *const names[] = {[CHAT_QWEN2] = "qwen2",
                                        [CHAT_QWEN3] = "qwen3",
                                        [CHAT_PLAIN] = "plain",
                                        [CHAT_QWEN1] = "qwen1",
                                        [CHAT_THINKER] = "thinker"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum chat_style)i;
    fprintf(stderr, "chat_probe: no style %s\n", name);
    exit(2);
}

static void answer(struct tokenizer *tokenizer, const json_t *question)
{
    struct chat_options options = {
        .style = style_of(json_text_at(question, "style")),
        .thinking = json_is_true(json_object_get(question, "thinking")),
        .answer = json_is_true(json_object_get(question, "answer")),
    };
    struct arena arena = {0};
    struct chat_message *messages;
    struct tokens ids = {0};
    struct buf text, mask;
    struct err err;
    size_t count;
    buf_init(&text, LINE_BYTES);
    buf_init(&mask, LINE_BYTES);
    check(chat_json_read(json_object_get(question, "messages"), &arena, &messages, &count, &err),
          &err);
    check(chat_text(messages, count, &options, &text, &err), &err);
    check(chat_encode(tokenizer, messages, count, &options, &ids, &mask, &err), &err);
    json_t *list = json_array(), *marks = json_array();
    for (size_t i = 0; i < ids.count; i++)
        json_array_append_new(list, json_integer(ids.ids[i]));
    for (size_t i = 0; i < mask.len; i++)
        json_array_append_new(marks, json_integer(mask.data[i]));
    json_t *whole = json_pack("{s:o, s:o, s:o}", "text", json_text(text.data), "ids", list, "mask",
                              marks);
    json_dumpf(whole, stdout, JSON_COMPACT);
    puts("");
    json_decref(whole);
    tokens_deinit(&ids);
    buf_deinit(&text);
    buf_deinit(&mask);
    arena_deinit(&arena);
}

int main(int argc, char **argv)
{
    struct tokenizer *tokenizer;
    struct lines *lines;
    const char *line;
    size_t count;
    struct err err;
    int result;
    if (argc != 2)
        return 2;
    check(tokenizer_open(&tokenizer, argv[1], &err), &err);
    check(lines_open(&lines, "/dev/stdin", LINE_BYTES, &err), &err);
    while ((result = lines_next(lines, &line, &count, &err)) > 0) {
        json_t *question = NULL;
        check(json_parse("question", line, count, &question, &err), &err);
        answer(tokenizer, question);
        json_decref(question);
    }
    check(result, &err);
    lines_close(lines);
    tokenizer_close(tokenizer);
    return 0;
}
