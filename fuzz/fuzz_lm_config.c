/* A model's or an adapter's configuration that is taken is written as one that reads the same. */
#include "lm/weights/adapter.h"
#include "lm/weights/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
    if (err->text[0] == '\0' || strchr(err->text, '\n'))
        abort();
}

static void read_config(const json_t *document)
{
    struct lm_config config, again;
    struct err err = {0};
    if (lm_config_parse(&config, document, &err) < 0) {
        check_refusal(&err);
        return;
    }
    json_t *written = lm_config_json(&config);
    if (lm_config_parameters(&config) == 0 || lm_config_parse(&again, written, &err) < 0)
        abort();
    json_t *twice = lm_config_json(&again);
    if (!json_equal(written, twice))
        abort();
    json_decref(written);
    json_decref(twice);
}

static void read_adapter(const json_t *document)
{
    struct lm_lora lora, again;
    struct err err = {0};
    if (lm_adapter_parse(&lora, document, &err) < 0) {
        check_refusal(&err);
        return;
    }
    json_t *written = lm_adapter_json(&lora);
    if (!(lm_lora_scale(&lora) > 0) || lm_adapter_parse(&again, written, &err) < 0 ||
        again.rank != lora.rank || again.targets != lora.targets || again.alpha != lora.alpha)
        abort();
    json_decref(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *document = NULL;
    struct err err;
    if (json_parse("input", (const char *)data, size, &document, &err) < 0)
        return 0;
    read_config(document);
    read_adapter(document);
    json_decref(document);
    return 0;
}
