#include "lm/tokenizer/chat.h"

#include "base/array.h"
#include "base/limits.h"

#include <string.h>

#define START "<|im_start|>"
#define END "<|im_end|>"
#define THINK "<think>"
#define THOUGHT "</think>"
#define RESPONSE "<tool_response>"
#define RESPONDED "</tool_response>"

/* What differs between styles. */
struct style {
    const char *system; /* where the conversation has none; NULL: nothing */
    bool blocks;        /* knows thinking blocks */
    bool opened;        /* the prompt opens one */
};

static const struct style styles[] = {
    [CHAT_QWEN2] = {"You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", false,
                    false},
    [CHAT_QWEN3] = {NULL, true, false},
    [CHAT_PLAIN] = {NULL, false, false},
    [CHAT_QWEN1] = {"You are a helpful assistant.", false, false},
    [CHAT_THINKER] = {NULL, true, true},
};

/* Text gathers in `run` until a special token or the edge of an answer ends it: a pre-tokenizer
 * sees it whole, as it would in the rendered template. */
struct writer {
    struct tokenizer *tokenizer; /* NULL: text is wanted */
    struct buf run;
    bool answer; /* what comes now is part of one */
    struct tokens *tokens;
    struct buf *mask; /* or NULL */
    struct buf *text;
    struct err *err;
    int result;
};

static void mark(struct writer *writer, size_t count)
{
    const char byte = writer->answer ? 1 : 0;
    for (size_t i = 0; writer->mask && i < count; i++)
        buf_append(writer->mask, &byte, 1);
}

static void flush(struct writer *writer)
{
    const struct tokenizer_encoding how = {0};
    struct buf *run = &writer->run;
    if (writer->result == 0 && run->cut)
        writer->result = err_set(writer->err, ERR_LIMIT, "a message has more than %zu bytes",
                                 run->max_bytes);
    if (writer->result == 0 && run->len > 0 && writer->text)
        buf_append(writer->text, run->data, run->len);
    if (writer->result == 0 && run->len > 0 && writer->tokenizer) {
        size_t before = writer->tokens->count;
        writer->result = tokenizer_encode(writer->tokenizer, run->data, run->len, &how,
                                          writer->tokens, writer->err);
        mark(writer, writer->tokens->count - before);
    }
    buf_reset(run);
}

static void put(struct writer *writer, const char *text)
{
    buf_puts(&writer->run, text);
}

/* One of ChatML's own marks. */
static void put_special(struct writer *writer, const char *text)
{
    flush(writer);
    if (writer->text)
        buf_puts(writer->text, text);
    if (writer->result < 0 || !writer->tokenizer)
        return;
    int32_t id = tokenizer_id(writer->tokenizer, text);
    if (id < 0)
        writer->result = err_set(writer->err, ERR_INPUT,
                                 "the tokenizer has no token %s: it knows no conversations", text);
    else
        writer->result = tokens_add(writer->tokens, id, writer->err);
    if (writer->result == 0)
        mark(writer, 1);
}

/* A mark that most tokenizers cut out of any text, and some only as a special token. */
static void put_mark(struct writer *writer, const char *text)
{
    int32_t id = writer->tokenizer ? tokenizer_id(writer->tokenizer, text) : -1;
    if (id >= 0 && tokenizer_is_special(writer->tokenizer, id))
        put_special(writer, text);
    else
        put(writer, text);
}

static void set_answer(struct writer *writer, bool answer)
{
    if (writer->answer == answer)
        return;
    flush(writer);
    writer->answer = answer;
}

static const char *skip_newlines(const char *text)
{
    return text + strspn(text, "\n");
}

static void trim_newlines(const char **text, size_t *count)
{
    while (*count > 0 && (*text)[*count - 1] == '\n')
        --*count;
    while (*count > 0 && **text == '\n')
        ++*text, --*count;
}

/* An assistant's answer: its block, which may be empty, and what stands behind it. */
struct answer {
    const char *thought;
    size_t thought_count;
    const char *content;
};

/* The content begins behind the last </think>; the thought is what the first one ends, from the
 * <think> nearest before it. */
static struct answer split(const struct chat_message *message)
{
    struct answer answer = {.thought = "", .content = message->content};
    const char *end = strstr(message->content, THOUGHT);
    if (message->reasoning) {
        answer.thought = message->reasoning;
        answer.thought_count = strlen(message->reasoning);
    } else if (end) {
        answer.thought = message->content;
        for (const char *at = message->content; (at = strstr(at, THINK)) && at < end;)
            answer.thought = at += strlen(THINK);
        answer.thought_count = (size_t)(end - answer.thought);
        for (const char *at = end; at; at = strstr(at, THOUGHT))
            answer.content = at += strlen(THOUGHT);
        answer.content = skip_newlines(answer.content);
    }
    trim_newlines(&answer.thought, &answer.thought_count);
    return answer;
}

static bool ends_in(const char *text, const char *end)
{
    size_t count = strlen(text), tail = strlen(end);
    return count >= tail && strcmp(text + count - tail, end) == 0;
}

/* A user's turn that only carries a tool's answer is no question. */
static bool is_question(const struct chat_message *message)
{
    const char *text = message->content;
    return strcmp(message->role, "user") == 0 &&
           !(strncmp(text, RESPONSE, strlen(RESPONSE)) == 0 && ends_in(text, RESPONDED));
}

/* Its index; without one, that of the last message, so that no answer comes behind it. */
static size_t last_question(const struct chat_message *messages, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (is_question(&messages[i]))
            return i;
    return count - 1;
}

