/* A line of a data set is an example or is refused with a reason. */
#include "base/json.h"
#include "base/limits.h"
#include "lm/train/dataset_line.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct dataset_line line;
    struct err err = {0};
    json_t *object = NULL;
    if (json_parse_line("data", 1, (const char *)data, size, &object, &err) < 0)
        return 0;
    int result = dataset_line_read(object, &arena, &line, &err);
    check(result == 0 || err.text[0]);
    if (result == 0 && line.kind == DATASET_MESSAGES) {
        const struct chat_options options = {.style = CHAT_QWEN3};
        struct buf text;
        buf_init(&text, LIMIT_PROMPT_BYTES);
        check(chat_text(line.messages, line.message_count, &options, &text, &err) == 0);
        buf_deinit(&text);
    } else if (result == 0) {
        check(line.text && (line.prompt != NULL) == (line.kind == DATASET_COMPLETION));
    }
    arena_deinit(&arena);
    json_decref(object);
    return 0;
}
