#include "cli/runs/watch_web.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/runs/runs.h"
#include "server/web/web.h"

#include <stdio.h>
#include <string.h>

#define STOP_MS 5000

/* What is shown, as it was named. */
struct watched {
    const char *folder; /* NULL: none */
    struct cli_words paths;
    size_t count;
};

static int find_watched(const struct cli_words *words, struct watched *watched, struct err *err)
{
    if (words->count == 0)
        watched->folder = RUNS_HOME;
    else if (words->count == 1 && run_kind_of(words->items[0]) == RUN_NONE &&
             file_is_directory(words->items[0]))
        watched->folder = words->items[0];
    if (watched->folder && !file_is_directory(watched->folder))
        return err_set(err, ERR_INPUT,
                       "there is no folder ./" RUNS_HOME "; name a run, or a folder of runs");
    for (size_t i = 0; i < words->count && !watched->folder; i++) {
        char *path;
        int result = runs_find(words->items[i], &path, err);
        if (result < 0)
            return result;
        cli_words_add(&watched->paths, path);
    }
    return 0;
}

static int open_web(const struct settings *settings, const struct watched *watched,
                    struct http_server **http, struct web **web, struct err *err)
{
    static const struct http_route *const tables[] = {web_root_routes, web_page_routes,
                                                      web_run_routes, web_trace_routes, NULL};
    const struct web_options options = {.folder = watched->folder,
                                        .runs = watched->paths.items,
                                        .run_count = watched->paths.count};
    const struct http_options none = {0};
    int result = http_open(settings, &none, http, err);
    *web = web_new(&options);
    for (const struct http_route *const *table = tables; *table && result == 0; table++)
        result = http_add_table(*http, *table, *web, err);
    if (result == 0)
        result = web_start(*web, err);
    return result == 0 ? http_start(*http, err) : result;
}

int runs_watch_web(struct cli_call *call, struct err *err)
{
    struct watched watched = {0};
    struct http_server *http = NULL;
    struct web *web = NULL;
    int result = find_watched(&call->words, &watched, err);
    cli_catch_signals();
    if (result == 0)
        result = open_web(&call->settings, &watched, &http, &web, err);
    if (result == 0) {
        printf("warpgym: the dashboard is at %s\n", http_address(http));
        fflush(stdout);
        cli_wait_for_signal();
    }
    if (http)
        result = http_stop(http, STOP_MS, err) < 0 ? err->code : result;
    if (web)
        web_stop(web);
    http_free(http);
    web_free(web);
    for (size_t i = 0; i < watched.paths.count; i++)
        mem_free((char *)watched.paths.items[i]);
    cli_words_deinit(&watched.paths);
    return result;
}
