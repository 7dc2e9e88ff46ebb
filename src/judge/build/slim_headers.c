#include "judge/build/slim_headers.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdlib.h>

#define FILE_BYTES ((size_t)256 << 10)
#define TEXT_BYTES ((size_t)1 << 20)
#define DEPTH 6

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In the order of names, so that the same headers always give the same text. */
static int add_tree(struct buf *text, const char *directory, int depth, struct err *err)
{
    struct dirent **entries = NULL;
    int result = 0;
    int count = depth < DEPTH ? scandir(directory, &entries, is_visible, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        char *path = mem_printf("%s/%s", directory, entries[i]->d_name);
        char *bytes = NULL;
        size_t length;
        if (result == 0 && file_is_directory(path)) {
            result = add_tree(text, path, depth + 1, err);
        } else if (result == 0) {
            result = file_read(path, FILE_BYTES, &bytes, &length, err);
            buf_printf(text, "%s\n", entries[i]->d_name);
            buf_puts(text, result == 0 ? bytes : "");
        }
        mem_free(bytes);
        mem_free(path);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int slim_headers_open(struct slim_headers *slim, const char *package, struct err *err)
{
    struct buf text;
    *slim = (struct slim_headers){0};
    if (!package)
        return err_set(err, ERR_MISSING, "the slim headers' directory (python/) is not there");
    slim->directory = mem_printf("%s/warpgym/slim", package);
    buf_init(&text, TEXT_BYTES);
    int result = add_tree(&text, slim->directory, 0, err);
    if (result == 0 && text.len == 0)
        result = err_set(err, ERR_MISSING, "%s: the slim headers are not there", slim->directory);
    slim->text = buf_take(&text);
    return result;
}

void slim_headers_close(struct slim_headers *slim)
{
    mem_free(slim->directory);
    mem_free(slim->text);
}
