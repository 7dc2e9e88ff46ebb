/* A training backend for tests in Python: asked on standard input, a JSON object a line, answered
 * on standard output, one line each.
 *
 *   train_backend_probe fresh DIRECTORY            makes a tiny model with a tokenizer, and no more
 *   train_backend_probe KIND MODEL [KEY=VALUE…]
 *
 * Keys: tokenizer, url, reduction, rank, alpha, seed, context, at_once, batch, backend, threads;
 * any other is a setting.
 *
 *   {"do": "prompt", "messages": […]}                    {"ids": […]}
 *   {"do": "sample", "prompts": [{"ids", "max_tokens", "temperature", "seed"}, …]}, all at once
 *                                                      {"answers": [{"tokens", "logprobs", …}, …]}
 *   {"do": "pass", "datums": [{"tokens", "targets", "weights", "sampled", "advantages"}, …],
 *    "loss", "config", "gradients"}                {"loss", … (LOSS_SUMS), "logprobs": [[…], …]}
 *    with "copies": all datums so often, one after another
 *    with "meanwhile": prompts as above, one after another beside the pass   {…, "answers": […]}
 *   {"do": "step", "rate", …}                            {"norm"}
 *   {"do": "refresh"}                                    {"version"}
 *   {"do": "save", "directory", "name"}                  {"where"}
 *   {"do": "load", "directory", "where", "optimizer", "steps"},
 *   {"do": "forget", "directory", "where"}, {"do": "export", "directory"}                {}
 *
 * What failed is answered {"error", "code"}. First of all comes {"ready": KIND}, or an error and
 * the end.
 */
#include "../support/learned.h"
#include "../support/tiny_lm.h"
#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "policy/train_backend.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int cancelled;

static void on_signal(int number)
{
    cancelled = 1;
}

static void say(json_t *line)
{
    char *text = json_dumps(line, JSON_REAL_PRECISION(17) | JSON_COMPACT);
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(line);
}

static json_t *failure(const struct err *err)
{
    return json_pack("{s:s, s:s}", "error", err->text, "code", err_name(err->code));
}

static double number(const json_t *object, const char *key, double standard)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : standard;
}

/* NULL where there is no such array. A null is NaN. */
static float *reals(const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    size_t count = json_array_size(array);
    float *out = json_is_array(array) ? mem_alloc((count + 1) * sizeof *out) : NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, i);
        out[i] = json_is_number(value) ? (float)json_number_value(value) : NAN;
    }
    return out;
}

