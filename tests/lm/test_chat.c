/* Conversations as text: a table of what each style writes; what is refused; styles distinguished.
 * tests/lm/chat_checks.py compares with Transformers. */
#include "lm/tokenizer/chat_json.h"

#include "../support/learned.h"
#include "../support/scratch.h"
#include "../support/test.h"
#include "base/mem.h"
#include "lm/tokenizer/learn.h"

#include <stdio.h>

#define TEXT_BYTES 4096
#define S "<|im_start|>"
#define E "<|im_end|>\n"

static const char *text_of(const char *json, const struct chat_options *options, struct buf *out)
{
    struct arena arena = {0};
    struct chat_message *messages;
    struct err err = {0};
    json_t *list = NULL;
    size_t count;
    buf_reset(out);
    if (json_parse("messages", json, strlen(json), &list, &err) < 0 ||
        chat_json_read(list, &arena, &messages, &count, &err) < 0 ||
        chat_text(messages, count, options, out, &err) < 0)
        buf_puts(out, err.text);
    json_decref(list);
    arena_deinit(&arena);
    return out->data;
}

#define USER(text) "{\"role\": \"user\", \"content\": \"" text "\"}"
#define SAYS(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"
#define TOOL(text) "{\"role\": \"tool\", \"content\": \"" text "\"}"
#define THOUGHT "<think>\\nwhy\\n</think>\\n\\nso"

static const struct {
    const char *messages;
    struct chat_options options;
    const char *text;
} texts[] = {
    {"[" USER("a") "]", {CHAT_PLAIN, false, false}, S "user\na" E},
    {"[" USER("a") "]", {CHAT_PLAIN, false, true}, S "user\na" E S "assistant\n"},
    {"[" USER("a") "]", .options = {CHAT_QWEN2, false, false},
     S "system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant." E S
       "user\na" E},
    {"[" USER("a") "]", .options = {CHAT_QWEN1, false, false},
     S "system\nYou are a helpful assistant." E S "user\na" E},
    {"[{\"role\": \"system\", \"content\": \"\"}]", {CHAT_QWEN2, false, false}, S "system\n" E},
    {"[{\"role\": \"developer\", \"content\": \"d\"}]", .options = {CHAT_PLAIN, false, false},
     S "system\nd" E},
    {"[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": "
     "\"text\", \"text\": \"b\"}]}]",
     .options = {CHAT_PLAIN, false, false}, S "user\nab" E},
    /* thinking */
    {"[" USER("a") "]", .options = {CHAT_QWEN3, false, true},
     S "user\na" E S "assistant\n<think>\n\n</think>\n\n"},
    {"[" USER("a") "]", {CHAT_QWEN3, true, true}, S "user\na" E S "assistant\n"},
    {"[" USER("a") "]", {CHAT_THINKER, false, true}, S "user\na" E S "assistant\n<think>\n"},
    {"[" USER("a") "," SAYS(THOUGHT) "]", .options = {CHAT_QWEN3, true, false},
     S "user\na" E S "assistant\n<think>\nwhy\n</think>\n\nso" E},
    {"[" USER("a") "," SAYS("so") "]", .options = {CHAT_QWEN3, true, false},
     S "user\na" E S "assistant\n<think>\n\n</think>\n\nso" E},
    {"[" USER("a") "," SAYS(THOUGHT) "," USER("b") "]", .options = {CHAT_QWEN3, true, false},
     S "user\na" E S "assistant\nso" E S "user\nb" E},
    {"[" USER("a") "," SAYS(THOUGHT) "," TOOL("r") "," SAYS("end") "]",
     .options = {CHAT_QWEN3, true, false},
     S "user\na" E S "assistant\n<think>\nwhy\n</think>\n\nso" E S
       "user\n<tool_response>\nr\n</tool_response>" E S "assistant\n<think>\n\n</think>\n\nend" E},
    {"[" USER("a") ",{\"role\": \"assistant\", \"content\": \"so\", \"reasoning_content\": "
                   "\"\\nwhy\"}]",
     .options = {CHAT_QWEN3, false, false},
     S "user\na" E S "assistant\n<think>\nwhy\n</think>\n\nso" E},
    {"[" SAYS(THOUGHT) "]", {CHAT_QWEN3, true, false}, S "assistant\nso" E},
    {"[" USER("a") "," SAYS(THOUGHT) "]", .options = {CHAT_PLAIN, true, false},
     S "user\na" E S "assistant\n<think>\nwhy\n</think>\n\nso" E},
    /* tools */
    {"[" USER("a") "," TOOL("1") "," TOOL("2") "," USER("b") "]",
     .options = {CHAT_PLAIN, false, false},
     S "user\na" E S "user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n"
       "</tool_response>" E S "user\nb" E},
    /* refused */
    {"[]", {CHAT_PLAIN, false, false}, "\"messages\" is no list of at least one message"},
    {"{}", {CHAT_PLAIN, false, false}, "\"messages\" is no list of at least one message"},
    {"[1]", {CHAT_PLAIN, false, false}, "messages[0]: is no object"},
    {"[" USER("a") ",{\"role\": \"user\"}]", .options = {CHAT_PLAIN, false, false},
     "messages[1]: \"content\" is missing"},
    {"[{\"role\": \"user\", \"content\": null}]", .options = {CHAT_PLAIN, false, false},
     "messages[0]: \"content\" is neither a text nor a list of parts"},
    {"[{\"role\": \"robot\", \"content\": \"a\"}]", .options = {CHAT_PLAIN, false, false},
     "messages[0]: \"role\": 'robot' is none of system, user, assistant and tool"},
    {"[{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]",
     .options = {CHAT_PLAIN, false, false},
     "messages[0]: \"content\": part 0 is no {\"type\": \"text\", \"text\": …}: the model reads "
     "text alone"},
    {"[{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{}]}]",
     .options = {CHAT_PLAIN, false, false},
     "messages[0]: \"tool_calls\" are not known here: write them into \"content\""},
};

