/* runs watch: a live view of a run; on a terminal a picture that is redrawn when it changes,
 * elsewhere a line for each step. */
#include "cli/runs/runs.h"

#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/runs/screen.h"
#include "cli/runs/watch_web.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define LOOK_MS 300
#define SCREEN_BYTES ((size_t)1 << 20)
#define ENTER "\033[?1049h\033[?25l" /* alternate screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static bool says_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* Unbuffered keys without echo; Ctrl-C stays a signal, Ctrl-Z is off: it would leave the
 * terminal in this mode. */
static bool take_keyboard(struct termios *before)
{
    struct termios raw;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, before) < 0)
        return false;
    raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void write_terminal(const char *text)
{
    struct buf out;
    buf_init(&out, SCREEN_BYTES);
    buf_puts(&out, text);
    cli_print(&out);
    buf_deinit(&out);
}

/* Whether q is pressed within LOOK_MS; a change of size ends the wait. */
static bool wants_end(bool keyboard)
{
    struct pollfd keys = {.fd = keyboard ? STDIN_FILENO : -1, .events = POLLIN};
    char key;
    if (poll(&keys, 1, LOOK_MS) <= 0)
        return false;
    ssize_t got = read(STDIN_FILENO, &key, 1);
    return got == 0 || (got == 1 && (key == 'q' || key == 'Q'));
}

static char *last_checkpoint(const struct run_view *view)
{
    json_t *all = NULL;
    struct err ignored;
    char *name = NULL;
    if (run_view_checkpoints(view, &all, &ignored) == 0)
        name = mem_strdup(json_text_at(json_array_get(all, json_array_size(all) - 1), "name"));
    json_decref(all);
    return name ? name : mem_strdup("");
}

/* Clears each line to the terminal's edge: nothing of the previous picture stays. */
static void show_picture(const char *picture)
{
    struct buf out;
    buf_init(&out, SCREEN_BYTES);
    buf_puts(&out, "\033[H");
    while (*picture) {
        size_t length = strcspn(picture, "\n");
        buf_append(&out, picture, length);
        picture += length + (picture[length] == '\n');
        buf_puts(&out, *picture ? "\033[K\n" : "\033[K");
    }
    buf_puts(&out, "\033[J");
    cli_print(&out);
    buf_deinit(&out);
}

static struct runs_screen measure_screen(void)
{
    struct winsize size = {0};
    struct runs_screen screen = {.width = 80, .height = 24, .utf8 = says_utf8()};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        screen.width = size.ws_col;
        screen.height = size.ws_row;
    }
    screen.colour = style_wanted(STDOUT_FILENO);
    return screen;
}

static int watch_terminal(struct run_view *view, struct err *err)
{
    struct termios before;
    char *shown = mem_strdup("");
    bool keyboard = take_keyboard(&before);
    int result = 0;
    write_terminal(ENTER);
    do {
        struct runs_screen screen = measure_screen();
        char *checkpoint = last_checkpoint(view);
        struct buf picture;
        buf_init(&picture, SCREEN_BYTES);
        runs_screen_draw(view, checkpoint, &screen, &picture);
        if (strcmp(picture.data, shown) != 0)
            show_picture(picture.data);
        mem_free(shown);
        shown = buf_take(&picture);
        buf_deinit(&picture);
        mem_free(checkpoint);
        if (wants_end(keyboard))
            break;
        result = run_view_read(view, err);
    } while (result == 0 && !cli_cancelled);
    write_terminal(LEAVE);
    if (keyboard)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    write_terminal(shown); /* the last picture stays */
    mem_free(shown);
    return result;
}

/* A row is complete when the next one has begun, or the process has ended: an evaluation may add
 * to it. */
static int watch_pipe(struct run_view *view, struct err *err)
{
    uint64_t next = 0;
    bool any = false;
    for (;;) {
        bool running = view->state == RUN_STATE_RUNNING;
        const struct run_series *series = &view->series;
        size_t whole = running && series->count > 0 ? series->count - 1 : series->count;
        struct buf out;
        buf_init(&out, SCREEN_BYTES * 64);
        for (size_t i = 0; i < whole; i++)
            if (!any || series->steps[i] >= next) {
                runs_screen_line(view, i, &out);
                next = series->steps[i] + 1;
                any = true;
            }
        cli_print(&out);
        buf_deinit(&out);
        if (!running || cli_cancelled)
            break;
        poll(NULL, 0, LOOK_MS);
        int result = run_view_read(view, err);
        if (result < 0)
            return result;
    }
    struct buf out;
    buf_init(&out, SCREEN_BYTES);
    buf_printf(&out, "%s: %s\n", view->path, run_state_names[view->state]);
    cli_print(&out);
    buf_deinit(&out);
    return 0;
}

struct arguments {
    bool plain, web;
    const char *listen;
};

static int watch(struct cli_call *call, struct run_view *view, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    const char *terminal = getenv("TERM");
    bool can_draw = isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    return arguments->plain || !can_draw ? watch_pipe(view, err) : watch_terminal(view, err);
}

static int runs_watch_run(struct cli_call *call, void *context, struct err *err)
{
    struct arguments *arguments = context;
    if (arguments->web)
        return runs_watch_web(call, err);
    if (call->words.count != 1)
        return cli_usage(call, "give one run, or --web");
    cli_catch_signals();
    return runs_do(call, RUN_SERIES_ALL, watch, arguments, err);
}

int runs_watch_main(struct cli_call *call)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "plain", &arguments.plain, "a line for each step, as in a pipe"),
        OPTION_FLAG(0, "web", &arguments.web,
                    "serve a page for a browser instead (docs/guide/dashboard.md)"),
        OPTION_SETTING('l', "listen", &arguments.listen, "ADDRESS:PORT",
                       "with --web: where to serve; port 0, the default: a free one",
                       .setting = "server.listen", .standard = "127.0.0.1:0"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, runs_watch_run, &arguments);
}
