/* lm chat: a conversation with a model, on a terminal or through a pipe. */
#include "lm/tokenizer/chat.h"
#include "base/array.h"
#include "base/mem.h"
#include "cli/lm/lm.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP                                                                                       \
    "/system TEXT  the system message; without TEXT: none\n"                                       \
    "/think on|off reasoning before the answer (Qwen3)\n"                                          \
    "/reset        a new conversation\n"                                                           \
    "/quit         ends, as does Ctrl-D; Ctrl-C stops an answer\n"                                 \
    "A line that ends in \\ continues in the next one.\n"

struct arguments {
    struct lm_where where;
    struct lm_manner manner;
    const char *system;
    bool thinking;
};

struct message {
    const char *role;
    char *text;
};

struct talk {
    struct arguments *arguments;
    struct lm_context lm;
    struct lm_sampling sampling;
    struct chat_options style;
    int32_t end_token;
    char *system;             /* NULL: none */
    struct message *messages; /* of the conversation, without the system message */
    size_t count;
    struct lm_text answer;
    bool terminal, quit, failed;
};

#define LOOK_MS 100

/* Set by Ctrl-C on a terminal: stops the answer. */
static _Atomic int interrupted;

static void on_interrupt(int signal)
{
    interrupted = 1;
}

static void talk_drop_messages(struct talk *talk, size_t from)
{
    while (talk->count > from)
        mem_free(talk->messages[--talk->count].text);
}

static void talk_add_message(struct talk *talk, const char *role, const char *text)
{
    talk->messages = mem_resize(talk->messages, (talk->count + 1) * sizeof *talk->messages);
    talk->messages[talk->count++] = (struct message){role, mem_strdup(text)};
}

static int talk_encode(struct talk *talk, struct tokens *ids, struct err *err)
{
    struct chat_message *all = mem_alloc((talk->count + 1) * sizeof *all);
    size_t count = 0;
    if (talk->system)
        all[count++] = (struct chat_message){.role = "system", .content = talk->system};
    for (size_t i = 0; i < talk->count; i++)
        all[count++] = (struct chat_message){.role = talk->messages[i].role,
                                             .content = talk->messages[i].text};
    int result = chat_encode(talk->lm.tokenizer, all, count, &talk->style, ids, NULL, err);
    mem_free(all);
    return result;
}

static void on_sample(void *context, size_t index, const struct lm_sample *sample)
{
    struct talk *talk = context;
    talk->failed |= sample->finish == LM_FAILED;
    lm_text_add(&talk->answer, sample, talk->sampling.stop_count > 0);
    lm_text_print(&talk->answer);
}

static int generate_answer(struct talk *talk, const struct tokens *ids, struct err *err)
{
    const struct lm_request request = {
        .prompt = ids->ids,
        .prompt_count = ids->count,
        .samples = 1,
        .sampling = talk->sampling,
        .tokenizer = talk->lm.tokenizer,
        .on_event = on_sample,
        .context = talk,
    };
    uint64_t id;
    bool busy = true;
    int result = lm_sampler_submit(talk->lm.sampler, &request, &id, err);
    while (result == 0 && busy) {
        if (interrupted || cli_cancelled)
            lm_sampler_cancel(talk->lm.sampler, id);
        result = lm_sampler_step(talk->lm.sampler, &busy, err);
    }
    return result;
}

/* The part of a stopped answer stays in the conversation. */
static int answer_question(struct talk *talk, const char *question)
{
    const size_t before = talk->count;
    struct tokens ids = {0};
    struct err err;
    int status = EXIT_PASSED;
    interrupted = 0;
    talk_add_message(talk, "user", question);
    lm_text_init(&talk->answer, talk->lm.tokenizer);
    int result = talk_encode(talk, &ids, &err);
    if (result == 0)
        result = generate_answer(talk, &ids, &err);
    if (talk->answer.counted > 0 || result == 0) {
        putchar('\n');
        fflush(stdout);
    }
    if (result < 0) {
        talk_drop_messages(talk, before);
        status = cli_fail(cli_status(&err), "%s%s", err.text,
                          talk->terminal ? "; /reset begins a new conversation" : "");
    } else if (talk->failed) {
        status = lm_fail_numbers();
    } else {
        talk->answer.text.data[talk->answer.counted] = '\0';
        talk_add_message(talk, "assistant", talk->answer.text.data);
        talk->sampling.seed++; /* another answer if the question is repeated */
    }
    lm_text_deinit(&talk->answer);
    tokens_deinit(&ids);
    return status;
}

static void do_reset(struct talk *talk, const char *text)
{
    talk_drop_messages(talk, 0);
}

static void do_system(struct talk *talk, const char *text)
{
    mem_free(talk->system);
    talk->system = text[0] ? mem_strdup(text) : NULL;
    if (talk->count > 0)
        fprintf(stderr, "new conversation\n");
    talk_drop_messages(talk, 0);
}

static void do_think(struct talk *talk, const char *text)
{
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        cli_fail(0, "/think on, or /think off");
    else if (talk->style.style != CHAT_QWEN3)
        cli_fail(0, "this model's reasoning cannot be switched");
    else
        talk->style.thinking = strcmp(text, "on") == 0;
}

static void do_quit(struct talk *talk, const char *text)
{
    talk->quit = true;
}

static void do_help(struct talk *talk, const char *text)
{
    fputs(HELP, stderr);
}

