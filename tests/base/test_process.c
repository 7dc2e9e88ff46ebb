#include "base/process.h"

#include "../support/test.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const environment[] = {"PATH=/usr/bin:/bin", "MARK=yes", NULL};

static struct command shell(const char *const argv[4])
{
    return (struct command){.argv = argv, .environment = environment, .timeout_ms = 10000};
}

static void run(const char *script, const struct command *changes, struct outcome *outcome)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct command command = shell(argv);
    if (changes) {
        command.timeout_ms = changes->timeout_ms ? changes->timeout_ms : command.timeout_ms;
        command.memory_bytes = changes->memory_bytes;
        command.file_bytes = changes->file_bytes;
        command.directory = changes->directory;
    }
    struct err err = {0};
    int result = process_runner.run(&process_runner, &command, outcome, &err);
    if (result != 0)
        fail_msg("%s: %s", script, err.text);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static const struct {
    const char *script;
    int exit_code, signal;
    const char *output;
} ends[] = {
    {"exit 0", 0, 0, ""},
    {"exit 7", 7, 0, ""},
    {"exit 255", 255, 0, ""},
    {"echo out; echo err >&2", 0, 0, "out\nerr\n"},
    {"kill -SEGV $$", -1, SIGSEGV, ""},
    {"kill -KILL $$", -1, SIGKILL, ""},
    {"printf a; sleep 0.05; printf b", 0, 0, "ab"},
    {"echo $MARK$HOME", 0, 0, "yes\n"},
    {"cat; echo end", 0, 0, "end\n"},
    {"ls /proc/self/fd | tr '\\n' ' '", 0, 0, "0 1 2 3 "},
    {"ulimit -c; ulimit -Hc", 0, 0, "0\n0\n"},
    {"trap '' PIPE; trap", 0, 0, "trap -- '' PIPE\n"},
    {"read a b c d e sid f </proc/$$/stat; test $sid -eq $$ && echo leader", 0, 0, "leader\n"},
    /* A child left behind holds the pipe; it ends with the session and costs no time. */
    {"sleep 1000 & echo left", 0, 0, "left\n"},
    {"(setsid sleep 0.3 &) ; echo away", 0, 0, "away\n"},
};

TEST(ends)
{
    int extra = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct outcome outcome;
        outcome_init(&outcome, 1000);
        run(ends[i].script, NULL, &outcome);
        if (strcmp(outcome.output.data, ends[i].output) != 0)
            fail_msg("%s: printed '%s'", ends[i].script, outcome.output.data);
        assert_int_equal(outcome.exit_code, ends[i].exit_code);
        assert_int_equal(outcome.signal, ends[i].signal);
        assert_false(outcome.timed_out);
        assert_true(outcome.elapsed_ms > 0 && outcome.elapsed_ms < 5000);
        outcome_deinit(&outcome);
    }
    close(extra);
    assert_no_child();
}

TEST(timeout_kills_the_whole_session)
{
    static const char *const scripts[] = {
        "echo before; sleep 100",
        "echo before; (sleep 100; echo after) & sleep 100 & wait",
        "echo before; trap '' TERM INT; while :; do :; done",
        "echo before; exec >/dev/null 2>&1; sleep 100",
    };
    for (size_t i = 0; i < COUNT(scripts); i++) {
        struct outcome outcome;
        outcome_init(&outcome, 1000);
        run(scripts[i], &(struct command){.timeout_ms = 150}, &outcome);
        assert_true(outcome.timed_out);
        assert_int_equal(outcome.exit_code, -1);
        assert_int_equal(outcome.signal, SIGKILL);
        assert_string_equal(outcome.output.data, "before\n");
        assert_true(outcome.elapsed_ms >= 150 && outcome.elapsed_ms < 2000);
        outcome_deinit(&outcome);
    }
    assert_no_child();
}

TEST(flood_is_cut)
{
    struct outcome outcome;
    outcome_init(&outcome, 1000);
    run("yes | head -c 3000000", NULL, &outcome);
    assert_int_equal(outcome.exit_code, 0);
    assert_int_equal(outcome.output.len, 1000);
    assert_true(outcome.output.cut);
    outcome_deinit(&outcome);
    outcome_init(&outcome, 1000);
    run("yes", &(struct command){.timeout_ms = 100}, &outcome);
    assert_true(outcome.timed_out);
    outcome_deinit(&outcome);
}

