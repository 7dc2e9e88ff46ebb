#include "server/tinker/internal.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES 120

const char tinker_training_kind[] = "weights", tinker_sampler_kind[] = "sampler_weights",
           tinker_external_kind[] = "external_weights";

bool tinker_is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:";
    const size_t count = strlen(text);
    return count > 0 && count <= NAME_BYTES && strspn(text, plain) == count && text[0] != '.';
}

/* Names that a checkpoint in the making, its past and its record have. */
static bool has_own_suffix(const char *name)
{
    static const char *const suffixes[] = {".saving", ".previous", ".json"};
    const size_t count = strlen(name);
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(suffixes[i]);
        if (count >= length && strcmp(name + count - length, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static bool saved_set(struct tinker_saved *saved, const char *run, const char *kind,
                      const char *name)
{
    if (!tinker_is_plain(run) || !tinker_is_plain(name) || has_own_suffix(name) ||
        (strcmp(kind, tinker_training_kind) != 0 && strcmp(kind, tinker_sampler_kind) != 0 &&
         strcmp(kind, tinker_external_kind) != 0))
        return false;
    snprintf(saved->run, sizeof saved->run, "%s", run);
    snprintf(saved->kind, sizeof saved->kind, "%s", kind);
    snprintf(saved->name, sizeof saved->name, "%s", name);
    return true;
}

int tinker_saved_parse(struct tinker_saved *saved, const char *path, struct err *err)
{
    static const char prefix[] = "tinker://";
    char run[TINKER_ID_BYTES], kind[32], name[TINKER_ID_BYTES], more;
    if (strncmp(path, prefix, sizeof prefix - 1) == 0 &&
        sscanf(path + sizeof prefix - 1, "%127[^/]/%31[^/]/%127[^/]%c", run, kind, name, &more) ==
            3 &&
        saved_set(saved, run, kind, name))
        return 0;
    return err_set(err, ERR_INPUT,
                   "'%.200s' is no checkpoint: give tinker://RUN/weights/NAME or "
                   "tinker://RUN/sampler_weights/NAME, of letters, digits and -_.:",
                   path);
}

bool tinker_saved_of(struct tinker_saved *saved, const struct http_request *request,
                     struct http_response *response)
{
    if (saved_set(saved, http_parameter(request, "run"), http_parameter(request, "kind"),
                  http_parameter(request, "name")))
        return true;
    http_refuse(response, 400, "invalid",
                "a checkpoint is named weights/NAME or sampler_weights/NAME");
    return false;
}

json_t *tinker_body(struct http_request *request, struct http_response *response)
{
    json_t *body = http_json(request, response);
    if (body && !json_is_object(body)) {
        http_refuse(response, 400, "invalid", "the body must be a JSON object");
        return NULL;
    }
    return body;
}

const char *tinker_word(const json_t *body, const char *key, struct http_response *response)
{
    const char *word = json_text_at(body, key);
    if (tinker_is_plain(word))
        return word;
    http_refuse(response, 400, "invalid", "'%s' is missing or no id", key);
    return NULL;
}

int64_t tinker_number(const json_t *body, const char *key)
{
    const json_t *value = json_object_get(body, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}