static int32_t *ids(const json_t *object, const char *key, size_t *count)
{
    const json_t *array = json_object_get(object, key);
    *count = json_array_size(array);
    int32_t *out = mem_alloc((*count + 1) * sizeof *out);
    for (size_t i = 0; i < *count; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return out;
}

static json_t *do_prompt(struct train_backend *backend, const json_t *line, struct err *err)
{
    struct tokens prompt = {0};
    json_t *out = NULL;
    if (train_backend_prompt(backend, json_object_get(line, "messages"), true, &prompt, err) == 0)
        out = json_pack("{s:o}", "ids", json_integers(prompt.ids, prompt.count));
    tokens_deinit(&prompt);
    return out;
}

struct asker {
    pthread_t thread;
    struct train_backend *backend;
    const json_t *wanted;
    struct train_backend_answer answer;
    int result;
    struct err err;
};

static void request_one(struct asker *asker)
{
    const struct train_backend_sampling sampling = {
        .max_tokens = (size_t)number(asker->wanted, "max_tokens", 0),
        .temperature = number(asker->wanted, "temperature", 1),
        .top_p = number(asker->wanted, "top_p", 1),
        .seed = (uint64_t)number(asker->wanted, "seed", 0),
    };
    struct tokens prompt = {0};
    prompt.ids = ids(asker->wanted, "ids", &prompt.count);
    asker->result = train_backend_sample(asker->backend, &prompt, &sampling, &asker->answer,
                                         &asker->err);
    tokens_deinit(&prompt);
}

static void *ask(void *argument)
{
    request_one(argument);
    return NULL;
}

static json_t *answer_of(const struct asker *asker)
{
    const struct train_backend_answer *answer = &asker->answer;
    if (asker->result < 0)
        return failure(&asker->err);
    return json_pack("{s:o, s:o, s:o, s:b, s:I}", "tokens",
                     json_integers(answer->tokens, answer->count), "logprobs",
                     json_numbers(answer->logprobs, answer->count), "text", json_text(answer->text),
                     "stopped", answer->stopped, "version", (json_int_t)answer->version);
}

static json_t *do_sample(struct train_backend *backend, const json_t *line, struct err *err)
{
    const json_t *prompts = json_object_get(line, "prompts");
    size_t count = json_array_size(prompts);
    struct asker *askers = mem_alloc((count + 1) * sizeof *askers);
    json_t *answers = json_array();
    for (size_t i = 0; i < count; i++) {
        askers[i].backend = backend;
        askers[i].wanted = json_array_get(prompts, i);
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(askers[i].thread, NULL);
        json_array_append_new(answers, answer_of(&askers[i]));
        train_backend_answer_deinit(&askers[i].answer);
    }
    mem_free(askers);
    return json_pack("{s:o}", "answers", answers);
}

/* A thread that requests one thing after another while something else goes on. */
struct meanwhile {
    pthread_t thread;
    struct train_backend *backend;
    const json_t *prompts; /* NULL: nothing does */
    json_t *answers;
};

static void *request_all(void *argument)
{
    struct meanwhile *meanwhile = argument;
    const json_t *prompt;
    size_t i;
    json_array_foreach(meanwhile->prompts, i, prompt)
    {
        struct asker asker = {.backend = meanwhile->backend, .wanted = prompt};
        request_one(&asker);
        json_array_append_new(meanwhile->answers, answer_of(&asker));
        train_backend_answer_deinit(&asker.answer);
    }
    return NULL;
}

static void begin_meanwhile(struct meanwhile *meanwhile, struct train_backend *backend,
                            const json_t *line)
{
    *meanwhile = (struct meanwhile){.backend = backend,
                                    .prompts = json_object_get(line, "meanwhile"),
                                    .answers = json_array()};
    if (meanwhile->prompts)
        pthread_create(&meanwhile->thread, NULL, request_all, meanwhile);
}

/* Their answers go into `out`, where there is one. */
static void end_meanwhile(struct meanwhile *meanwhile, json_t *out)
{
    if (meanwhile->prompts)
        pthread_join(meanwhile->thread, NULL);
    if (meanwhile->prompts && out)
        json_put(out, "answers", json_incref(meanwhile->answers));
    json_decref(meanwhile->answers);
}

static struct lm_datum datum_of(const json_t *from)
{
    struct lm_datum datum = {0};
    size_t targets;
    datum.tokens = ids(from, "tokens", &datum.count);
    datum.targets = ids(from, "targets", &targets);
    if (targets != datum.count)
        datum.count = 0;
    datum.weights = reals(from, "weights");
    datum.sampled = reals(from, "sampled");
    datum.advantages = reals(from, "advantages");
    datum.logprob = mem_alloc((datum.count + 1) * sizeof(float));
    return datum;
}

static json_t *do_pass(struct train_backend *backend, const json_t *line, struct err *err)
{
    const json_t *list = json_object_get(line, "datums"), *given = json_object_get(line, "config");
    const struct loss *loss = loss_find(json_text_at(line, "loss"));
    const struct loss_config config = {.clip_low = number(given, "clip_low", NAN),
                                       .clip_high = number(given, "clip_high", NAN),
                                       .dual_clip = number(given, "dual_clip", NAN),
                                       .beta = number(given, "beta", NAN),
                                       .entropy = number(given, "entropy", NAN)};
    const size_t given_count = json_array_size(list);
    size_t count = given_count * (size_t)number(line, "copies", 1);
    struct lm_datum *datums = mem_alloc((count + 1) * sizeof *datums);
    struct loss_sums sums = {0};
    json_t *out = NULL, *logprobs = json_array();
    struct meanwhile meanwhile;
    begin_meanwhile(&meanwhile, backend, line);
    for (size_t i = 0; i < count; i++)
        datums[i] = datum_of(json_array_get(list, i % given_count));
    int result = loss ? 0 : err_set(err, ERR_INPUT, "there is no such loss");
    if (result == 0)
        result = (json_is_true(json_object_get(line, "gradients"))
                      ? train_backend_forward_backward
                      : train_backend_forward)(backend, datums, count, loss, &config, &sums, err);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(logprobs, json_numbers(datums[i].logprob, datums[i].count));
        tiny_datum_free(&datums[i]);
    }
    if (result == 0) {
        out = json_pack("{s:O}", "logprobs", logprobs);
#define X(name) json_put(out, #name, json_number(sums.name));
        LOSS_SUMS(X)
#undef X
    }
    end_meanwhile(&meanwhile, out);
    json_decref(logprobs);
    mem_free(datums);
    return out;
}

static json_t *do_step(struct train_backend *backend, const json_t *line, struct err *err)
{
    const struct lm_adam adam = {.rate = number(line, "rate", lm_adam_defaults.rate),
                                 .beta1 = number(line, "beta1", lm_adam_defaults.beta1),
                                 .beta2 = number(line, "beta2", lm_adam_defaults.beta2),
                                 .epsilon = number(line, "epsilon", lm_adam_defaults.epsilon),
                                 .decay = number(line, "decay", lm_adam_defaults.decay),
                                 .clip = number(line, "clip", lm_adam_defaults.clip)};
    double norm;
    return train_backend_step(backend, &adam, &norm, err) == 0
               ? json_pack("{s:o}", "norm", json_number(norm))
               : NULL;
}

static json_t *do_refresh(struct train_backend *backend, const json_t *line, struct err *err)
{
    uint64_t version;
    return train_backend_refresh(backend, &version, err) == 0
               ? json_pack("{s:I}", "version", (json_int_t)version)
               : NULL;
}

