/* lm sample: lets a model continue a text. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/lm/lm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES ((size_t)512 << 20)
#define AT_ONCE 16
#define ANSWER_TOKENS 256 /* default, if the context has capacity */

struct arguments {
    struct lm_where where;
    struct lm_manner manner;
    const struct cli_words *words;
    int64_t samples, at_once, top_logprobs;
    bool json, raw, special, prompt_logprobs, processed, ignore_stops;
};

/* One run of the command. */
struct task {
    struct arguments *arguments;
    struct lm_context lm;
    struct lm_sampling sampling;
    struct tokens prompt;
    struct lm_text *texts; /* of each sample */
    size_t printed;        /* raw ids of the one that is streamed */
    size_t tokens, failed;
    float *prompt_logprobs; /* with their tops, from the sampler */
    struct lm_top *prompt_top;
    int64_t start_ns, first_ns;
};

static int add_ids(struct task *task, const char *text, struct err *err)
{
    const char *at = text;
    for (;;) {
        at += strspn(at, " \t\r\n,[]");
        if (*at == '\0')
            return 0;
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        if (end == at || errno != 0 || id < 0 || id > INT32_MAX)
            return err_set(err, ERR_INPUT,
                           "'%.20s' is not a token id; --raw takes ids such as 1 2 3", at);
        int result = tokens_add(&task->prompt, (int32_t)id, err);
        if (result < 0)
            return result;
        at = end;
    }
}

static int encode_prompt(struct task *task, const char *text, size_t count, struct err *err)
{
    const struct tokenizer_encoding how = {.special = task->arguments->special, .begin = true};
    const struct lm_config *config = &task->lm.model->config;
    int result = task->arguments->raw
                     ? add_ids(task, text, err)
                     : tokenizer_encode(task->lm.tokenizer, text, count, &how, &task->prompt, err);
    if (result == 0 && task->prompt.count == 0 && config->begin_token >= 0)
        result = tokens_add(&task->prompt, config->begin_token, err);
    if (result == 0 && task->prompt.count == 0)
        result = err_set(err, ERR_INPUT,
                         "the prompt is empty, and this model has no token to begin with: give "
                         "some text");
    return result;
}

static int make_prompt(struct task *task, struct err *err)
{
    const struct cli_words *words = task->arguments->words;
    const char *word = words->count > 1 ? words->items[1] : "";
    char *text = NULL;
    size_t count = strlen(word);
    int result = 0;
    if (strcmp(word, "-") == 0)
        result = file_read_fd(STDIN_FILENO, "standard input", LIMIT_PROMPT_BYTES, &text, &count,
                              err);
    if (result == 0)
        result = encode_prompt(task, text ? text : word, count, err);
    mem_free(text);
    return result;
}

/* [[id, logprob], …] */
static json_t *top_json(const struct lm_top *top, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && top[i].id >= 0; i++) {
        json_t *pair = json_array();
        json_array_append_new(pair, json_integer(top[i].id));
        json_array_append_new(pair, json_number((double)top[i].logprob));
        json_array_append_new(array, pair);
    }
    return array;
}

static void put_tops(json_t *object, const char *key, const struct lm_top *top, size_t count,
                     size_t per_row)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, top_json(top + i * per_row, per_row));
    json_put(object, key, array);
}

static void print_json(struct task *task, size_t index, const struct lm_sample *sample)
{
    const size_t top = task->sampling.top_logprobs;
    const struct lm_text *text = &task->texts[index];
    const uint64_t seed = task->sampling.seed + index;
    json_t *object = json_object();
    json_put(object, "sample", json_integer((json_int_t)index));
    json_put(object, "seed", json_integer((json_int_t)seed));
    json_put(object, "text",
             task->lm.tokenizer ? json_text_bytes(text->text.data, text->counted) : json_null());
    json_put(object, "finish", json_text(lm_finish_name(sample->finish)));
    json_put(object, "prompt_tokens", json_integer((json_int_t)task->prompt.count));
    json_put(object, "tokens", json_integers(sample->tokens, sample->count));
    json_put(object, "logprobs", json_numbers(sample->logprobs, sample->count));
    if (top > 0)
        put_tops(object, "top_logprobs", sample->top, sample->count, top);
    if (task->prompt_logprobs)
        json_put(object, "prompt_logprobs",
                 json_numbers(task->prompt_logprobs, task->prompt.count));
    if (task->prompt_top)
        put_tops(object, "prompt_top_logprobs", task->prompt_top, task->prompt.count, top);
    cli_print_json(object);
}

