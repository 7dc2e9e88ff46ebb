#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/tokenizer/chat.h"

#include <string.h>

/* A text that occurs in one template only identifies it; the first row that matches wins. */
static const struct {
    const char *mark;
    enum chat_style style;
} marks[] = {
    {"enable_thinking", CHAT_QWEN3},
    {"<think>", CHAT_THINKER},
    {"created by Alibaba Cloud", CHAT_QWEN2},
    {"You are a helpful assistant.", CHAT_QWEN1},
};

enum chat_style chat_style_of_template(const char *text)
{
    for (size_t i = 0; strstr(text, "<|im_start|>") && i < COUNT(marks); i++)
        if (strstr(text, marks[i].mark))
            return marks[i].style;
    return CHAT_PLAIN;
}

/* A text, or a list of {"name", "template"} of which "default" counts. */
static const char *template_in(const json_t *config)
{
    const json_t *value = json_object_get(config, "chat_template");
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item)
    {
        if (strcmp(json_text_at(item, "name"), "default") == 0)
            return json_text_at(item, "template");
    }
    return json_is_string(value) ? json_string_value(value) : "";
}

static int read_jinja(const char *directory, enum chat_style *style, struct err *err)
{
    char *path = mem_printf("%s/chat_template.jinja", directory), *text = NULL;
    size_t count;
    int result = file_read(path, LIMIT_CHAT_TEMPLATE_BYTES, &text, &count, err);
    if (result == 0)
        *style = chat_style_of_template(text);
    mem_free(text);
    mem_free(path);
    return result;
}

static int read_config(const char *directory, enum chat_style *style, struct err *err)
{
    char *path = mem_printf("%s/tokenizer_config.json", directory);
    json_t *config;
    int result = json_file_read(path, LIMIT_TOKENIZER_CONFIG_BYTES, &config, err);
    if (result == 0)
        *style = chat_style_of_template(template_in(config));
    json_decref(config);
    mem_free(path);
    return result;
}

int chat_style_of(const char *directory, enum chat_style *style, struct err *err)
{
    *style = CHAT_PLAIN;
    int result = read_jinja(directory, style, err);
    if (result == ERR_MISSING)
        result = read_config(directory, style, err);
    return result == ERR_MISSING ? 0 : result;
}
