/* runs tensorboard: TensorBoard on the event files of runs. */
#include "cli/runs/runs.h"

#include "base/file.h"
#include "base/mem.h"
#include "rl/run/tensorboard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_BYTES ((size_t)1 << 20)

/* One run: its directory. Several: NAME:DIRECTORY,…; none: all in ./runs. */
static int where_to_look(const struct cli_words *words, struct buf *out, struct err *err)
{
    if (words->count == 0) {
        buf_puts(out, "--logdir=" RUNS_HOME);
        return file_is_directory(RUNS_HOME)
                   ? 0
                   : err_set(err, ERR_MISSING, "no directory ./" RUNS_HOME "; name a run");
    }
    buf_puts(out, words->count == 1 ? "--logdir=" : "--logdir_spec=");
    for (size_t i = 0; i < words->count; i++) {
        struct run_view view;
        int result = runs_open(&view, words->items[i], 0, err);
        if (result < 0)
            return result;
        char *events = mem_printf("%s/" TENSORBOARD_DIRECTORY, view.path);
        if (!file_is_directory(events))
            result = err_set(err, ERR_INPUT, "%s has no event files%s", view.path,
                             view.kind == RUN_SFT ? "; `warpgym lm train` writes none" : " yet");
        else if (words->count == 1)
            buf_puts(out, events);
        else
            buf_printf(out, "%s%s:%s", i ? "," : "", view.name, events);
        mem_free(events);
        run_view_close(&view);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool is_installed(const char *program)
{
    const char *path = getenv("PATH");
    char *all = mem_strdup(path ? path : ""), *rest = all;
    bool found = false;
    for (char *directory; !found && (directory = strsep(&rest, ":"));) {
        char *file = mem_printf("%s/%s", *directory ? directory : ".", program);
        found = file_exists(file) && access(file, X_OK) == 0;
        mem_free(file);
    }
    mem_free(all);
    return found;
}

/* Quoted for a shell. */
static void print_command(char *const *arguments)
{
    struct buf out;
    buf_init(&out, COMMAND_BYTES);
    for (size_t i = 0; arguments[i]; i++) {
        buf_puts(&out, i ? " " : "");
        if (strspn(arguments[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-_=/.,:+@%") == strlen(arguments[i])) {
            buf_puts(&out, arguments[i]);
            continue;
        }
        buf_puts(&out, "'");
        for (const char *at = arguments[i]; *at; at++)
            buf_puts(&out, *at == '\'' ? "'\\''" : (char[]){*at, '\0'});
        buf_puts(&out, "'");
    }
    buf_puts(&out, "\n");
    cli_print(&out);
    buf_deinit(&out);
}

static int start_tensorboard(const char *where, int64_t port, bool print)
{
    char name[] = "tensorboard", number[32];
    snprintf(number, sizeof number, "--port=%d", (int)port);
    char *const arguments[] = {name, (char *)where, number, NULL};
    bool installed = is_installed(arguments[0]);
    if (installed && !print) {
        execvp(arguments[0], arguments);
        return cli_fail(EXIT_INFRASTRUCTURE, "tensorboard: %s", strerror(errno));
    }
    print_command(arguments);
    if (!installed)
        fprintf(stderr, "warpgym: tensorboard is not on the PATH (pip install tensorboard); this "
                        "is the command\n");
    return EXIT_PASSED;
}

int runs_tensorboard_main(int argc, char **argv)
{
    struct cli_words words = {0};
    struct buf where;
    struct err err;
    int64_t port = 6006;
    bool print = false;
    int status;
    const struct cli_option options[] = {
        OPTION_INT('p', "port", &port, 0, 65535, "N", "its port; 6006"),
        OPTION_FLAG(0, "print", &print, "only print the command"),
        OPTION_END,
    };
    if (!cli_parse(runs_tensorboard_main, options, argc, argv, &words, &status))
        return status;
    buf_init(&where, COMMAND_BYTES);
    if (where_to_look(&words, &where, &err) < 0)
        status = cli_fail_err(&err);
    else
        status = start_tensorboard(where.data, port, print);
    buf_deinit(&where);
    return cli_end(options, &words, status);
}
