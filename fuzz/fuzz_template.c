/* Any text as a template, of values that are always the same: it is refused with a place, or it is
 * filled, and then it passes the check without values, too. A second text behind a NUL is what the
 * first may include. */
#include "base/json.h"
#include "base/mem.h"
#include "gym/prompt/template.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_BYTES 65536

static const char values_text[] =
    "{\"name\": \"relu\", \"zero\": 0, \"third\": 0.5, \"yes\": true, \"nothing\": null,"
    " \"text\": \"a ``` b\\nc \\u00fc\", \"list\": [1, \"b\", {\"name\": \"inner\", \"in\": [[]]}],"
    " \"object\": {\"list\": [\"x\", \"y\"]}}";

static const char *find(void *context, const char **name, struct err *err)
{
    if (strcmp(*name, "other") != 0) {
        err_set(err, ERR_MISSING, "there is no template '%s'", *name);
        return NULL;
    }
    return context;
}

static void check(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_alloc(size + 2);
    if (size > 0)
        memcpy(text, data, size);
    char *other = text + strlen(text) + 1;
    json_t *values;
    struct template_source source = {.find = find, .context = other};
    struct buf out;
    struct err err = {0}, checked = {0};
    buf_init(&out, OUT_BYTES);
    check(json_parse("values", values_text, sizeof values_text - 1, &values, &err) == 0);
    int is_one = template_check("t", text, &checked);
    int result = template_render("t", text, values, &source, &out, &err);
    check(is_one == 0 ? true : strncmp(checked.text, "t:", 2) == 0 && result < 0);
    check(result == 0 || strncmp(err.text, "t:", 2) == 0 || strncmp(err.text, "other:", 6) == 0);
    check(out.len <= OUT_BYTES && (result < 0 || !out.cut));
    json_decref(values);
    buf_deinit(&out);
    mem_free(text);
    return 0;
}