TEST(text)
{
    struct buf out;
    buf_init(&out, TEXT_BYTES);
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_string_equal(text_of(texts[i].messages, &texts[i].options, &out), texts[i].text);
    buf_deinit(&out);
}

TEST(unknown_role)
{
    const struct chat_message messages[] = {{"user", "a", NULL}, {"robot", "b", NULL}};
    const struct chat_options options = {.style = CHAT_PLAIN};
    struct buf out;
    struct err err;
    buf_init(&out, TEXT_BYTES);
    assert_int_equal(chat_text(messages, 2, &options, &out, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "message 1: role 'robot'"));
    assert_int_equal(chat_text(messages, 0, &options, &out, &err), ERR_INPUT);
    buf_deinit(&out);
}

TEST_EACH(learned_begin, learned_end);

/* What is marked, as text. */
TEST(marks)
{
    static const struct {
        enum chat_style style;
        bool thinking;
        const char *content, *marked;
    } cases[] = {
        {CHAT_PLAIN, false, "so", "so<|im_end|>"},
        {CHAT_PLAIN, false, "", "<|im_end|>"},
        {CHAT_PLAIN, false, "\n so", "\n so<|im_end|>"},
        {CHAT_QWEN3, false, "so", "so<|im_end|>"},
        {CHAT_QWEN3, true, "so", "<think>\n\n</think>\n\nso<|im_end|>"},
        {CHAT_QWEN3, false, "<think>a</think>so", "<think>\na\n</think>\n\nso<|im_end|>"},
        {CHAT_THINKER, true, "<think>a</think>so", "a\n</think>\n\nso<|im_end|>"},
    };
    struct buf mask, text;
    buf_init(&mask, TEXT_BYTES);
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct chat_message messages[] = {{"user", "the question", NULL},
                                                {"assistant", cases[i].content, NULL}};
        const struct chat_options options = {cases[i].style, cases[i].thinking, false};
        struct tokens ids = {0};
        buf_reset(&mask);
        buf_reset(&text);
        assert_int_equal(chat_encode(learned, messages, 2, &options, &ids, &mask, NULL), 0);
        assert_int_equal(ids.count, mask.len);
        for (size_t k = 0; k < ids.count; k++)
            if (mask.data[k])
                assert_int_equal(tokenizer_decode(learned, &ids.ids[k], 1, false, &text, NULL), 0);
        assert_string_equal(text.data, cases[i].marked);
        tokens_deinit(&ids);
    }
    buf_deinit(&mask);
    buf_deinit(&text);
}

