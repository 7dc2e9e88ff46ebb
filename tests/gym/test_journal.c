/* Lines that a kill leaves whole: what is cut, what is refused, which processes are kept out. */
#include "gym/episode/journal.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 4
#define CHILD_LINES 200

static char *path;

FIXTURE(set_up)
{
    path = support_text("%s/journal", support_directory());
    return 0;
}

static void put(const char *text)
{
    struct err err;
    assert_ok(file_write_atomic(path, text, strlen(text), 0644, &err), &err);
}

static int gather(void *context, const json_t *object, struct err *err)
{
    struct buf *seen = context;
    buf_printf(seen, "%lld,", (long long)json_integer_value(json_object_get(object, "n")));
    return 0;
}

/* What is in the file, what is read of it, and what is left of it once one line was appended. */
static const struct {
    const char *before, *seen, *after;
} rows[] = {
    {"", "", "{\"n\":9}\n"},
    {"{\"n\":1}\n{\"n\":2}\n", "1,2,", "{\"n\":1}\n{\"n\":2}\n{\"n\":9}\n"},
    {"{\"n\":1}\n{\"n\":2", "1,", "{\"n\":1}\n{\"n\":9}\n"},
    {"{\"n\":1}\n{\"n\":2}", "1,", "{\"n\":1}\n{\"n\":9}\n"}, /* without its end it is not whole */
    {"{\"n\"", "", "{\"n\":9}\n"},
};

TEST_EACH(set_up, NULL);

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct journal journal;
        struct buf seen;
        struct err err;
        char *text;
        size_t bytes;
        json_t *nine = json_pack("{s:i}", "n", 9);
        buf_init(&seen, 1024);
        put(rows[i].before);
        if (journal_open(&journal, path, false, gather, &seen, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(seen.data, rows[i].seen);
        assert_int_equal(journal_append(&journal, nine, &err), 0);
        journal_close(&journal);
        assert_int_equal(file_read(path, 4096, &text, &bytes, &err), 0);
        assert_string_equal(text, rows[i].after);
        mem_free(text);
        buf_deinit(&seen);
    }
}

TEST(refused)
{
    static const char *const texts[] = {"{\"n\":1}\nno\n", "{\"n\":1}\n[1]\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct journal journal;
        struct buf seen;
        struct err err;
        buf_init(&seen, 1024);
        put(texts[i]);
        assert_int_equal(journal_open(&journal, path, false, gather, &seen, &err), ERR_INPUT);
        assert_non_null(strstr(err.text, "journal:2"));
        buf_deinit(&seen);
    }
}

/* Another process has it: no other one writes; a child that lives on holds no lock. */
TEST(one_writer)
{
    struct journal journal;
    struct err err;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (journal_open(&journal, path, false, NULL, NULL, &err) < 0)
            _exit(1);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(journal_open(&journal, path, false, NULL, NULL, &err), ERR_IO);
    assert_non_null(strstr(err.text, "another process"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(journal_open(&journal, path, false, NULL, NULL, &err), 0);
    journal_close(&journal);
    close(ready[0]);
    close(ready[1]);
}

static int check_next(void *context, const json_t *object, struct err *err)
{
    json_int_t *next = context;
    if (json_integer_value(json_object_get(object, "n")) != (*next)++)
        return err_set(err, ERR_PROTOCOL, "line %lld is missing", (long long)*next - 1);
    return 0;
}

/* Killed somewhere in between, again and again: every line that it said it had written is there. */
TEST(killed)
{
    json_int_t sent = 0;
    for (int i = 0; i < LINES; i++) {
        struct journal journal;
        json_int_t next = 0, sent_now;
        int said[2];
        assert_int_equal(pipe(said), 0);
        pid_t child = fork();
        if (child == 0) {
            if (journal_open(&journal, path, false, check_next, &next, NULL) < 0)
                _exit(1);
            for (;; next++) {
                json_t *line = json_pack("{s:I, s:s}", "n", next, "text", "abcdefgh");
                if (journal_append(&journal, line, NULL) < 0 ||
                    write(said[1], &next, sizeof next) != sizeof next)
                    _exit(1);
            }
        }
        for (int k = 0; k < CHILD_LINES && read(said[0], &sent_now, sizeof sent_now) > 0; k++)
            sent = sent_now;
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        close(said[0]);
        close(said[1]);
        next = 0;
        assert_int_equal(journal_open(&journal, path, false, check_next, &next, NULL), 0);
        assert_true(next > sent);
        journal_close(&journal);
    }
}
