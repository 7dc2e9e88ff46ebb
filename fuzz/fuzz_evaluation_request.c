/* An evaluation request is refused with a reason, or has everything that the judge asks it for. */
#include "base/json.h"
#include "base/json_mend.h"
#include "judge/request/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_taken(const struct evaluation_request *request)
{
    struct settings base, settings;
    struct err err = {0};
    char hash[HASH_HEX_BYTES];
    settings_init(&base);
    check(request->refused || (request->candidate_source && request->candidate_name));
    check(request->refused || request->problem_id || request->problem_source ||
          request->format == EVALUATION_SIMPLE);
    check(request->format != EVALUATION_TORCH || evaluation_is_identifier(request->entry_point));
    if (evaluation_request_settings(request, &base, &settings, &err) == 0)
        settings_deinit(&settings);
    else
        check(err.text[0] != '\0');
    evaluation_request_hash(request, "", hash);
    check(strlen(hash) == HASH_HEX_BYTES - 1);
    struct verdict verdict;
    evaluation_request_refuse(request, "no", &verdict);
    json_decref(verdict_json(&verdict));
    verdict_deinit(&verdict);
    settings_deinit(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evaluation_request request;
    struct err err = {0};
    json_t *object;
    if (json_parse_mended("request", 1, (const char *)data, size, &object, &err) < 0)
        return 0;
    if (evaluation_request_parse(object, &request, &err) == 0)
        check_taken(&request);
    else
        check(err.text[0] != '\0');
    json_decref(object);
    return 0;
}