static json_t *do_save(struct train_backend *backend, const json_t *line, struct err *err)
{
    char *where = NULL;
    json_t *out = NULL;
    if (train_backend_save(backend, json_text_at(line, "directory"), json_text_at(line, "name"),
                           &where, err) == 0)
        out = json_pack("{s:s}", "where", where);
    mem_free(where);
    return out;
}

static json_t *do_load(struct train_backend *backend, const json_t *line, struct err *err)
{
    return train_backend_load(backend, json_text_at(line, "directory"), json_text_at(line, "where"),
                              json_is_true(json_object_get(line, "optimizer")),
                              (uint64_t)number(line, "steps", 0), err) == 0
               ? json_object()
               : NULL;
}

static json_t *do_forget(struct train_backend *backend, const json_t *line, struct err *err)
{
    return train_backend_forget(backend, json_text_at(line, "directory"),
                                json_text_at(line, "where"), err) == 0
               ? json_object()
               : NULL;
}

static json_t *do_export(struct train_backend *backend, const json_t *line, struct err *err)
{
    return train_backend_export(backend, json_text_at(line, "directory"), err) == 0 ? json_object()
                                                                                    : NULL;
}

static const struct {
    const char *name;
    json_t *(*run)(struct train_backend *backend, const json_t *line, struct err *err);
} commands[] = {
    {"prompt", do_prompt}, {"sample", do_sample},   {"pass", do_pass},
    {"step", do_step},     {"refresh", do_refresh}, {"save", do_save},
    {"load", do_load},     {"forget", do_forget},   {"export", do_export},
};

static json_t *obey(struct train_backend *backend, const char *text, size_t count)
{
    json_t *line = NULL, *out = NULL;
    struct err err = {0};
    int result = json_parse("line", text, count, &line, &err);
    const char *name = result == 0 ? json_text_at(line, "do") : "";
    size_t i = 0;
    while (i < COUNT(commands) && strcmp(commands[i].name, name) != 0)
        i++;
    if (result == 0 && i == COUNT(commands))
        err_set(&err, ERR_INPUT, "'%s' is no command", name);
    else if (result == 0)
        out = commands[i].run(backend, line, &err);
    if (result == 0)
        json_decref(line);
    return out ? out : failure(&err);
}

static int read_reduction(struct train_backend_options *options, const char *word, struct err *err)
{
    int kind = 0;
    int result = word_find(WORDS_IN(TRAIN_REDUCTIONS), "reduction", word, &kind, err);
    options->reduction = (enum train_reduction)kind;
    return result;
}

static int read_option(struct train_backend_options *options, struct settings *settings, char *word,
                       struct err *err)
{
    const struct {
        const char *key;
        const char **text;
        size_t *number;
    } keys[] = {
        {"tokenizer", &options->tokenizer, NULL}, {"url", &options->url, NULL},
        {"backend", &options->device, NULL},      {"rank", NULL, &options->lora_rank},
        {"context", NULL, &options->context},     {"at_once", NULL, &options->at_once},
        {"threads", NULL, &options->threads},     {"batch", NULL, &options->batch_tokens},
    };
    char *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : 0;
    for (size_t i = 0; value && i < COUNT(keys); i++)
        if (strlen(keys[i].key) == length && strncmp(keys[i].key, word, length) == 0) {
            if (keys[i].text)
                *keys[i].text = value + 1;
            else
                *keys[i].number = (size_t)strtoul(value + 1, NULL, 10);
            return 0;
        }
    if (value && strncmp(word, "seed=", 5) == 0)
        options->seed = strtoul(value + 1, NULL, 10);
    else if (value && strncmp(word, "alpha=", 6) == 0)
        options->lora_alpha = strtod(value + 1, NULL);
    else if (value && strncmp(word, "reduction=", 10) == 0)
        return read_reduction(options, value + 1, err);
    else
        return settings_assign(settings, word, err);
    return 0;
}

int main(int count, char **words)
{
    struct settings settings;
    struct train_backend *backend = NULL;
    struct err err = {0};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    int result = 0;
    if (count < 3)
        return 2;
    if (strcmp(words[1], "fresh") == 0) {
        learned_write(words[2]);
        tiny_lm_write(words[2], LEARNED_VOCAB, 64);
        return 0;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    settings_init(&settings);
    int kind = 0;
    result = word_find(WORDS_IN(TRAIN_BACKENDS), "training backend", words[1], &kind, &err);
    struct train_backend_options options = {.kind = (enum train_backend_kind)kind,
                                            .model = words[2],
                                            .at_once = 8,
                                            .threads = 1,
                                            .settings = &settings,
                                            .cancelled = &cancelled};
    for (int i = 3; i < count && result == 0; i++)
        result = read_option(&options, &settings, words[i], &err);
    if (result == 0)
        result = train_backend_open(&backend, &options, &err);
    say(result < 0 ? failure(&err) : json_pack("{s:s}", "ready", words[1]));
    while (result == 0 && (bytes = getline(&line, &capacity, stdin)) > 0)
        say(obey(backend, line, (size_t)bytes));
    train_backend_close(backend);
    settings_deinit(&settings);
    free(line);
    return result < 0;
}