TEST(a_tokenizer_without_turns)
{
    static const char *const special[] = {"<s>", NULL}, *const corpus[] = {"a"};
    const size_t counts[] = {1};
    const struct learn_options small = {.vocab = 257, .special = special};
    const struct chat_message message = {"user", "a", NULL};
    const struct chat_options options = {.style = CHAT_PLAIN};
    struct tokenizer *tokenizer;
    struct tokens ids = {0};
    struct err err = {0};
    assert_int_equal(tokenizer_learn(scratch_path(""), corpus, counts, 1, &small, &err), 0);
    assert_int_equal(tokenizer_open(&tokenizer, scratch_path(""), &err), 0);
    assert_int_equal(chat_encode(tokenizer, &message, 1, &options, &ids, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "<|im_start|>"));
    assert_int_equal(chat_end_token(tokenizer), -1);
    tokens_deinit(&ids);
    tokenizer_close(tokenizer);
}

TEST(style_of)
{
    static const struct {
        const char *text;
        enum chat_style style;
    } cases[] = {
        {"", CHAT_PLAIN},
        {"<|im_start|>", CHAT_PLAIN},
        {"<|im_start|> {% if enable_thinking %} <think>", CHAT_QWEN3},
        {"<|im_start|> <think>", CHAT_THINKER},
        {"<|im_start|> created by Alibaba Cloud. You are a helpful assistant.", CHAT_QWEN2},
        {"<|im_start|> You are a helpful assistant.", CHAT_QWEN1},
        {"<|start_header_id|> <think>", CHAT_PLAIN}, /* not ChatML at all */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(chat_style_of_template(cases[i].text), cases[i].style);
}

/* Each file replaces what the one before said. */
TEST(style_of_a_directory)
{
    static const struct {
        const char *name, *text;
        int result;
        enum chat_style style;
    } files[] = {
        {"tokenizer_config.json", "{}", 0, CHAT_PLAIN},
        {"tokenizer_config.json", "{\"chat_template\": \"<|im_start|> by Alibaba Cloud\"}", 0,
         CHAT_PLAIN},
        {"tokenizer_config.json", "{\"chat_template\": \"<|im_start|> created by Alibaba Cloud\"}",
         0, CHAT_QWEN2},
        {"tokenizer_config.json",
         "{\"chat_template\": [{\"name\": \"rag\", \"template\": \"<|im_start|> <think>\"}, "
         "{\"name\": \"default\", \"template\": \"<|im_start|> enable_thinking\"}]}",
         0, CHAT_QWEN3},
        {"tokenizer_config.json", "{", ERR_INPUT, CHAT_PLAIN},
        {"chat_template.jinja", "<|im_start|> <think>", 0, CHAT_THINKER},
    };
    enum chat_style style;
    assert_int_equal(chat_style_of(scratch_path(""), &style, NULL), 0);
    assert_int_equal(style, CHAT_PLAIN);
    for (size_t i = 0; i < COUNT(files); i++) {
        scratch_write(files[i].name, files[i].text, strlen(files[i].text));
        assert_int_equal(chat_style_of(scratch_path(""), &style, NULL), files[i].result);
        if (files[i].result == 0)
            assert_int_equal(style, files[i].style);
    }
    assert_int_equal(chat_style_of("/nowhere", &style, NULL), 0);
}