static void print_ids(struct task *task, const struct lm_sample *sample)
{
    struct buf out;
    buf_init(&out, LINE_BYTES);
    for (; task->printed < sample->count; task->printed++)
        buf_printf(&out, "%s%d", task->printed > 0 ? " " : "", sample->tokens[task->printed]);
    cli_print(&out);
    buf_deinit(&out);
}

static void print_new(struct task *task, size_t index, const struct lm_sample *sample)
{
    if (task->arguments->raw)
        print_ids(task, sample);
    else
        lm_text_print(&task->texts[index]);
}

/* One sample is printed as it is generated, several each at its end. */
static void on_sample(void *context, size_t index, const struct lm_sample *sample)
{
    struct task *task = context;
    const bool ended = sample->finish != LM_RUNNING, alone = task->arguments->samples == 1;
    if (task->first_ns == 0)
        task->first_ns = clock_now_ns();
    if (task->lm.tokenizer)
        lm_text_add(&task->texts[index], sample, task->sampling.stop_count > 0);
    if (ended) {
        task->tokens += sample->count;
        task->failed += sample->finish == LM_FAILED;
    }
    if (task->arguments->json) {
        if (ended)
            print_json(task, index, sample);
        return;
    }
    if (!alone && !ended)
        return;
    if (!alone) {
        printf("--- %zu: %s\n", index, lm_finish_name(sample->finish));
        fflush(stdout);
        task->printed = 0;
    }
    print_new(task, index, sample);
    if (ended) {
        putchar('\n');
        fflush(stdout);
    }
}

static void on_prompt_scores(void *context, const float *logprobs, const struct lm_top *top)
{
    struct task *task = context;
    const size_t count = task->prompt.count, tops = count * task->sampling.top_logprobs;
    task->prompt_logprobs = mem_copy(logprobs, count * sizeof *logprobs);
    task->prompt_top = top ? mem_copy(top, tops * sizeof *top) : NULL;
}

/* "12 + 40 tokens, first after 30 ms, 1.2 s, 33 tokens/s, seed 7" */
static void say_facts(const struct task *task)
{
    const int64_t end_ns = clock_now_ns();
    const int64_t first_ns = task->first_ns > 0 ? task->first_ns : end_ns;
    const double after_s = (double)(end_ns - first_ns) * 1e-9;
    const size_t samples = (size_t)task->arguments->samples;
    fprintf(stderr, "%zu + %zu tokens, first after %.0f ms, %.2f s", task->prompt.count,
            task->tokens, (double)(first_ns - task->start_ns) * 1e-6,
            (double)(end_ns - task->start_ns) * 1e-9);
    if (task->tokens > samples && after_s > 0)
        fprintf(stderr, ", %.1f tokens/s", (double)(task->tokens - samples) / after_s);
    if (task->sampling.temperature > 0)
        fprintf(stderr, ", seed %llu", (unsigned long long)task->sampling.seed);
    fprintf(stderr, "\n");
}

static int generate_samples(struct task *task, struct err *err)
{
    const struct lm_request request = {
        .prompt = task->prompt.ids,
        .prompt_count = task->prompt.count,
        .samples = (size_t)task->arguments->samples,
        .sampling = task->sampling,
        .tokenizer = task->lm.tokenizer,
        .on_event = on_sample,
        .scored = on_prompt_scores,
        .context = task,
    };
    bool busy = true, stopped = false;
    uint64_t id;
    int result = lm_sampler_submit(task->lm.sampler, &request, &id, err);
    while (result == 0 && busy) {
        if (cli_cancelled && !stopped) {
            lm_sampler_cancel(task->lm.sampler, id);
            stopped = true;
        }
        result = lm_sampler_step(task->lm.sampler, &busy, err);
    }
    return result;
}

static void settle_length(struct task *task)
{
    const size_t positions = task->lm.model->positions, prompt = task->prompt.count;
    if (task->arguments->manner.max_tokens < 0 && prompt < positions)
        task->sampling.max_tokens = positions - prompt < ANSWER_TOKENS ? positions - prompt
                                                                       : ANSWER_TOKENS;
}

/* Positions of one sample; the sampler refuses what is too long. */
static size_t longest_sample(const struct task *task)
{
    const size_t positions = task->lm.model->positions;
    const size_t wanted = task->prompt.count + task->sampling.max_tokens;
    return task->sampling.max_tokens > 0 && wanted < positions ? wanted : positions;
}

