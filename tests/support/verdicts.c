#include "verdicts.h"

#include "base/json.h"
#include "judge/verdict_schema.h"

#include "test.h"

static json_t *empty_value(const struct verdict_field *field)
{
    if (field->kind == FIELD_SCHEMA)
        return json_integer(VERDICT_SCHEMA);
    if (field->kind == FIELD_STATUS)
        return json_string("passed");
    const struct verdict_form *form = &verdict_forms[field->kind];
    if ((field->flags & FIELD_NULLABLE) || (form->nullable && form->entries == 0))
        return json_null();
    switch (form->entries ? JSON_ARRAY : form->type) {
    case JSON_OBJECT:
        return json_object();
    case JSON_ARRAY:
        return form->entries > 0 ? json_loads("[null, null]", 0, NULL) : json_array();
    case JSON_STRING:
        return json_string("");
    case JSON_TRUE:
        return json_false();
    default:
        return json_integer(0);
    }
}

static void complete(const struct verdict_shape *shape, json_t *part)
{
    for (size_t i = 0; json_is_object(part) && i < shape->count; i++) {
        const struct verdict_field *field = &shape->fields[i];
        json_t *value = json_object_get(part, field->key), *one;
        size_t at;
        if (!value && !(field->flags & FIELD_OPTIONAL))
            json_put(part, field->key, value = empty_value(field));
        if (field->kind == FIELD_OBJECT)
            complete(field->shape, value);
        if (field->kind == FIELD_LIST)
            json_array_foreach(value, at, one) complete(field->shape, one);
    }
}

void verdict_complete(json_t *part)
{
    complete(&verdict_shape, part);
}

void verdict_of(const char *part, struct verdict *verdict)
{
    struct err err;
    json_error_t where;
    json_t *json = json_loads(part, 0, &where);
    if (!json)
        fail_msg("%s: %s", part, where.text);
    verdict_complete(json);
    if (verdict_read(json, verdict, &err) < 0)
        fail_msg("%s: %s", part, err.text);
    json_decref(json);
}