TEST(limits)
{
    char *directory = support_directory();
    struct outcome outcome;
    outcome_init(&outcome, 1000);
    run("head -c 5000 /dev/zero > big; wc -c < big; pwd",
        &(struct command){.file_bytes = 1024, .directory = directory}, &outcome);
    assert_non_null(strstr(outcome.output.data, support_text("1024\n%s\n", directory)));
    outcome_deinit(&outcome);

    outcome_init(&outcome, 1000);
    run("ulimit -v", &(struct command){.memory_bytes = (uint64_t)512 << 20}, &outcome);
    assert_string_equal(outcome.output.data, "524288\n");
    outcome_deinit(&outcome);
}

TEST(cannot_start)
{
    static const struct {
        const char *program, *directory;
        int code;
        const char *text;
    } rows[] = {
        {"/no/such/program", NULL, ERR_MISSING, "/no/such/program: no such program"},
        {"/etc/passwd", NULL, ERR_IO, "/etc/passwd: cannot run: Permission denied"},
        {"/etc/passwd/x", NULL, ERR_MISSING, "no such program"},
        {"/bin/sh", "/no/such/directory", ERR_IO, "/no/such/directory: cannot enter"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *const argv[] = {rows[i].program, NULL};
        struct command command = {.argv = argv, .directory = rows[i].directory, .timeout_ms = 1000};
        struct outcome outcome;
        struct err err = {0};
        outcome_init(&outcome, 100);
        assert_int_equal(process_runner.run(&process_runner, &command, &outcome, &err),
                         rows[i].code);
        assert_non_null(strstr(err.text, rows[i].text));
        outcome_deinit(&outcome);
    }
    assert_no_child();
}

TEST(standard_descriptors_closed_in_the_parent)
{
    int saved[3];
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    struct outcome outcome;
    struct err err = {0};
    const char *const argv[] = {"/bin/sh", "-c", "echo out; echo err >&2", NULL};
    struct command command = shell(argv);
    outcome_init(&outcome, 100);
    int result = process_runner.run(&process_runner, &command, &outcome, &err);
    for (int fd = 0; fd < 3; fd++)
        if (saved[fd] >= 0) {
            dup2(saved[fd], fd);
            close(saved[fd]);
        }
    assert_int_equal(result, 0);
    assert_string_equal(outcome.output.data, "out\nerr\n");
    outcome_deinit(&outcome);
}

static void on_alarm(int number)
{
}

static void *busy_thread(void *data)
{
    atomic_int *stop = data;
    while (!*stop)
        free(malloc(100));
    return NULL;
}

/* Signals interrupt every system call while other threads hold malloc's locks at each fork. */
TEST(interrupted_in_a_threaded_parent)
{
    atomic_int stop = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, busy_thread, &stop), 0);
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    ualarm(2000, 2000);
    for (int i = 0; i < 30; i++) {
        struct outcome outcome;
        outcome_init(&outcome, 100);
        run("sleep 0.01; echo fine", NULL, &outcome);
        assert_string_equal(outcome.output.data, "fine\n");
        outcome_deinit(&outcome);
    }
    ualarm(0, 0);
    sigaction(SIGALRM, &before, NULL);
    stop = 1;
    pthread_join(thread, NULL);
    assert_no_child();
}

TEST(find)
{
    char *path = process_find("sh");
    assert_non_null(path);
    assert_int_equal(path[0], '/');
    assert_int_equal(access(path, X_OK), 0);
    mem_free(path);
    static const char *const absent[] = {"", "no-such-program", "/bin", "/etc/passwd", "./no"};
    for (size_t i = 0; i < COUNT(absent); i++)
        assert_null(process_find(absent[i]));
    char *before = support_text("%s", getenv("PATH"));
    setenv("PATH", ":relative::/nowhere", 1);
    path = process_find("sh");
    assert_non_null(path);
    mem_free(path);
    setenv("PATH", before, 1);
}
