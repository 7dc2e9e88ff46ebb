#include "server/lm/choice.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

void lm_api_choice_init(struct lm_api_choice *choice, size_t index,
                        const struct lm_api_request *request, const struct tokenizer *tokenizer,
                        const struct lm_api_scored *prompt)
{
    *choice = (struct lm_api_choice){.index = index,
                                     .request = request,
                                     .tokenizer = tokenizer,
                                     .prompt = prompt};
    buf_init(&choice->text, LIMIT_ANSWER_BYTES);
}

void lm_api_choice_deinit(struct lm_api_choice *choice)
{
    mem_free(choice->tokens);
    mem_free(choice->logprobs);
    mem_free(choice->top);
    mem_free(choice->offsets);
    buf_deinit(&choice->text);
}

static bool is_over(const struct lm_api_choice *choice)
{
    return choice->finish != LM_RUNNING;
}

static void choice_add_tokens(struct lm_api_choice *choice, const struct lm_sample *sample)
{
    const size_t from = choice->count, more = sample->count - from;
    const size_t width = choice->request->sampling.top_logprobs;
    if (sample->count > choice->capacity) {
        choice->capacity = 2 * sample->count + 16;
        choice->tokens = mem_resize(choice->tokens, choice->capacity * sizeof *choice->tokens);
        choice->logprobs = mem_resize(choice->logprobs,
                                      choice->capacity * sizeof *choice->logprobs);
        choice->offsets = mem_resize(choice->offsets, choice->capacity * sizeof *choice->offsets);
        if (width > 0)
            choice->top = mem_resize(choice->top, choice->capacity * width * sizeof *choice->top);
    }
    memcpy(choice->tokens + from, sample->tokens + from, more * sizeof *choice->tokens);
    memcpy(choice->logprobs + from, sample->logprobs + from, more * sizeof *choice->logprobs);
    if (width > 0)
        memcpy(choice->top + from * width, sample->top + from * width,
               more * width * sizeof *choice->top);
    choice->count = sample->count;
}

/* Of the text from byte `from` on; it may contain NULs. */
static size_t count_characters(const struct buf *text, size_t from)
{
    size_t count = 0;
    for (size_t i = from; i < text->len; i++)
        count += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return count;
}

/* At the ceiling of its length, a text gets no more characters, but its tokens continue. */
static int choice_decode(struct lm_api_choice *choice, size_t from, struct err *err)
{
    int result = 0;
    for (size_t i = from; i < choice->count && result == 0; i++) {
        const size_t before = choice->text.len;
        choice->offsets[i] = choice->characters;
        result = tokenizer_stream_put(choice->tokenizer, &choice->stream, choice->tokens[i], true,
                                      &choice->text, err);
        choice->characters += count_characters(&choice->text, before);
    }
    if (result == 0 && is_over(choice))
        result = tokenizer_stream_end(&choice->stream, &choice->text, err);
    return result;
}

int lm_api_choice_take(struct lm_api_choice *choice, const struct lm_sample *sample,
                       struct err *err)
{
    const size_t from = choice->count;
    choice->finish = sample->finish;
    if (choice->request->score_only)
        return 0;
    if (sample->count > from)
        choice_add_tokens(choice, sample);
    int result = choice_decode(choice, from, err);
    choice->text_safe = choice->text.len;
    if (choice->request->sampling.stop_count > 0 && sample->text_end < choice->text.len)
        choice->text_safe = sample->text_end;
    return result;
}

/* A token that is not a whole character has no text of its own. */
static json_t *token_text(const struct lm_api_choice *choice, int32_t id)
{
    size_t count;
    const char *bytes = tokenizer_bytes(choice->tokenizer, id, &count);
    if (count == 0 || (utf8_is_valid(bytes, count) && !memchr(bytes, 0, count)))
        return json_text_bytes(count > 0 ? bytes : "", count);
    struct buf text;
    buf_init(&text, LIMIT_ANSWER_BYTES);
    buf_puts(&text, "bytes:");
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "\\x%02x", (unsigned char)bytes[i]);
    json_t *made = json_text(text.data);
    buf_deinit(&text);
    return made;
}

