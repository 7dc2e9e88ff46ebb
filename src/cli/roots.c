#include "cli/roots.h"

#define LIST_BYTES ((size_t)65536)

int cli_roots(const struct cli_words *named, const struct settings *settings,
              struct paths_list *roots, struct err *err)
{
    struct buf joined;
    buf_init(&joined, LIST_BYTES);
    for (size_t i = 0; i < named->count; i++)
        buf_printf(&joined, "%s%s", i ? ":" : "", named->items[i]);
    if (settings->problems_path[0])
        buf_printf(&joined, "%s%s", joined.len ? ":" : "", settings->problems_path);
    int result = paths_problems(joined.data, roots, err);
    buf_deinit(&joined);
    return result;
}
