#include "cli/search_paths.h"

#include "base/file.h"
#include "base/mem.h"
#include "problem/problem_settings.h"

#include <stdlib.h>
#include <string.h>

static void join_search_paths(const struct cli_words *named, const struct settings *settings,
                              struct buf *joined)
{
    const struct problems_settings *problems = problems_settings(settings);
    for (size_t i = 0; i < named->count; i++)
        buf_printf(joined, "%s%s", i ? ":" : "", named->items[i]);
    if (problems->path[0])
        buf_printf(joined, "%s%s", joined->len ? ":" : "", problems->path);
}

static bool has_path(const struct buf *joined, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = joined->data; at && *at; at += strcspn(at, ":"), at += *at == ':')
        if (strcspn(at, ":") == length && strncmp(at, path, length) == 0)
            return true;
    return false;
}

/* An invalid path is kept: the search reports it. */
static void add_absolute(struct buf *joined, const char *path)
{
    char *whole = realpath(path, NULL);
    const char *kept = whole ? whole : path;
    if (!has_path(joined, kept))
        buf_printf(joined, "%s%s", joined->len ? ":" : "", kept);
    free(whole);
}

void cli_search_paths_save(const struct cli_words *named, const struct settings *settings,
                           struct buf *joined)
{
    for (size_t i = 0; i < named->count; i++)
        add_absolute(joined, named->items[i]);
    for (const char *at = problems_settings(settings)->path; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        char *root = mem_printf("%.*s", (int)length, at);
        if (length > 0 && (named->count == 0 || file_is_directory(root)))
            add_absolute(joined, root);
        mem_free(root);
        at += length;
    }
}

int cli_search_paths(const struct cli_words *named, const struct settings *settings,
                     struct paths_list *search_paths, struct err *err)
{
    struct buf joined;
    buf_init(&joined, CLI_SEARCH_PATHS_BYTES);
    join_search_paths(named, settings, &joined);
    int result = paths_problems(joined.data, search_paths, err);
    buf_deinit(&joined);
    return result;
}