static json_t *token_bytes(const struct lm_api_choice *choice, int32_t id)
{
    size_t count;
    const char *bytes = tokenizer_bytes(choice->tokenizer, id, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer((unsigned char)bytes[i]));
    return list;
}

static json_t *chat_token(const struct lm_api_choice *choice, int32_t id, double logprob)
{
    json_t *token = json_object();
    json_put(token, "token", token_text(choice, id));
    json_put(token, "logprob", json_number(logprob));
    json_put(token, "bytes", token_bytes(choice, id));
    return token;
}

/* Of the tokens that are not sent yet. */
static json_t *chat_logprobs(const struct lm_api_choice *choice)
{
    const size_t width = choice->request->sampling.top_logprobs;
    if (!choice->request->logprobs)
        return json_null();
    json_t *content = json_array();
    for (size_t i = choice->tokens_sent; i < choice->count; i++) {
        json_t *token = chat_token(choice, choice->tokens[i], choice->logprobs[i]);
        json_t *top = json_array();
        for (size_t k = 0; k < width; k++) {
            const struct lm_top *one = &choice->top[i * width + k];
            json_array_append_new(top, chat_token(choice, one->id, one->logprob));
        }
        json_put(token, "top_logprobs", top);
        json_array_append_new(content, token);
    }
    return json_pack("{s:o, s:n}", "content", content, "refusal");
}

/* The four lists of a completion's logprobs. */
struct lists {
    json_t *tokens, *logprobs, *top, *offsets;
};

/* The most probable tokens, and the sampled one. */
static json_t *alternatives_json(const struct lm_api_choice *choice, int32_t id, double logprob,
                                 const struct lm_top *top)
{
    const size_t width = choice->request->sampling.top_logprobs;
    if (isnan(logprob) || width == 0 || !top)
        return json_null();
    json_t *object = json_object();
    for (size_t k = 0; k <= width; k++) {
        json_t *text = token_text(choice, k < width ? top[k].id : id);
        json_put(object, json_string_value(text),
                 json_number(k < width ? (double)top[k].logprob : logprob));
        json_decref(text);
    }
    return object;
}

static void add_token(const struct lm_api_choice *choice, struct lists *lists, int32_t id,
                      double logprob, const struct lm_top *top, size_t offset)
{
    json_array_append_new(lists->offsets, json_integer((json_int_t)offset));
    json_array_append_new(lists->tokens, token_text(choice, id));
    json_array_append_new(lists->logprobs, json_number(logprob));
    json_array_append_new(lists->top, alternatives_json(choice, id, logprob, top));
}

/* Counts the characters of the prompt's text; adds its tokens to the lists, if any. */
static size_t walk_prompt(const struct lm_api_choice *choice, struct lists *lists)
{
    const size_t width = choice->request->sampling.top_logprobs;
    const struct lm_api_scored *scored = choice->prompt;
    struct tokenizer_stream stream = {0};
    struct buf text;
    size_t characters = 0;
    buf_init(&text, LIMIT_PROMPT_BYTES);
    for (size_t i = 0; i < scored->ids.count; i++) {
        const double logprob = scored->logprobs ? (double)scored->logprobs[i] : NAN;
        if (lists)
            add_token(choice, lists, scored->ids.ids[i], logprob,
                      scored->top ? scored->top + i * width : NULL, characters);
        buf_reset(&text);
        if (tokenizer_stream_put(choice->tokenizer, &stream, scored->ids.ids[i], false, &text,
                                 NULL) == 0)
            characters += count_characters(&text, 0);
    }
    buf_reset(&text);
    if (tokenizer_stream_end(&stream, &text, NULL) == 0)
        characters += count_characters(&text, 0);
    buf_deinit(&text);
    return characters;
}

