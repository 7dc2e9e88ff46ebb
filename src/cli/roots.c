#include "cli/roots.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void join(const struct cli_words *named, const struct settings *settings, struct buf *joined)
{
    for (size_t i = 0; i < named->count; i++)
        buf_printf(joined, "%s%s", i ? ":" : "", named->items[i]);
    if (settings->problems_path[0])
        buf_printf(joined, "%s%s", joined->len ? ":" : "", settings->problems_path);
}

static bool has(const struct buf *joined, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = joined->data; at && *at; at += strcspn(at, ":"), at += *at == ':')
        if (strcspn(at, ":") == length && strncmp(at, path, length) == 0)
            return true;
    return false;
}

/* What is no path stays as it is: whoever looks there says so. */
static void add_whole(struct buf *joined, const char *path)
{
    char *whole = realpath(path, NULL);
    const char *kept = whole ? whole : path;
    if (!has(joined, kept))
        buf_printf(joined, "%s%s", joined->len ? ":" : "", kept);
    free(whole);
}

void cli_roots_keep(const struct cli_words *named, const struct settings *settings,
                    struct buf *joined)
{
    for (size_t i = 0; i < named->count; i++)
        add_whole(joined, named->items[i]);
    for (const char *at = settings->problems_path; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        char *root = mem_printf("%.*s", (int)length, at);
        if (length > 0 && (named->count == 0 || file_is_directory(root)))
            add_whole(joined, root);
        mem_free(root);
        at += length;
    }
}

int cli_roots(const struct cli_words *named, const struct settings *settings,
              struct paths_list *roots, struct err *err)
{
    struct buf joined;
    buf_init(&joined, CLI_ROOTS_BYTES);
    join(named, settings, &joined);
    int result = paths_problems(joined.data, roots, err);
    buf_deinit(&joined);
    return result;
}
