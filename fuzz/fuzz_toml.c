/* Any bytes as TOML: refused with a place, or an object that JSON can hold. */
#include "base/toml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    json_t *read = NULL;
    char *text = malloc(size + 1);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int result = toml_parse("fuzz", text, size, &read, &err);
    if ((result == 0) != json_is_object(read) || (result < 0 && strncmp(err.text, "fuzz:", 5) != 0))
        abort();
    char *dumped = json_dumps(read, 0);
    json_t *again = dumped ? json_loads(dumped, 0, NULL) : NULL;
    if (result == 0 && !json_equal(read, again))
        abort();
    json_decref(again);
    json_decref(read);
    free(dumped);
    free(text);
    return 0;
}
