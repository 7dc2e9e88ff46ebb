/* Cases that are taken are within their bounds, and every output belongs to one of them. */
#include "judge/open/cases.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cases cases;
    struct err err = {0};
    uint32_t outputs = 0;
    uint32_t within;
    if (cases_parse(&cases, (const char *)data, size, &err) < 0) {
        if (err.text[0] == '\0' || cases.count != 0)
            abort();
        return 0;
    }
    if (cases.count == 0 || cases.count > CASES_MOST || cases.compared > cases.count)
        abort();
    for (uint32_t i = 0; i < cases.count; i++) {
        if (!memchr(cases.items[i].name, '\0', CASE_NAME_BYTES))
            abort();
        outputs += cases.items[i].outputs;
    }
    if (outputs > WIRE_OUTPUTS)
        abort();
    for (uint32_t i = 0; i <= outputs; i++)
        if (cases_find(&cases, i, &within) >= cases.count)
            abort();
    return 0;
}