static int open_all(struct task *task, struct err *err)
{
    struct arguments *arguments = task->arguments;
    const bool wants_tokenizer = !arguments->raw || arguments->manner.stops.count > 0;
    int result = lm_context_open(&task->lm, &arguments->where, wants_tokenizer, err);
    if (result < 0)
        return result;
    task->sampling = lm_manner_sampling(&arguments->manner);
    task->sampling.top_logprobs = (size_t)arguments->top_logprobs;
    task->sampling.prompt_logprobs = arguments->prompt_logprobs;
    task->sampling.processed = arguments->processed;
    task->sampling.ignore_model_stops = arguments->ignore_stops;
    result = make_prompt(task, err);
    if (result < 0)
        return result;
    settle_length(task);
    size_t at_once = (size_t)(arguments->samples < arguments->at_once ? arguments->samples
                                                                      : arguments->at_once);
    return lm_context_sampler(&task->lm, at_once, longest_sample(task), err);
}

static const char *arguments_error(const struct arguments *arguments)
{
    if (arguments->words->count > 2)
        return "give one prompt, in quotes, or - for standard input";
    if ((arguments->top_logprobs > 0 || arguments->prompt_logprobs) && !arguments->json)
        return "log-probabilities need --json";
    return NULL;
}

static int sample_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    const size_t samples = (size_t)arguments->samples;
    struct task task = {.arguments = arguments, .start_ns = clock_now_ns()};
    arguments->words = &call->words;
    arguments->where.directory = call->words.items[0];
    const char *why = arguments_error(arguments);
    if (why)
        return cli_usage(call, "%s", why);
    task.texts = mem_alloc(samples * sizeof *task.texts);
    int result = open_all(&task, err);
    for (size_t i = 0; i < samples; i++)
        lm_text_init(&task.texts[i], task.lm.tokenizer);
    if (result == 0) {
        task.start_ns = clock_now_ns();
        cli_catch_signals();
        result = generate_samples(&task, err);
    }
    if (result == 0 && !arguments->json)
        say_facts(&task);
    if (result == 0 && task.failed > 0)
        result = lm_fail_numbers();
    else if (result == 0 && cli_cancelled)
        result = EXIT_INTERRUPTED;
    for (size_t i = 0; i < samples; i++)
        lm_text_deinit(&task.texts[i]);
    mem_free(task.texts);
    mem_free(task.prompt_logprobs);
    mem_free(task.prompt_top);
    tokens_deinit(&task.prompt);
    lm_context_close(&task.lm);
    return result;
}

int lm_sample_main(struct cli_call *call)
{
    struct arguments arguments = {
        .where = LM_WHERE_DEFAULTS,
        .manner = {.temperature = 1, .top_p = 1, .max_tokens = -1, .seed = -1},
        .samples = 1,
        .at_once = AT_ONCE};
    const struct cli_option options[] = {
        OPTION_INT('n', "samples", &arguments.samples, 1, LIMIT_LM_SAMPLES, "N",
                   "number of samples, with consecutive seeds (1)"),
        OPTION_INT('j', "jobs", &arguments.at_once, 1, LIMIT_LM_SAMPLES, "N",
                   "samples computed at the same time (16)"),
        LM_MANNER_OPTIONS(&arguments.manner),
        OPTION_FLAG(0, "ignore-stops", &arguments.ignore_stops,
                    "continue after the model's own stop tokens"),
        OPTION_GROUP("Input and output"),
        OPTION_FLAG(0, "special", &arguments.special,
                    "parse special tokens in the prompt's text, such as <|im_start|>"),
        OPTION_FLAG(0, "raw", &arguments.raw, "the prompt and the output are token ids"),
        OPTION_FLAG(0, "json", &arguments.json,
                    "one object for each sample, with ids and log-probabilities"),
        OPTION_INT(0, "top-logprobs", &arguments.top_logprobs, 0, LM_TOP_LOGPROBS_MAX, "N",
                   "with --json: the N most probable tokens at each place"),
        OPTION_FLAG(0, "prompt-logprobs", &arguments.prompt_logprobs,
                    "with --json: of the prompt's tokens, too"),
        OPTION_FLAG(0, "processed", &arguments.processed,
                    "log-probabilities after temperature, top-k, top-p and min-p"),
        LM_WHERE_OPTIONS(&arguments.where),
        OPTION_END,
    };
    return cli_run(call, options, sample_run, &arguments);
}
