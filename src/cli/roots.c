#include "cli/roots.h"

void cli_roots_join(const struct cli_words *named, const struct settings *settings,
                    struct buf *joined)
{
    for (size_t i = 0; i < named->count; i++)
        buf_printf(joined, "%s%s", i ? ":" : "", named->items[i]);
    if (settings->problems_path[0])
        buf_printf(joined, "%s%s", joined->len ? ":" : "", settings->problems_path);
}

int cli_roots(const struct cli_words *named, const struct settings *settings,
              struct paths_list *roots, struct err *err)
{
    struct buf joined;
    buf_init(&joined, CLI_ROOTS_BYTES);
    cli_roots_join(named, settings, &joined);
    int result = paths_problems(joined.data, roots, err);
    buf_deinit(&joined);
    return result;
}
