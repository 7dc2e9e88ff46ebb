/* Any JSON as a verdict, whose "source" may be the candidate's text. All facts are there and of
 * their types; every text in them is bounded, printable, and holds no marker that a template or a
 * parser of answers would take for its own. Shares of its profile are shares. */
#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/feedback/feedback.h"
#include "gym/reward/coverage.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_text(const char *text, size_t length)
{
    static const char *const markers[] = {"<think>", "</think>", "<kernel>", "</kernel>", "<|",
                                          "|>",      "[inst]",   "</s>",     "<thought>"};
    require(length == strlen(text) && length <= FEEDBACK_EXCERPT_BYTES);
    require(utf8_is_valid(text, length));
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        require((byte >= ' ' && byte != 0x7F) || byte == '\n');
        for (size_t m = 0; m < COUNT(markers); m++)
            require(strncasecmp(text + i, markers[m], strlen(markers[m])) != 0);
    }
}

static void check_texts(const json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (json_is_string(value))
        check_text(json_string_value(value), json_string_length(value));
    json_object_foreach((json_t *)value, key, inner) check_texts(inner);
    json_array_foreach(value, i, inner) check_texts(inner);
    require(json_array_size(value) <= 16);
}

static int is_or_null(const json_t *value, json_type type)
{
    return value && (json_is_null(value) || json_typeof(value) == type);
}

static void check_facts(const json_t *facts)
{
    static const char *const texts[] = {"status", "headline", "advice"};
    static const char *const lists[] = {"kernels", "violations", "warnings"};
    static const char *const objects[] = {"error", "mismatch", "timing"};
    for (size_t i = 0; i < 3; i++) {
        require(json_string_length(json_object_get(facts, texts[i])) > 0);
        require(json_is_array(json_object_get(facts, lists[i])));
        require(is_or_null(json_object_get(facts, objects[i]), JSON_OBJECT));
    }
    require(is_or_null(json_object_get(facts, "profile_text"), JSON_STRING));
    require(json_array_size(json_object_get(facts, "kernels")) <= FEEDBACK_KERNELS);
    check_texts(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json;
    struct verdict verdict;
    struct err err;
    if (json_parse("verdict", (const char *)data, size, &json, &err) < 0)
        return 0;
    char *source = mem_strdup(json_text_at(json, "source"));
    json_object_del(json, "source");
    bool read = verdict_read(json, &verdict, &err) == 0;
    json_t *facts = feedback_facts(read ? &verdict : NULL, source);
    check_facts(facts);
    json_decref(facts);
    for (int measure = 0; read && measure < COVERAGE_MEASURE_COUNT; measure++) {
        double share = coverage_read((enum coverage_measure)measure, &verdict);
        require(isnan(share) || (share >= 0 && share <= 1));
    }
    verdict_deinit(&verdict);
    mem_free(source);
    json_decref(json);
    return 0;
}
