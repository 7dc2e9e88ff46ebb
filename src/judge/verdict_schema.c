#include "judge/verdict_schema.h"

#include "base/json.h"

#define DEFINITIONS "#/$defs/"

const struct verdict_form verdict_forms[] = {
#define X(symbol, type, nullable, most, entries, words) {type, nullable, most, entries, words},
    VERDICT_KINDS(X)
#undef X
};

static const char *const type_names[] = {
    [JSON_STRING] = "string",
    [JSON_INTEGER] = "integer",
    [JSON_REAL] = "number",
    [JSON_TRUE] = "boolean",
};

/* A single value, or an entry of an array. */
static json_t *scalar_schema(const struct verdict_form *form, bool nullable)
{
    json_t *schema = json_object(), *type = json_string(type_names[form->type]);
    json_put(schema, "type", nullable ? json_pack("[o, s]", type, "null") : type);
    if (form->type == JSON_INTEGER) {
        json_put(schema, "minimum", json_integer(0));
        if (form->most < INT64_MAX)
            json_put(schema, "maximum", json_integer(form->most));
    }
    return schema;
}

static json_t *entries_schema(const struct verdict_form *form)
{
    bool exact = form->entries > 0;
    json_t *schema = json_pack("{s:s, s:o}", "type", "array", "items",
                               scalar_schema(form, form->nullable));
    if (exact)
        json_put(schema, "minItems", json_integer(form->entries));
    json_put(schema, "maxItems", json_integer(exact ? form->entries : -form->entries));
    return schema;
}

static json_t *status_schema(void)
{
    json_t *names = json_array(), *meanings = json_array();
    for (enum verdict_status status = 0; status < STATUS_COUNT; status++) {
        json_array_append_new(names, json_string(verdict_status_name(status)));
        json_array_append_new(meanings, json_string(verdict_status_meaning(status)));
    }
    return json_pack("{s:o, s:o}", "enum", names, "x-enum-descriptions", meanings);
}

static json_t *field_schema(const struct verdict_field *field, const char *prefix)
{
    const struct verdict_form *form = &verdict_forms[field->kind];
    bool nullable = field->flags & FIELD_NULLABLE;
    json_t *reference = field->shape ? json_pack("{s:o}", "$ref",
                                                 json_sprintf("%s%s", prefix, field->shape->name))
                                     : NULL;
    if (field->kind == FIELD_OBJECT && nullable)
        return json_pack("{s:[o, {s:s}]}", "anyOf", reference, "type", "null");
    if (field->kind == FIELD_OBJECT)
        return reference;
    if (field->kind == FIELD_LIST)
        return json_pack("{s:s, s:o, s:I}", "type", "array", "items", reference, "maxItems",
                         (json_int_t)field->most);
    if (field->kind == FIELD_SCHEMA)
        return json_pack("{s:i}", "const", VERDICT_SCHEMA);
    if (field->kind == FIELD_STATUS)
        return status_schema();
    json_t *schema = form->entries ? entries_schema(form)
                                   : scalar_schema(form, form->nullable || nullable);
    if (field->kind == FIELD_HASH)
        json_put(schema, "maxLength", json_integer(HASH_HEX_BYTES - 1));
    return schema;
}

static void add_type(json_t *types, const struct verdict_shape *shape, const char *prefix)
{
    if (json_object_get(types, shape->name))
        return;
    json_t *properties = json_object(), *required = json_array();
    json_t *type = json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
                             "required", required, "properties", properties);
    json_put(types, shape->name, type);
    for (size_t i = 0; i < shape->count; i++) {
        const struct verdict_field *field = &shape->fields[i];
        json_t *schema = field_schema(field, prefix);
        json_put(schema, "description", json_string(field->meaning));
        json_put(properties, field->key, schema);
        if (!(field->flags & FIELD_OPTIONAL))
            json_array_append_new(required, json_string(field->key));
        if (field->shape)
            add_type(types, field->shape, prefix);
    }
}

json_t *verdict_schema_types(const char *prefix)
{
    json_t *types = json_object();
    add_type(types, &verdict_shape, prefix);
    return types;
}

json_t *verdict_schema(void)
{
    json_t *schema = json_object();
    json_put(schema, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
    json_put(schema, "title", json_string("A verdict: the record of one evaluation"));
    json_put(schema, "$ref", json_sprintf("%s%s", DEFINITIONS, verdict_shape.name));
    json_put(schema, "$defs", verdict_schema_types(DEFINITIONS));
    return schema;
}
