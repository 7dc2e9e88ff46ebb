#include "server/api/openapi.h"

#include "base/json.h"
#include "judge/verdict_schema.h"

/* clang-format off */
__asm__(".pushsection .rodata\n"
        ".global openapi_json\n"
        "openapi_json:\n"
        ".incbin \"src/server/api/openapi.json\"\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */

json_t *openapi_document(void)
{
    json_t *document = json_loads(openapi_json, JSON_REJECT_DUPLICATES, NULL);
    json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    json_t *types = verdict_schema_types("#/components/schemas/");
    json_object_update_new(schemas, types);
    return document;
}
