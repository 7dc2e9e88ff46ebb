#include "cli/cli.h"

#include "base/file.h"
#include "base/log.h"
#include "base/log_settings.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/table.h"
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
#define HELP_BYTES ((size_t)256 << 10)

_Atomic int cli_cancelled;
/* --config, an implicit option of every command that has settings. */
static const char *config_file;

const struct cli_command *cli_command_of(int (*run)(int argc, char **argv))
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (command->run == run)
            return command;
    return NULL;
}

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

void cli_print_json(const json_t *object, size_t max_bytes)
{
    struct buf out;
    buf_init(&out, max_bytes);
    if (json_line_write(object, &out, NULL) == 0)
        cli_print(&out);
    buf_deinit(&out);
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

int cli_result(int result, const struct err *err)
{
    return result < 0 ? cli_fail_err(err) : EXIT_PASSED;
}

int cli_usage(int (*run)(int argc, char **argv), const char *format, ...)
{
    const char *name = cli_command_of(run)->name;
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

/* The command's options, plus --config if it has --set; the caller's. */
static struct cli_option *with_common(const struct cli_option *options)
{
    const struct cli_option common = OPTION_STRING(
        0, "config", &config_file, "FILE",
        "settings; else $WARPGYM_CONFIG, ~/.config/warpgym/config.yaml, /etc/warpgym/config.yaml");
    size_t count = 0;
    bool has_settings = false;
    for (; options[count].kind != CLI_OPTION_END; count++)
        has_settings |= options[count].name && strcmp(options[count].name, "set") == 0;
    struct cli_option *all = mem_alloc((count + 2) * sizeof *all);
    memcpy(all, options, count * sizeof *all);
    if (has_settings)
        all[count++] = common;
    all[count].kind = CLI_OPTION_END;
    return all;
}

bool cli_parse(int (*run)(int argc, char **argv), const struct cli_option *options, int argc,
               char **argv, struct cli_words *words, int *status)
{
    struct err err;
    struct cli_words none = {0}, *found = words ? words : &none;
    struct cli_option *all = with_common(options);
    int result = options_parse(all, argc, argv, found, &err);
    *status = EXIT_PASSED;
    if (result == OPTIONS_HELP) {
        struct buf help;
        buf_init(&help, HELP_BYTES);
        options_help(cli_command_of(run), all, "warpgym", style_width(STDOUT_FILENO), &help);
        cli_print(&help);
        buf_deinit(&help);
    } else if (result < 0) {
        *status = cli_fail(EXIT_USAGE, "%s; try `warpgym %s --help`", err.text,
                           cli_command_of(run)->name);
    } else if (none.count > 0) {
        *status = cli_usage(run, "unexpected argument '%.100s'", none.items[0]);
    }
    bool goes_on = result == 0 && none.count == 0;
    mem_free(all);
    cli_words_deinit(&none);
    if (!goes_on)
        cli_end(options, words, EXIT_USAGE);
    return goes_on;
}

int cli_end(const struct cli_option *options, struct cli_words *words, int status)
{
    for (; options->kind != CLI_OPTION_END; options++)
        if (options->kind == CLI_OPTION_LIST)
            cli_words_deinit(options->value);
    if (words)
        cli_words_deinit(words);
    return status;
}

void cli_setting_errors(const struct setting_errors *errors)
{
    const char *text;
    for (size_t i = 0; (text = setting_errors_at(errors, i)); i++)
        cli_fail(0, "%s", text);
}

/* What was read, with the aliases of a command. */
static bool finish_settings(struct settings *settings, const struct cli_alias *aliases,
                            size_t count)
{
    struct err err;
    for (size_t i = 0; i < count; i++) {
        const struct cli_alias *alias = &aliases[i];
        const char *value = alias->value;
        if (!value && settings_origin(settings, alias->setting) == ORIGIN_DEFAULT)
            value = alias->standard;
        if (value && settings_set(settings, alias->setting, value, ORIGIN_COMMAND_LINE, &err) < 0) {
            err_prefix(&err, "%s", alias->option);
            setting_errors_add(&settings->errors, &err);
        }
    }
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

static void read_settings(struct settings *settings, const char *file,
                          const char *const *assignments, size_t count)
{
    settings_init(settings);
    (void)!settings_load(settings, file, NULL);
    for (size_t i = 0; i < count; i++)
        (void)!settings_assign(settings, assignments[i], NULL);
}

bool cli_settings(struct settings *settings, const struct cli_words *assignments)
{
    return cli_settings_of(settings, config_file, assignments->items, assignments->count);
}

bool cli_settings_of(struct settings *settings, const char *file, const char *const *assignments,
                     size_t count)
{
    read_settings(settings, file, assignments, count);
    return finish_settings(settings, NULL, 0);
}

/* glibc gives each of many threads an arena, eight per processor, and keeps freed memory in
 * each: a server over a file grew to 260 MB so, and stays at 70 with these. */
static void use_few_arenas(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int arenas = processors < 2 ? 2 : processors > ARENAS_MOST ? ARENAS_MOST : (int)processors;
    mallopt(M_ARENA_MAX, arenas);
}

static void prepare_service(const struct settings *settings)
{
    use_few_arenas();
    if (settings_origin(settings, "log.level") == ORIGIN_DEFAULT)
        log_set_level(LOG_LEVEL_INFO);
    if (settings_origin(settings, "log.format") == ORIGIN_DEFAULT)
        log_set_format(LOG_FORMAT_JSON);
}

int cli_run_with_settings(const struct cli_words *assignments, const struct cli_alias *aliases,
                          size_t count, bool service,
                          int (*run)(const void *arguments, const struct settings *settings),
                          const void *arguments)
{
    struct settings settings;
    read_settings(&settings, config_file, assignments->items, assignments->count);
    if (!finish_settings(&settings, aliases, count))
        return EXIT_USAGE;
    if (service)
        prepare_service(&settings);
    cli_catch_signals();
    int status = run(arguments, &settings);
    settings_deinit(&settings);
    return status;
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
