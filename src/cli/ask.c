/* ask: sends one message to a policy, or checks its endpoint. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"
#include "policy/policy.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FACTS_BYTES 4096
#define LISTED_MODELS 20
#define SAMPLES_MOST 1000
/* enough for libcurl's resolver and TLS, times a thousand */
#define STACK_BYTES ((size_t)256 << 10)

struct arguments {
    const char *policy, *model, *system, *problem;
    const struct cli_words *words;
    int64_t count, sample, turn, seed;
    bool json, check, reasoning;
};

/* One request, and its answer. */
struct question {
    struct ask_context *ask_context;
    int64_t sample;
    pthread_t thread;
    int result;
    struct err err;
    struct policy_answer answer;
};

struct ask_context {
    const struct arguments *arguments;
    struct policy *policy;
    json_t *messages;
};

static void *question_thread(void *argument)
{
    struct question *question = argument;
    const struct arguments *arguments = question->ask_context->arguments;
    const struct policy_request request = {
        .messages = question->ask_context->messages,
        .problem = arguments->problem ? arguments->problem : "",
        .sample = question->sample,
        .turn = arguments->turn,
        .seed = (uint64_t)(arguments->seed + question->sample),
    };
    question->result = policy_complete(question->ask_context->policy, &request, &question->answer,
                                       &question->err);
    return NULL;
}

/* Untrusted text is made safe for a terminal. */
static void print_text(const char *text)
{
    struct buf out;
    buf_init(&out, 8 * LIMIT_ANSWER_BYTES);
    for (const char *at = text; *at; at++) {
        if (*at == '\t' && isatty(STDOUT_FILENO))
            buf_puts(&out, "    ");
        else
            buf_append(&out, at, 1);
    }
    if (out.len == 0 || out.data[out.len - 1] != '\n')
        buf_puts(&out, "\n");
    if (isatty(STDOUT_FILENO)) {
        printable_text(out.data, true);
        out.len = strlen(out.data);
    }
    cli_print(&out);
    buf_deinit(&out);
}

static void print_json(const struct question *question)
{
    const struct policy_answer *answer = &question->answer;
    json_t *object = json_object();
    json_put(object, "sample", json_integer(question->sample));
    json_put(object, "text", json_text(answer->text));
    json_put(object, "reasoning", json_text(answer->reasoning));
    json_put(object, "finish", json_text(answer->finish));
    json_put(object, "model", json_text(answer->model));
    json_put(object, "prompt_tokens", json_known((double)answer->prompt_tokens));
    json_put(object, "completion_tokens", json_known((double)answer->completion_tokens));
    json_put(object, "cached_tokens", json_known((double)answer->cached_tokens));
    json_put(object, "cost", json_number(answer->cost));
    json_put(object, "asked", json_integer(answer->asked));
    json_put(object, "answer_ms", json_number(answer->answer_ms));
    json_put(object, "first_token_ms", json_number(answer->first_token_ms));
    json_put(object, "logprobs", answer->logprobs ? json_incref(answer->logprobs) : json_null());
    cli_print_json(object);
}

/* "812 + 120 tokens (30 cached), cost 0.0012, first token after 210 ms, 3.2 s, …" */
static void say_facts(const struct question *question)
{
    const struct policy_answer *answer = &question->answer;
    struct buf facts;
    buf_init(&facts, FACTS_BYTES);
    buf_printf(&facts, "%.100s: ", answer->model ? answer->model : "answered");
    if (answer->prompt_tokens >= 0 && answer->completion_tokens >= 0)
        buf_printf(&facts, "%lld + %lld tokens", (long long)answer->prompt_tokens,
                   (long long)answer->completion_tokens);
    else
        buf_puts(&facts, "no token counts");
    if (answer->cached_tokens > 0)
        buf_printf(&facts, " (%lld cached)", (long long)answer->cached_tokens);
    if (!isnan(answer->cost))
        buf_printf(&facts, ", cost %.6g", answer->cost);
    if (!isnan(answer->first_token_ms))
        buf_printf(&facts, ", first token after %.0f ms", answer->first_token_ms);
    buf_printf(&facts, ", %.2f s", answer->answer_ms * 1e-3);
    if (answer->completion_tokens > 0 && answer->answer_ms > 0)
        buf_printf(&facts, ", %.0f tokens/s",
                   (double)answer->completion_tokens / answer->answer_ms * 1e3);
    if (answer->logprobs)
        buf_printf(&facts, ", %zu log-probabilities", json_array_size(answer->logprobs));
    if (answer->asked > 1)
        buf_printf(&facts, ", %u requests", answer->asked);
    if (answer->finish[0] && strcmp(answer->finish, "stop") != 0)
        buf_printf(&facts, ", ended by %s", answer->finish);
    printable_text(facts.data, false);
    fprintf(stderr, "%s\n", facts.data);
    buf_deinit(&facts);
}

static int question_print(const struct question *question)
{
    const struct arguments *arguments = question->ask_context->arguments;
    const struct policy_answer *answer = &question->answer;
    if (question->result == ERR_CANCELLED)
        return EXIT_INTERRUPTED;
    if (question->result < 0)
        return cli_fail_err(&question->err);
    if (arguments->json)
        print_json(question);
    else if (!arguments->check) {
        if (arguments->reasoning && answer->reasoning)
            print_text(answer->reasoning);
        print_text(answer->text);
    }
    if (!arguments->json)
        say_facts(question);
    return EXIT_PASSED;
}

