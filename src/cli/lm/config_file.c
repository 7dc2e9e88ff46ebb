#include "cli/lm/config_file.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

int lm_config_file(const char *path, struct lm_config *config, struct err *err)
{
    char *text = NULL;
    size_t count;
    json_t *document = NULL;
    if (file_is_directory(path))
        return lm_config_read(config, path, err);
    int result = file_read(path, LIMIT_LM_JSON_BYTES, &text, &count, err);
    if (result == 0)
        result = json_parse(path, text, count, &document, err);
    if (result == 0 && lm_config_parse(config, document, err) < 0)
        result = err_prefix(err, "%s", path);
    json_decref(document);
    mem_free(text);
    return result;
}
