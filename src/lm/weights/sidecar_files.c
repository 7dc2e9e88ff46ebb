#include "lm/weights/sidecar_files.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

const char *const lm_sidecar_files[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    NULL,
};

static int copy(const char *from, const char *to, struct err *err)
{
    char *bytes;
    size_t count;
    int result = file_read(from, LIMIT_LM_SIDECAR_BYTES, &bytes, &count, err);
    if (result < 0)
        return result;
    result = file_write_atomic(to, bytes, count, 0644, err);
    mem_free(bytes);
    return result;
}

int lm_sidecar_files_copy(const char *from, const char *to, struct err *err)
{
    int result = 0;
    for (const char *const *name = lm_sidecar_files; *name && result == 0; name++) {
        char *source = mem_printf("%s/%s", from, *name), *target = mem_printf("%s/%s", to, *name);
        if (file_exists(source) && !file_exists(target))
            result = copy(source, target, err);
        mem_free(target);
        mem_free(source);
    }
    return result;
}
