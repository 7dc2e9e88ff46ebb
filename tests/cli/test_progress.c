#include "../support/test.h"
#include "cli/progress.h"

#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct {
    struct progress_state state;
    int width;
    bool bar;
    const char *line;
} rows[] = {
    {{"eval", 400, 0, 0, 0, 0, 0, NULL},
     80,
     true,
     "eval [..............................] 0/400, 0 passed"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL},
     100,
     true,
     "eval [#######.......................] 100/400, 98 passed, 2 failed, 10/s, 30 s left"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL},
     60,
     true,
     "eval [#......] 100/400, 98 passed, 2 failed, 10/s, 30 s left"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL},
     50,
     true,
     "eval 100/400, 98 passed, 2 failed, 10/s, 30 s left"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL}, 45, true, "eval 100/400, 98 passed, 2 failed, 10/s"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL}, 12, true, "eval 100/400"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL}, 3, true, "eva"},
    {{"eval", 400, 100, 98, 2, 10, 0, NULL}, 0, true, ""},
    {{"eval", 400, 100, 100, 0, 1000, 0, NULL},
     200,
     false,
     "eval 100/400, 100 passed, 0.1/s, 50:00 min left"},
    {{"eval", 400, 400, 400, 0, 7300, 0, NULL},
     200,
     false,
     "eval 400/400, 400 passed, 0.1/s in 2:01 h"},
    {{"eval", 400, 300, 300, 0, 10, 250, NULL},
     200,
     false,
     "eval 300/400, 300 passed, 5.0/s, 20 s left"},
    {{"eval", 0, 7, 7, 0, 1, 0, NULL}, 80, true, "eval 7, 7 passed, 7.0/s"},
    {{"eval", UINT64_MAX, 1, 1, 0, 1e9, 0, NULL},
     200,
     false,
     "eval 1/18446744073709551615, 1 passed, 0.0/s, 99:59 h left"},
    {{"eval", 2, 3, 3, 0, 1, 0, NULL},
     60,
     true,
     "eval [#########################] 3/2, 3 passed, 3.0/s in 1 s"},
    {{"training", 400, 100, 100, 0, 10, 0, "loss 1.234, 900 tokens/s"},
     100,
     false,
     "training 100/400, loss 1.234, 900 tokens/s, 30 s left"},
    {{"training", 400, 400, 400, 0, 10, 0, "loss 1.234"}, 30, true, "training 400/400, loss 1.234"},
};

TEST(render)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[256];
        progress_render(&rows[i].state, rows[i].width, rows[i].bar, line, sizeof line);
        if (strlen(line) > (size_t)rows[i].width)
            fail_msg("row %zu: too wide: %s", i, line);
        assert_string_equal(line, rows[i].line);
    }
}

/* What has arrived at the other end, as one string. */
static void received(int fd, char *text, size_t text_bytes)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    size_t used = 0;
    ssize_t got;
    while (used + 1 < text_bytes && (got = read(fd, text + used, text_bytes - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

TEST(a_short_batch_into_a_pipe_is_silent)
{
    int ends[2];
    char text[1000];
    assert_int_equal(pipe(ends), 0);
    struct progress *progress = progress_new(ends[1], "eval", 3, false);
    for (int i = 0; i < 3; i++)
        progress_add(progress, true);
    progress_hide(progress);
    progress_show(progress);
    progress_free(progress);
    received(ends[0], text, sizeof text);
    assert_string_equal(text, "");
    close(ends[0]);
    close(ends[1]);
}

TEST(on_a_terminal)
{
    int master, terminal;
    char text[4000];
    struct winsize size = {.ws_row = 24, .ws_col = 30};
    setenv("TERM", "xterm", 1);
    assert_int_equal(openpty(&master, &terminal, NULL, NULL, &size), 0);
    struct progress *progress = progress_new(terminal, "eval", 3, false);
    progress_add(progress, true);
    support_pause(120);
    progress_add(progress, false);
    received(master, text, sizeof text);
    assert_string_equal(text, "\r\033[Keval 2/3, 1 passed, 1 failed");
    progress_hide(progress);
    progress_hide(progress);
    received(master, text, sizeof text);
    assert_string_equal(text, "\r\033[K");
    support_pause(120);
    progress_add(progress, true); /* hidden: nothing may appear */
    progress_show(progress);
    received(master, text, sizeof text);
    assert_string_equal(text, "");
    progress_show(progress);
    received(master, text, sizeof text);
    assert_string_equal(text, "\r\033[Keval 3/3, 2 passed, 1 failed");
    progress_free(progress);
    received(master, text, sizeof text);
    assert_non_null(strstr(text, "3/3, 2 passed, 1 failed\r\n"));

    progress = progress_new(terminal, "eval", 3, true);
    support_pause(120);
    progress_add(progress, true);
    progress_tick(progress);
    progress_free(progress);
    progress_free(NULL);
    received(master, text, sizeof text);
    assert_string_equal(text, "");
    close(master);
    close(terminal);
}

static void *add_many(void *progress)
{
    for (int i = 0; i < 1000; i++) {
        progress_add(progress, i % 2 == 0);
        progress_hide(progress);
        progress_show(progress);
    }
    return NULL;
}

TEST(threads)
{
    int nothing = open("/dev/null", O_WRONLY);
    struct progress *progress = progress_new(nothing, "eval", 4000, false);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, progress), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    progress_free(progress);
    close(nothing);
}