static int questions_run(struct ask_context *ask_context)
{
    const struct arguments *arguments = ask_context->arguments;
    size_t count = (size_t)arguments->count;
    struct question *questions = mem_alloc(count * sizeof *questions);
    pthread_attr_t attributes;
    int status = EXIT_PASSED;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < count; i++) {
        questions[i] = (struct question){.ask_context = ask_context,
                                         .sample = arguments->sample + (int64_t)i};
        if (count == 1 || pthread_create(&questions[i].thread, &attributes, question_thread,
                                         &questions[i]) != 0) {
            questions[i].thread = pthread_self();
            question_thread(&questions[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!pthread_equal(questions[i].thread, pthread_self()))
            pthread_join(questions[i].thread, NULL);
        int one = question_print(&questions[i]);
        status = one > status ? one : status;
        if (questions[i].result == 0)
            policy_answer_deinit(&questions[i].answer);
    }
    pthread_attr_destroy(&attributes);
    mem_free(questions);
    return status;
}

/* Prints the endpoint's models; an endpoint that lists none may still answer. */
static void say_models(struct ask_context *ask_context)
{
    struct err err;
    json_t *models = NULL;
    if (policy_models(ask_context->policy, &models, &err) < 0) {
        cli_fail(0, "cannot list its models: %s", err.text);
        return;
    }
    printf("%zu model%s\n", json_array_size(models), json_array_size(models) == 1 ? "" : "s");
    for (size_t i = 0; i < json_array_size(models) && i < LISTED_MODELS; i++) {
        char name[LIMIT_NAME_BYTES];
        snprintf(name, sizeof name, "%s", json_string_value(json_array_get(models, i)));
        printable_text(name, false);
        printf("  %s%s\n", name,
               strcmp(name, policy_model(ask_context->policy)) == 0 ? " (used)" : "");
    }
    if (json_array_size(models) > LISTED_MODELS)
        printf("  and %zu more\n", json_array_size(models) - LISTED_MODELS);
    fflush(stdout);
    json_decref(models);
}

static void add_message(json_t *messages, const char *role, const char *text, size_t bytes)
{
    json_t *message = json_object();
    json_put(message, "role", json_text(role));
    json_put(message, "content", json_text_bytes(text, bytes));
    json_array_append_new(messages, message);
}

/* Reads the message from the command line, or standard input. */
static int make_messages(const struct arguments *arguments, json_t *messages, struct err *err)
{
    const char *word = arguments->check ? "Answer with the word yes." : arguments->words->items[0];
    char *text = NULL;
    size_t bytes = strlen(word);
    if (arguments->system)
        add_message(messages, "system", arguments->system, strlen(arguments->system));
    if (strcmp(word, "-") == 0) {
        int result = file_read_fd(STDIN_FILENO, "standard input", LIMIT_PROMPT_BYTES, &text, &bytes,
                                  err);
        if (result < 0)
            return result;
    }
    add_message(messages, "user", text ? text : word, bytes);
    mem_free(text);
    return 0;
}

static const char *arguments_error(const struct arguments *arguments)
{
    if (arguments->check)
        return arguments->words->count > 0 ? "--check has its own message" : NULL;
    if (arguments->words->count == 0)
        return "give the message, or - for standard input";
    return arguments->words->count > 1 ? "give one message, in quotes" : NULL;
}

static int ask_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    const struct policy_options options = {.url = arguments->policy,
                                           .model = arguments->model,
                                           .settings = &call->settings,
                                           .cancelled = &cli_cancelled};
    struct ask_context ask_context = {.arguments = arguments};
    arguments->words = &call->words;
    const char *why = arguments_error(arguments);
    if (why)
        return cli_fail(EXIT_USAGE, "ask: %s", why);
    if (arguments->check && settings_origin(&call->settings, "policy.max_tokens") == ORIGIN_DEFAULT)
        (void)!settings_set(&call->settings, "policy.max_tokens", "1", ORIGIN_COMMAND_LINE, NULL);
    cli_catch_signals();
    ask_context.messages = json_array();
    int result = make_messages(arguments, ask_context.messages, err);
    if (result == 0)
        result = policy_open(&ask_context.policy, &options, err);
    if (result == 0) {
        if (arguments->check)
            say_models(&ask_context);
        result = questions_run(&ask_context);
    }
    policy_close(ask_context.policy);
    json_decref(ask_context.messages);
    return result == ERR_CANCELLED ? EXIT_INTERRUPTED : result;
}

int ask_main(struct cli_call *call)
{
    struct arguments arguments = {.count = 1};
    const struct cli_option options[] = {
        OPTION_STRING('p', "policy", &arguments.policy, "URL",
                      "http://HOST:PORT/v1, https://… or scripted:FILE; policy.url"),
        OPTION_STRING('m', "model", &arguments.model, "NAME",
                      "which model; policy.model, or the only one"),
        OPTION_SET,
        OPTION_GROUP("Question"),
        OPTION_FLAG(0, "check", &arguments.check, "list the models and make a round trip"),
        OPTION_STRING(0, "system", &arguments.system, "TEXT", "a system message before it"),
        OPTION_INT('n', "count", &arguments.count, 1, SAMPLES_MOST, "N",
                   "number of answers, policy.concurrency of them at a time"),
        OPTION_INT(0, "seed", &arguments.seed, 0, 0x7fffffff, "N", "of the first answer"),
        OPTION_STRING(0, "problem", &arguments.problem, "ID", "for scripts: the problem to answer"),
        OPTION_INT(0, "sample", &arguments.sample, 0, 1000000000, "N", "for scripts: the first"),
        OPTION_INT(0, "turn", &arguments.turn, 0, LIMIT_TURNS - 1, "N", "for scripts: the turn"),
        OPTION_GROUP("Output"),
        OPTION_FLAG(0, "reasoning", &arguments.reasoning, "print the model's reasoning, too"),
        OPTION_FLAG(0, "json", &arguments.json, "every field of an answer, one JSON object a line"),
        OPTION_END,
    };
    return cli_run(call, options, ask_run, &arguments);
}