static const struct {
    const char *name;
    void (*run)(struct talk *talk, const char *text);
} commands[] = {
    {"/reset", do_reset}, {"/system", do_system}, {"/think", do_think},
    {"/quit", do_quit},   {"/help", do_help},
};

/* False: not a command, but a message to the model. */
static bool run_command(struct talk *talk, const char *line)
{
    size_t length = strcspn(line, " ");
    if (line[0] != '/')
        return false;
    for (size_t i = 0; i < COUNT(commands); i++)
        if (strlen(commands[i].name) == length && strncmp(line, commands[i].name, length) == 0) {
            commands[i].run(talk, line + length + strspn(line + length, " "));
            return true;
        }
    if (!talk->terminal)
        return false;
    cli_fail(0, "%.40s: no such command; /help lists them", line);
    return true;
}

/* Waits for input or Ctrl-C. A signal just before a read does not interrupt it, so poll first. */
static bool wait_for_input(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!interrupted && !cli_cancelled)
        if (poll(&in, 1, LOOK_MS) > 0)
            return true;
    return false;
}

/* One line, or several that end in a backslash. False: end of input. */
static bool read_line(const struct talk *talk, struct buf *line)
{
    char *part = NULL;
    size_t capacity = 0;
    bool more = true;
    buf_reset(line);
    while (more) {
        interrupted = 0;
        if (talk->terminal)
            fputs(line->len > 0 ? "... " : "> ", stderr);
        if (talk->terminal && !wait_for_input() && !cli_cancelled) { /* drop this line */
            buf_reset(line);
            fputs("\n", stderr);
            continue;
        }
        ssize_t got = cli_cancelled ? -1 : getline(&part, &capacity, stdin);
        if (got < 0 && interrupted && !cli_cancelled) { /* within a line after Ctrl-D */
            clearerr(stdin);
            buf_reset(line);
            fputs("\n", stderr);
            continue;
        }
        if (got < 0)
            break;
        while (got > 0 && (part[got - 1] == '\n' || part[got - 1] == '\r'))
            got--;
        more = got > 0 && part[got - 1] == '\\';
        buf_append(line, part, (size_t)(more ? got - 1 : got));
        if (more)
            buf_puts(line, "\n");
        else
            more = line->len == 0; /* an empty line is not a message */
    }
    free(part);
    return line->len > 0 && !cli_cancelled;
}

static int talk_run(struct talk *talk)
{
    struct buf line;
    int status = EXIT_PASSED;
    buf_init(&line, LIMIT_PROMPT_BYTES);
    if (talk->terminal)
        fputs("/help lists the commands; Ctrl-D ends.\n", stderr);
    while (!talk->quit && !cli_cancelled && read_line(talk, &line)) {
        if (line.cut)
            status = cli_fail(EXIT_USAGE, "that is more than %zu bytes; it was not sent",
                              LIMIT_PROMPT_BYTES);
        else if (!run_command(talk, line.data))
            status = answer_question(talk, line.data);
        if (talk->failed || (status != EXIT_PASSED && !talk->terminal))
            break;
    }
    buf_deinit(&line);
    if (talk->terminal)
        fputs("\n", stderr);
    if (cli_cancelled)
        return EXIT_INTERRUPTED;
    return talk->terminal && !talk->failed ? EXIT_PASSED : status;
}

static int open_talk(struct talk *talk, struct err *err)
{
    struct arguments *arguments = talk->arguments;
    int result = lm_context_open(&talk->lm, &arguments->where, true, err);
    if (result == 0)
        result = chat_style_of(arguments->where.directory, &talk->style.style, err);
    if (result < 0)
        return result;
    talk->style.answer = true;
    talk->style.thinking = arguments->thinking;
    talk->system = arguments->system ? mem_strdup(arguments->system) : NULL;
    talk->sampling = lm_manner_sampling(&arguments->manner);
    talk->end_token = chat_end_token(talk->lm.tokenizer);
    if (talk->end_token >= 0) {
        talk->sampling.stop_tokens = &talk->end_token;
        talk->sampling.stop_token_count = 1;
    }
    return lm_context_sampler(&talk->lm, 1, talk->lm.model->positions, err);
}

static void catch_signals(const struct talk *talk)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    cli_catch_signals();
    if (talk->terminal)
        sigaction(SIGINT, &action, NULL);
}

static int chat_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct talk talk = {.arguments = arguments, .terminal = isatty(STDIN_FILENO)};
    talk.arguments->where.directory = call->words.items[0];
    int result = open_talk(&talk, err);
    if (result == 0) {
        catch_signals(&talk); /* until here a signal may end the program */
        result = talk_run(&talk);
    }
    talk_drop_messages(&talk, 0);
    mem_free(talk.messages);
    mem_free(talk.system);
    lm_context_close(&talk.lm);
    return result;
}

int lm_chat_main(struct cli_call *call)
{
    struct arguments arguments = {
        .where = LM_WHERE_DEFAULTS,
        .manner = {.temperature = 0.7, .top_p = 0.95, .seed = -1},
        .thinking = true,
    };
    const struct cli_option options[] = {
        OPTION_STRING(0, "system", &arguments.system, "TEXT", "the system message"),
        OPTION_FLAG(0, "thinking", &arguments.thinking,
                    "reasoning before the answer (Qwen3; --no-thinking)"),
        LM_MANNER_OPTIONS(&arguments.manner),
        LM_WHERE_OPTIONS(&arguments.where),
        OPTION_END,
    };
    return cli_run(call, options, chat_run, &arguments);
}