static json_t *completion_logprobs(const struct lm_api_choice *choice, bool prompt)
{
    const size_t width = choice->request->sampling.top_logprobs;
    size_t offset = 0;
    if (!choice->request->logprobs)
        return json_null();
    struct lists lists = {json_array(), json_array(), json_array(), json_array()};
    if (choice->request->echo)
        offset = walk_prompt(choice, prompt ? &lists : NULL);
    for (size_t i = choice->tokens_sent; i < choice->count; i++)
        add_token(choice, &lists, choice->tokens[i], choice->logprobs[i],
                  choice->top ? choice->top + i * width : NULL, offset + choice->offsets[i]);
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", lists.tokens, "token_logprobs",
                     lists.logprobs, "top_logprobs", lists.top, "text_offset", lists.offsets);
}

static json_t *finish_reason(const struct lm_api_choice *choice)
{
    if (!is_over(choice))
        return json_null();
    return json_text(choice->finish == LM_STOP ? "stop" : "length");
}

static json_t *unsent_ids(const struct lm_api_choice *choice)
{
    const size_t from = choice->tokens_sent;
    return from < choice->count ? json_integers(choice->tokens + from, choice->count - from)
                                : json_array();
}

/* A message, or a chunk's delta of one. */
static json_t *message_json(const struct lm_api_choice *choice)
{
    const size_t from = choice->text_sent;
    json_t *message = json_object();
    if (!choice->opened)
        json_put(message, "role", json_text("assistant"));
    if (!choice->opened || choice->text_safe > from)
        json_put(message, "content",
                 json_text_bytes(choice->text.data + from, choice->text_safe - from));
    if (!choice->request->stream)
        json_put(message, "refusal", json_null());
    return message;
}

static void put_prompt(const struct lm_api_choice *choice, struct buf *text)
{
    const struct tokens *ids = &choice->prompt->ids;
    struct tokenizer_stream stream = {0};
    int result = 0;
    for (size_t i = 0; i < ids->count && result == 0; i++)
        result = tokenizer_stream_put(choice->tokenizer, &stream, ids->ids[i], false, text, NULL);
    if (result < 0 || tokenizer_stream_end(&stream, text, NULL) < 0)
        buf_reset(text); /* the text exceeds the limit */
}

/* The prompt's text first, if it is echoed. */
static json_t *completion_text(const struct lm_api_choice *choice, bool prompt)
{
    const size_t from = choice->text_sent;
    struct buf text;
    buf_init(&text, LIMIT_PROMPT_BYTES + LIMIT_ANSWER_BYTES);
    if (prompt)
        put_prompt(choice, &text);
    buf_append(&text, choice->text.data + from, choice->text_safe - from);
    json_t *made = json_text_bytes(text.data, text.len);
    buf_deinit(&text);
    return made;
}

/* Whether there is something to send. */
static bool has_unsent(const struct lm_api_choice *choice)
{
    const struct lm_api_request *request = choice->request;
    if (choice->closed)
        return false;
    return is_over(choice) || choice->text_safe > choice->text_sent ||
           ((request->logprobs || request->token_ids) && choice->count > choice->tokens_sent);
}

json_t *lm_api_choice_next(struct lm_api_choice *choice, bool chat)
{
    const struct lm_api_request *request = choice->request;
    const bool prompt = request->echo && !choice->opened;
    if (!has_unsent(choice))
        return NULL;
    json_t *object = json_object();
    json_put(object, "index", json_integer((json_int_t)choice->index));
    if (chat)
        json_put(object, request->stream ? "delta" : "message", message_json(choice));
    else
        json_put(object, "text", completion_text(choice, prompt));
    json_put(object, "logprobs",
             chat ? chat_logprobs(choice) : completion_logprobs(choice, prompt));
    json_put(object, "finish_reason", finish_reason(choice));
    if (request->token_ids)
        json_put(object, "token_ids", unsent_ids(choice));
    choice->text_sent = choice->text_safe;
    choice->tokens_sent = choice->count;
    choice->opened = true;
    choice->closed = is_over(choice);
    return object;
}
