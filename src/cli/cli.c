#include "cli/cli.h"

#include "base/file.h"
#include "base/log.h"
#include "base/log_settings.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/search_paths.h"
#include "judge/request/language.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ARENAS_MOST 8
#define LOOK_MS 100
#define OUT_BYTES ((size_t)512 << 20)

_Atomic int cli_cancelled;

void cli_print(const struct buf *out)
{
    size_t done = 0;
    while (done < out->len) {
        ssize_t written = write(STDOUT_FILENO, out->data + done, out->len - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            exit(errno == EPIPE
                     ? EXIT_PASSED
                     : cli_fail(EXIT_INFRASTRUCTURE, "standard output: %s", strerror(errno)));
        done += (size_t)written;
    }
}

int cli_write(const struct buf *out, const char *path, struct err *err)
{
    if (strcmp(path, "-") != 0)
        return file_write_atomic(path, out->data, out->len, 0644, err);
    cli_print(out);
    return 0;
}

int cli_check_output(const struct cli_call *call, const char *option, const char *path,
                     const char *read, struct err *err)
{
    bool same = path && read && file_same(path, read);
    for (size_t i = 0; path && !same && i < call->words.count; i++)
        same = file_same(path, call->words.items[i]);
    return same ? err_set(err, ERR_INPUT,
                          "%s %s: it is read, and would be written over; name another file", option,
                          path)
                : 0;
}

void cli_print_json(json_t *object)
{
    struct buf out;
    buf_init(&out, OUT_BYTES);
    if (json_line_write(object, &out, NULL) == 0)
        cli_print(&out);
    buf_deinit(&out);
    json_decref(object);
}

void cli_flush(struct cli_call *call)
{
    cli_print(&call->out);
    buf_reset(&call->out);
}

void cli_put_json(struct cli_call *call, json_t *object)
{
    (void)!json_line_write(object, &call->out, NULL);
    json_decref(object);
}

void cli_put_table(struct cli_call *call, struct table *table)
{
    table_render(table, style_wanted(STDOUT_FILENO), &call->out);
    table_free(table);
}

int cli_fail(int status, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printable_text(text, true);
    fprintf(stderr, "warpgym: %s\n", text);
    return status;
}

int cli_fail_err(const struct err *err)
{
    return cli_fail(cli_status(err), "%s", err->text);
}

int cli_usage(const struct cli_call *call, const char *format, ...)
{
    const char *name = call->command->name;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli_fail(EXIT_USAGE, "%s: %s; try `warpgym %s --help`", name, text, name);
}

int cli_status(const struct err *err)
{
    switch (err->code) {
    case ERR_INPUT:
    case ERR_MISSING:
    case ERR_LIMIT:
        return EXIT_USAGE;
    case ERR_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_INFRASTRUCTURE;
    }
}

/* The list of the options that goes into `list` of the call. */
static bool has_list(const struct cli_option *options, const struct cli_words *list)
{
    while (options->kind != CLI_OPTION_END && options->value != list)
        options++;
    return options->kind != CLI_OPTION_END;
}

/* The options with the call's own lists, and --config beside --set; the caller's. */
static struct cli_option *complete_options(struct cli_call *call, const struct cli_option *options)
{
    const struct cli_option config = OPTION_STRING(
        0, "config", &call->config, "FILE",
        "settings; else $WARPGYM_CONFIG, ~/.config/warpgym/config.yaml, /etc/warpgym/config.yaml");
    size_t count = 0;
    while (options[count].kind != CLI_OPTION_END)
        count++;
    struct cli_option *all = mem_alloc((count + 2) * sizeof *all);
    memcpy(all, options, (count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        if (all[i].kind == CLI_OPTION_LIST && !all[i].value)
            all[i].value = strcmp(all[i].name, "set") == 0 ? &call->sets : &call->problems;
    if (has_list(all, &call->sets)) {
        all[count++] = config;
        all[count].kind = CLI_OPTION_END;
    }
    return all;
}

/* False: help or an error is all there is to say; end with *status. */
static bool parse_call(struct cli_call *call, const struct cli_option *options, int *status)
{
    const struct cli_command *command = call->command;
    struct err err;
    int result = options_parse(options, call->argc, call->argv, &call->words, &err);
    size_t count = call->words.count;
    *status = EXIT_PASSED;
    if (result == OPTIONS_HELP)
        options_help(command, options, "warpgym", style_width(STDOUT_FILENO), &call->out);
    else if (result < 0)
        *status = cli_fail(EXIT_USAGE, "%s; try `warpgym %s --help`", err.text, command->name);
    else if (!command->arguments && count > 0)
        *status = cli_usage(call, "unexpected argument '%.100s'", call->words.items[0]);
    else if (command->words.wanted && (count < command->words.least || count > command->words.most))
        *status = cli_usage(call, "name %s", command->words.wanted);
    return result == 0 && *status == EXIT_PASSED;
}

void cli_setting_errors(const struct setting_errors *errors)
{
    const char *text;
    for (size_t i = 0; (text = setting_errors_at(errors, i)); i++)
        cli_fail(0, "%s", text);
}

static void read_settings(struct settings *settings, const char *file,
                          const char *const *assignments, size_t count)
{
    settings_init(settings);
    (void)!settings_load(settings, file, NULL);
    for (size_t i = 0; i < count; i++)
        (void)!settings_assign(settings, assignments[i], NULL);
}

static bool finish_settings(struct settings *settings)
{
    (void)!settings_check(settings, NULL);
    if (settings->errors.code != 0) {
        cli_setting_errors(&settings->errors);
        settings_deinit(settings);
        return false;
    }
    log_set_level(log_settings(settings)->level);
    log_set_format(log_settings(settings)->format);
    return true;
}

bool cli_settings_of(struct settings *settings, const char *file, const char *const *assignments,
                     size_t count)
{
    read_settings(settings, file, assignments, count);
    return finish_settings(settings);
}

/* The value of an option that is a setting by another name. */
static void assign_option(struct settings *settings, const struct cli_option *option)
{
    struct err err;
    const char *value = *(const char **)option->value;
    if (!value && settings_origin(settings, option->setting) == ORIGIN_DEFAULT)
        value = option->standard;
    if (value && option->except && strcmp(value, option->except) == 0)
        return;
    if (value && settings_set(settings, option->setting, value, ORIGIN_COMMAND_LINE, &err) < 0) {
        err_prefix(&err, "--%s", option->name);
        setting_errors_add(&settings->errors, &err);
    }
}

/* False after it has printed every error. */
static bool open_settings(struct cli_call *call, const struct cli_option *options)
{
    read_settings(&call->settings, call->config, call->sets.items, call->sets.count);
    for (; options->kind != CLI_OPTION_END; options++)
        if (options->setting)
            assign_option(&call->settings, options);
    return finish_settings(&call->settings);
}

int cli_run(struct cli_call *call, const struct cli_option *options, cli_work *work,
            void *arguments)
{
    struct cli_option *all = complete_options(call, options);
    if (call->visit) {
        call->visit(call->command, all, call->visitor);
        mem_free(all);
        return EXIT_PASSED;
    }
    bool has_settings = has_list(all, &call->sets), has_problems = has_list(all, &call->problems);
    struct err err = {0};
    int status;
    buf_init(&call->out, OUT_BYTES);
    bool runs = parse_call(call, all, &status);
    if (runs && has_settings && !open_settings(call, all)) {
        status = EXIT_USAGE;
        runs = has_settings = false;
    }
    if (runs) {
        if (has_problems)
            status = cli_search_paths(&call->problems, &call->settings, &call->search_paths, &err);
        if (status == 0)
            status = work(call, arguments, &err);
    }
    cli_print(&call->out);
    if (status < 0)
        status = cli_fail_err(&err);
    buf_deinit(&call->out);
    paths_list_deinit(&call->search_paths);
    if (has_settings)
        settings_deinit(&call->settings);
    for (const struct cli_option *option = all; option->kind != CLI_OPTION_END; option++)
        if (option->kind == CLI_OPTION_LIST)
            cli_words_deinit(option->value);
    cli_words_deinit(&call->words);
    mem_free(all);
    return status;
}

void cli_each_command(cli_visit *visit, void *context)
{
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        struct cli_call call = {.command = command, .visit = visit, .visitor = context};
        (void)!command->run(&call);
    }
}

/* glibc gives each of many threads an arena, eight per processor, and keeps freed memory in
 * each: a server over a file grew to 260 MB so, and stays at 70 with these. */
static void use_few_arenas(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int arenas = processors < 2 ? 2 : processors > ARENAS_MOST ? ARENAS_MOST : (int)processors;
    mallopt(M_ARENA_MAX, arenas);
}

void cli_begin_service(const struct settings *settings)
{
    use_few_arenas();
    if (settings_origin(settings, "log.level") == ORIGIN_DEFAULT)
        log_set_level(LOG_LEVEL_INFO);
    if (settings_origin(settings, "log.format") == ORIGIN_DEFAULT)
        log_set_format(LOG_FORMAT_JSON);
    cli_catch_signals();
}

const char *cli_languages(const char *what, char text[CLI_LANGUAGES_BYTES])
{
    size_t used = (size_t)snprintf(text, CLI_LANGUAGES_BYTES, "%s: ", what);
    language_names(text + used, CLI_LANGUAGES_BYTES - used);
    return text;
}

static void on_signal(int signal)
{
    if (cli_cancelled)
        _exit(128 + signal);
    cli_cancelled = 1;
}

void cli_wait_for_signal(void)
{
    while (!cli_cancelled)
        (void)poll(NULL, 0, LOOK_MS);
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

const char *cli_new_run(char *text, size_t bytes)
{
    time_t now = time(NULL);
    struct tm local;
    size_t used = strftime(text, bytes, "runs/%Y%m%d-%H%M%S", localtime_r(&now, &local));
    for (int number = 2; access(text, F_OK) == 0; number++)
        snprintf(text + used, bytes - used, "-%d", number);
    return text;
}
