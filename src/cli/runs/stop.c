/* runs stop: ends the training process after its current step. */
#include "cli/runs/runs.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "base/pidfd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_US 100000
#define TAIL_BYTES ((size_t)64 << 10) /* of the metrics: the last step */

/* The pidfd identifies this very process: had it ended and its number been reused, the new
 * process would not hold the lock. */
static int send_terminate(const struct run_view *view, const char *lock, struct err *err)
{
    int fd = pidfd_of(view->holder);
    int result = 0;
    if (fd < 0 && errno == ESRCH)
        return 0;
    if (fd < 0)
        return err_sys(err, errno, "process %d of %s", (int)view->holder, view->path);
    if (lockfile_holder(lock) == view->holder && pidfd_signal(fd, SIGTERM) < 0 && errno != ESRCH)
        result = err_sys(err, errno, "cannot stop process %d of %s", (int)view->holder, view->path);
    close(fd);
    return result;
}

static int wait_for_end(const struct run_view *view, const char *lock, int64_t timeout_s,
                        struct err *err)
{
    int64_t start_ns = clock_now_ns();
    while (lockfile_holder(lock) != LOCKFILE_NONE) {
        if (cli_cancelled)
            return err_set(err, ERR_CANCELLED, "%s: signalled; not waiting for its end",
                           view->path);
        if (timeout_s > 0 && clock_ms_since(start_ns) > (double)timeout_s * 1000)
            return err_set(err, ERR_TIMEOUT,
                           "%s: process %d was signalled %" PRId64
                           " s ago, and still holds the run; wait longer, or inspect it",
                           view->path, (int)view->holder, timeout_s);
        usleep(LOOK_US);
    }
    return 0;
}

static void print_end(struct run_view *view)
{
    json_t *checkpoints = NULL;
    struct err err;
    if (run_view_read(view, &err) < 0 || run_view_checkpoints(view, &checkpoints, &err) < 0)
        return;
    const json_t *last = json_array_get(checkpoints, json_array_size(checkpoints) - 1);
    printf("%s: stopped at step %" PRIu64 "%s%s\n", view->path, view->step,
           last ? "; it resumes from " : ", before its first checkpoint",
           json_text_at(last, "name"));
    fflush(stdout);
    json_decref(checkpoints);
}

static int stop_run(const char *word, int64_t timeout_s, struct err *err)
{
    struct run_view view;
    int result = runs_open(&view, word, TAIL_BYTES, err);
    if (result < 0)
        return result;
    char *lock = mem_printf("%s/lock", view.path);
    if (view.holder == LOCKFILE_NONE) {
        fprintf(stderr, "warpgym: %s is not running\n", view.path);
    } else if (view.holder == LOCKFILE_UNKNOWN) {
        result = err_set(
            err, ERR_UNSUPPORTED,
            "%s is trained by a process of another machine or container; stop it there", view.path);
    } else {
        result = send_terminate(&view, lock, err);
        if (result == 0)
            result = wait_for_end(&view, lock, timeout_s, err);
        if (result == 0)
            print_end(&view);
    }
    mem_free(lock);
    run_view_close(&view);
    return result;
}

struct arguments {
    int64_t timeout_s;
    bool all;
};

static int stop_each(const struct cli_words *words, int64_t timeout_s, struct err *err)
{
    int status = EXIT_PASSED;
    cli_catch_signals();
    for (size_t i = 0; i < words->count && !cli_cancelled; i++)
        if (stop_run(words->items[i], timeout_s, err) < 0)
            status = cli_fail_err(err);
    return status;
}

/* Those of ./runs that a process holds. */
static int find_running(struct arena *arena, struct cli_words *running, struct err *err)
{
    struct cli_words all = {0};
    int result = runs_find_all(RUNS_HOME, arena, &all, err);
    for (size_t i = 0; i < all.count && result == 0; i++) {
        char *lock = mem_printf("%s/lock", all.items[i]);
        if (lockfile_holder(lock) != LOCKFILE_NONE)
            cli_words_add(running, all.items[i]);
        mem_free(lock);
    }
    cli_words_deinit(&all);
    return result;
}

static int runs_stop_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    struct cli_words running = {0};
    struct arena arena = {0};
    if (arguments->all == (call->words.count > 0))
        return err_set(err, ERR_INPUT, "name runs, or give --all for those in ./" RUNS_HOME);
    int result = arguments->all ? find_running(&arena, &running, err) : 0;
    if (result == 0 && arguments->all && running.count == 0)
        fprintf(stderr, "warpgym: no run in ./" RUNS_HOME " is running\n");
    if (result == 0)
        result = stop_each(arguments->all ? &running : &call->words, arguments->timeout_s, err);
    cli_words_deinit(&running);
    arena_deinit(&arena);
    return result;
}

int runs_stop_main(struct cli_call *call)
{
    struct arguments arguments = {.timeout_s = 0};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "all", &arguments.all, "every run in ./" RUNS_HOME " that is running"),
        OPTION_INT(0, "timeout", &arguments.timeout_s, 0, 86400, "SECONDS",
                   "how long to wait; default: until it ends"),
        OPTION_END,
    };
    return cli_run(call, options, runs_stop_run, &arguments);
}
