#include "cli/lm/lm.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"

#include <string.h>
#include <unistd.h>

#define TEXT_BYTES ((size_t)256 << 20)

static int open_tokenizer(struct lm_context *context, const char *directory, bool wanted,
                          struct err *err)
{
    char *path = mem_printf("%s/tokenizer.json", directory);
    int result = wanted || file_exists(path) ? tokenizer_open(&context->tokenizer, path, err) : 0;
    mem_free(path);
    return result;
}

int lm_context_open(struct lm_context *context, const struct lm_where *where, bool wants_tokenizer,
                    struct err *err)
{
    const struct lm_model_options options = {.training = LM_FROZEN,
                                             .adapter = where->adapter,
                                             .positions = (size_t)where->context};
    *context = (struct lm_context){0};
    int result = lm_backend_open(&context->backend, where->backend, (size_t)where->threads, err);
    if (result == 0)
        result = lm_model_open(&context->model, where->directory, context->backend, &options, err);
    if (result == 0)
        result = open_tokenizer(context, where->directory, wants_tokenizer, err);
    return result;
}

int lm_context_sampler(struct lm_context *context, size_t sequences, size_t tokens, struct err *err)
{
    const struct lm_sampler_options options = lm_sampler_capacity(&context->model->config,
                                                                  context->backend->dtype,
                                                                  sequences, tokens,
                                                                  LM_CACHE_BYTES);
    return lm_sampler_open(&context->sampler, context->model, &options, err);
}

void lm_context_close(struct lm_context *context)
{
    lm_sampler_close(context->sampler);
    tokenizer_close(context->tokenizer);
    lm_model_close(context->model);
    lm_backend_close(context->backend);
    *context = (struct lm_context){0};
}

struct lm_sampling lm_manner_sampling(struct lm_manner *manner)
{
    if (manner->seed < 0)
        manner->seed = (int64_t)(clock_secret() & INT32_MAX);
    return (struct lm_sampling){
        .temperature = manner->temperature,
        .top_p = manner->top_p,
        .min_p = manner->min_p,
        .top_k = (size_t)manner->top_k,
        .max_tokens = manner->max_tokens > 0 ? (size_t)manner->max_tokens : 0,
        .seed = (uint64_t)manner->seed,
        .stops = manner->stops.items,
        .stop_count = manner->stops.count,
    };
}

void lm_text_init(struct lm_text *text, const struct tokenizer *tokenizer)
{
    *text = (struct lm_text){.tokenizer = tokenizer};
    buf_init(&text->text, TEXT_BYTES);
}

void lm_text_deinit(struct lm_text *text)
{
    buf_deinit(&text->text);
}

void lm_text_add(struct lm_text *text, const struct lm_sample *sample, bool stops)
{
    struct err err;
    int result = 0;
    for (; text->tokens < sample->count && result == 0; text->tokens++)
        result = tokenizer_stream_put(text->tokenizer, &text->stream, sample->tokens[text->tokens],
                                      true, &text->text, &err);
    if (result == 0 && sample->finish != LM_RUNNING)
        result = tokenizer_stream_end(&text->stream, &text->text, &err);
    text->cut |= result < 0;
    text->counted = text->text.len;
    if (stops && sample->text_end < text->counted)
        text->counted = sample->text_end;
}

void lm_text_print(struct lm_text *text)
{
    struct buf out;
    buf_init(&out, TEXT_BYTES);
    buf_append(&out, text->text.data + text->printed, text->counted - text->printed);
    text->printed = text->counted;
    if (isatty(STDOUT_FILENO)) {
        for (size_t i = 0; i < out.len; i++) /* a NUL would end the text */
            out.data[i] = out.data[i] == '\0' ? '?' : out.data[i] == '\t' ? ' ' : out.data[i];
        printable_text(out.data, true);
        out.len = strlen(out.data);
    }
    cli_print(&out);
    buf_deinit(&out);
}

const char *lm_finish_name(enum lm_finish finish)
{
    static const char *const names[] = {
        [LM_RUNNING] = "running",     [LM_STOP] = "stop",     [LM_LENGTH] = "length",
        [LM_CANCELLED] = "cancelled", [LM_FAILED] = "failed",
    };
    return names[finish];
}

int lm_fail_numbers(void)
{
    return cli_fail(EXIT_INFRASTRUCTURE, "the model gives no finite numbers for this prompt: its "
                                         "weights contain NaN or infinity, or its sums overflow");
}

int lm_config_file(const char *path, struct lm_config *config, struct err *err)
{
    json_t *document;
    if (file_is_directory(path))
        return lm_config_read(config, path, err);
    int result = json_file_read(path, LIMIT_LM_JSON_BYTES, &document, err);
    if (result == 0 && lm_config_parse(config, document, err) < 0)
        result = err_prefix(err, "%s", path);
    json_decref(document);
    return result;
}
