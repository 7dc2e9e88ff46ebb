/* runs clean: removes runs, or checkpoints of theirs that nothing needs. */
#include "cli/runs/runs.h"

#include "base/file.h"
#include "base/lockfile.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    bool checkpoints, yes;
};

/* What cleaning a run removes: paths of the arena. */
static int choose(const struct run_view *view, bool only_checkpoints, struct arena *arena,
                  struct cli_words *paths, struct err *err)
{
    json_t *checkpoints = NULL;
    if (!only_checkpoints) {
        cli_words_add(paths, view->path);
        return 0;
    }
    int result = run_view_checkpoints(view, &checkpoints, err);
    if (result < 0)
        return result;
    bool lowest;
    const char *measure = runs_best_measure(view, &lowest);
    const char *best = json_text_at(runs_best(view, checkpoints, measure, lowest), "name");
    const char *last = json_text_at(json_array_get(checkpoints, json_array_size(checkpoints) - 1),
                                    "name");
    const char *home = arena_printf(arena, "%s/checkpoints", view->path);
    DIR *stream = opendir(home);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, best) != 0 &&
            strcmp(entry->d_name, last) != 0)
            cli_words_add(paths, arena_printf(arena, "%s/%s", home, entry->d_name));
    if (stream)
        closedir(stream);
    json_decref(checkpoints);
    return 0;
}

static bool is_confirmed(const struct run_view *view, const struct cli_words *paths,
                         const char *size, bool whole)
{
    char answer[16] = "";
    if (whole)
        fprintf(stderr, "remove %s with all its checkpoints, %s? [y/N] ", view->path, size);
    else
        fprintf(stderr, "remove %zu checkpoints of %s, %s? [y/N] ", paths->count, view->path, size);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* While its lock is held, no process resumes the run. */
static int remove_paths(const struct run_view *view, const struct cli_words *paths,
                        const struct arguments *arguments, struct err *err)
{
    char size[RUNS_NUMBER_BYTES];
    uint64_t bytes = 0;
    for (size_t i = 0; i < paths->count; i++)
        bytes += file_tree_bytes(paths->items[i]);
    runs_size(bytes, size);
    if (!arguments->yes && !isatty(STDIN_FILENO))
        return err_set(err, ERR_INPUT, "%s: there is no terminal to ask at; --yes removes it",
                       view->path);
    if (!arguments->yes && paths->count > 0 &&
        !is_confirmed(view, paths, size, !arguments->checkpoints))
        return 0;
    for (size_t i = 0; i < paths->count; i++) {
        file_remove_tree(paths->items[i]);
        if (file_exists(paths->items[i]))
            return err_set(err, ERR_IO, "%s: not all of it could be removed", paths->items[i]);
    }
    printf("%s: %s removed\n", view->path, size);
    return 0;
}

static int clean_run(const char *word, const struct arguments *arguments, struct err *err)
{
    struct cli_words paths = {0};
    struct arena arena = {0};
    struct run_view view;
    int lock = -1, result = runs_open(&view, word, RUN_SERIES_ALL, err);
    if (result < 0)
        return result;
    char *path = mem_printf("%s/lock", view.path);
    if (lockfile_take(path, &lock, err) < 0)
        result = err_set(err, ERR_INPUT, "%s is running; `warpgym runs stop` ends it", view.path);
    if (result == 0)
        result = choose(&view, arguments->checkpoints, &arena, &paths, err);
    if (result == 0)
        result = remove_paths(&view, &paths, arguments, err);
    if (lock >= 0)
        close(lock);
    mem_free(path);
    cli_words_deinit(&paths);
    arena_deinit(&arena);
    run_view_close(&view);
    return result;
}

static int runs_clean_run(struct cli_call *call, void *arguments, struct err *err)
{
    int status = EXIT_PASSED;
    for (size_t i = 0; i < call->words.count; i++)
        if (clean_run(call->words.items[i], arguments, err) < 0)
            status = cli_fail_err(err);
    return status;
}

int runs_clean_main(struct cli_call *call)
{
    struct arguments arguments = {false, false};
    const struct cli_option options[] = {
        OPTION_FLAG(0, "checkpoints", &arguments.checkpoints,
                    "only checkpoints, but for the last and the best one"),
        OPTION_FLAG('y', "yes", &arguments.yes, "do not ask"),
        OPTION_END,
    };
    return cli_run(call, options, runs_clean_run, &arguments);
}