struct conversation {
    const struct chat_message *messages;
    size_t count, question; /* the last one's index */
    const struct chat_options *options;
    const struct style *style;
};

static void put_system(struct writer *writer, const char *text)
{
    put_special(writer, START);
    put(writer, "system\n");
    put(writer, text);
    put_special(writer, END);
    put(writer, "\n");
}

/* Where the prompt opens the block, the answer begins within it. */
static void put_block(struct writer *writer, const struct answer *answer, bool opened)
{
    put_mark(writer, THINK);
    put(writer, "\n");
    set_answer(writer, writer->answer || opened);
    buf_append(&writer->run, answer->thought, answer->thought_count);
    put(writer, "\n");
    put_mark(writer, THOUGHT);
    put(writer, "\n\n");
}

static void put_answer(struct writer *writer, const struct conversation *all, size_t index)
{
    struct answer answer = {.content = all->messages[index].content};
    bool last = index + 1 == all->count, block = false;
    if (all->style->blocks) {
        answer = split(&all->messages[index]);
        block = index > all->question && (last || answer.thought_count > 0);
    }
    put_special(writer, START);
    put(writer, "assistant\n");
    if (block) {
        bool opened = all->style->opened;
        set_answer(writer, !opened && (all->options->thinking || answer.thought_count > 0));
        put_block(writer, &answer, opened);
        answer.content = skip_newlines(answer.content);
    }
    set_answer(writer, true);
    put(writer, answer.content);
    put_special(writer, END);
    set_answer(writer, false);
    put(writer, "\n");
}

static bool is_tool(const struct conversation *all, size_t index)
{
    return index < all->count && strcmp(all->messages[index].role, "tool") == 0;
}

static void put_tool(struct writer *writer, const struct conversation *all, size_t index)
{
    if (index == 0 || !is_tool(all, index - 1)) {
        put_special(writer, START);
        put(writer, "user");
    }
    put(writer, "\n");
    put_mark(writer, RESPONSE);
    put(writer, "\n");
    put(writer, all->messages[index].content);
    put(writer, "\n");
    put_mark(writer, RESPONDED);
    if (!is_tool(all, index + 1)) {
        put_special(writer, END);
        put(writer, "\n");
    }
}

static void put_plain(struct writer *writer, const struct conversation *all, size_t index)
{
    put_special(writer, START);
    put(writer, all->messages[index].role);
    put(writer, "\n");
    put(writer, all->messages[index].content);
    put_special(writer, END);
    put(writer, "\n");
}

static void put_opening(struct writer *writer, const struct conversation *all)
{
    const struct answer nothing = {.thought = ""};
    put_special(writer, START);
    put(writer, "assistant\n");
    if (all->style->opened) {
        put_mark(writer, THINK);
        put(writer, "\n");
    } else if (all->style->blocks && !all->options->thinking) {
        put_block(writer, &nothing, false);
    }
}

static const struct {
    const char *role;
    void (*put)(struct writer *writer, const struct conversation *all, size_t index);
} roles[] = {{"system", put_plain},
             {"user", put_plain},
             {"assistant", put_answer},
             {"tool", put_tool}};

static size_t role_of(const char *role)
{
    size_t i = 0;
    while (i < COUNT(roles) && strcmp(role, roles[i].role) != 0)
        i++;
    return i;
}

static int check(const struct chat_message *messages, size_t count, struct err *err)
{
    if (count == 0)
        return err_set(err, ERR_INPUT, "the conversation has no message");
    for (size_t i = 0; i < count; i++)
        if (role_of(messages[i].role) == COUNT(roles))
            return err_set(err, ERR_INPUT,
                           "message %zu: role '%.40s' is none of system, user, assistant and tool",
                           i, messages[i].role);
    return 0;
}

static int write_all(struct writer *writer, const struct chat_message *messages, size_t count,
                     const struct chat_options *options)
{
    writer->result = check(messages, count, writer->err);
    if (writer->result < 0)
        return writer->result;
    const struct conversation all = {.messages = messages,
                                     .count = count,
                                     .question = last_question(messages, count),
                                     .options = options,
                                     .style = &styles[options->style]};
    buf_init(&writer->run, LIMIT_PROMPT_BYTES);
    if (all.style->system && strcmp(messages[0].role, "system") != 0)
        put_system(writer, all.style->system);
    for (size_t i = 0; i < count && writer->result == 0; i++)
        roles[role_of(messages[i].role)].put(writer, &all, i);
    if (options->answer)
        put_opening(writer, &all);
    flush(writer);
    buf_deinit(&writer->run);
    return writer->result;
}

int chat_encode(struct tokenizer *tokenizer, const struct chat_message *messages, size_t count,
                const struct chat_options *options, struct tokens *out, struct buf *mask,
                struct err *err)
{
    struct writer writer = {.tokenizer = tokenizer, .tokens = out, .mask = mask, .err = err};
    int result = write_all(&writer, messages, count, options);
    if (result == 0 && mask && mask->cut)
        result = err_set(err, ERR_LIMIT, "the conversation has more than %zu tokens",
                         mask->max_bytes);
    return result;
}

int chat_text(const struct chat_message *messages, size_t count, const struct chat_options *options,
              struct buf *out, struct err *err)
{
    struct writer writer = {.text = out, .err = err};
    return write_all(&writer, messages, count, options);
}

int32_t chat_end_token(const struct tokenizer *tokenizer)
{
    return tokenizer_id(tokenizer, END);
}
