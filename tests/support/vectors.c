#include "vectors.h"
#include "verdicts.h"

#include <stdio.h>

static json_t *load(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, VECTORS "/%s.json", name);
    json_t *value = json_load_file(path, 0, &error);
    if (!value)
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    const char *like = json_string_value(json_object_get(value, "like"));
    json_t *base = like ? load(like) : NULL;
    if (!base)
        return value;
    json_object_update_recursive(base, value);
    json_decref(value);
    return base;
}

json_t *vector_load(const char *name)
{
    json_t *vector = load(name);
    verdict_complete(json_object_get(vector, "verdict"));
    return vector;
}
