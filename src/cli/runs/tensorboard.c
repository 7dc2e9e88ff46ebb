/* runs tensorboard: TensorBoard on the event files of runs. */
#include "cli/runs/runs.h"

#include "base/file.h"
#include "base/mem.h"
#include "rl/run/tensorboard.h"

#include <errno.h>
#include <stdio.h>
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

/* Quoted for a shell. */
static void put_command(char *const *arguments, struct buf *out)
{
    for (size_t i = 0; arguments[i]; i++) {
        buf_puts(out, i ? " " : "");
        if (strspn(arguments[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-_=/.,:+@%") == strlen(arguments[i])) {
            buf_puts(out, arguments[i]);
            continue;
        }
        buf_puts(out, "'");
        for (const char *at = arguments[i]; *at; at++)
            buf_puts(out, *at == '\'' ? "'\\''" : (char[]){*at, '\0'});
        buf_puts(out, "'");
    }
    buf_puts(out, "\n");
}

struct arguments {
    int64_t port;
    bool print;
};

static int start_tensorboard(const struct arguments *arguments, const char *where, struct buf *out)
{
    char name[] = "tensorboard", number[32];
    snprintf(number, sizeof number, "--port=%d", (int)arguments->port);
    char *const words[] = {name, (char *)where, number, NULL};
    if (!arguments->print) {
        execvp(name, words);
        if (errno != ENOENT)
            return cli_fail(EXIT_INFRASTRUCTURE, "tensorboard: %s", strerror(errno));
    }
    put_command(words, out);
    if (!arguments->print)
        fprintf(stderr, "warpgym: tensorboard is not on the PATH (pip install tensorboard); this "
                        "is the command\n");
    return EXIT_PASSED;
}

static int tensorboard_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct buf where;
    buf_init(&where, COMMAND_BYTES);
    int result = where_to_look(&call->words, &where, err);
    if (result == 0)
        result = start_tensorboard(arguments, where.data, &call->out);
    buf_deinit(&where);
    return result;
}

int runs_tensorboard_main(struct cli_call *call)
{
    struct arguments arguments = {.port = 6006};
    const struct cli_option options[] = {
        OPTION_INT('p', "port", &arguments.port, 0, 65535, "N", "its port; 6006"),
        OPTION_FLAG(0, "print", &arguments.print, "only print the command"),
        OPTION_END,
    };
    return cli_run(call, options, tensorboard_run, &arguments);
}
