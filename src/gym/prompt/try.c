/* Renders every template with sample facts. */
#include "gym/prompt/set.h"

#include "base/json.h"

#include <string.h>

struct trial {
    const struct prompts *prompts;
    const struct prompt_file *file; /* of the samples */
    const json_t *problems, *devices, *retrieved, *facts;
};

static int get_list(const json_t *samples, const char *key, const json_t **list, struct err *err)
{
    json_t *found;
    int result = json_get_array(samples, key, &found, err);
    *list = result == 0 ? found : NULL;
    return result;
}

static int try_messages(const struct trial *trial, const struct prompt_options *options,
                        const json_t *problem, const json_t *device,
                        const struct prompt_turn *turns, size_t count, struct err *err)
{
    json_t *messages;
    int result = prompts_messages(trial->prompts, options, problem, device, trial->retrieved, turns,
                                  count, &messages, err);
    json_decref(messages);
    return result;
}

/* The first turn, then a second one for each possible outcome of the first, then a third one, so
 * that there is a history. */
static int try_turns(const struct trial *trial, const struct prompt_options *options,
                     const json_t *problem, const json_t *device, struct err *err)
{
    size_t count = json_array_size(trial->facts);
    int result = try_messages(trial, options, problem, device, NULL, 0, err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        const json_t *one = json_array_get(trial->facts, i);
        const json_t *other = json_array_get(trial->facts, (i + 1) % count);
        bool code = strcmp(json_string_value(json_object_get(one, "status")), "no_code") != 0;
        struct prompt_turn turns[] = {
            {.answer = "code", .thought = "", .code = code ? "code" : NULL, .facts = one},
            {.answer = "more", .thought = "a thought", .code = "more", .facts = other},
        };
        result = try_messages(trial, options, problem, device, turns, 1, err);
        if (result == 0)
            result = try_messages(trial, options, problem, device, turns, 2, err);
    }
    return result;
}

static int try_language(const struct trial *trial, const struct prompt_style *style,
                        const struct prompt_language *language, struct err *err)
{
    int result = 0;
    if (!prompt_style_has(style, language->name))
        return 0;
    for (size_t p = 0; result == 0 && p < json_array_size(trial->problems); p++) {
        const json_t *problem = json_array_get(trial->problems, p);
        const char *format = json_string_value(json_object_get(problem, "format"));
        if (!format || (strcmp(format, "native") == 0) != language->native)
            continue;
        for (size_t d = 0; result == 0 && d < json_array_size(trial->devices); d++) {
            struct prompt_options options = {.style = style->name,
                                             .language = language->name,
                                             .shots = d % 2 ? PROMPT_SHOTS_MAX : 0,
                                             .thinking = d >= 2};
            result = try_turns(trial, &options, problem, json_array_get(trial->devices, d), err);
        }
    }
    return result;
}

int prompts_try(const struct prompts *prompts, struct err *err)
{
    struct trial trial = {.prompts = prompts,
                          .file = prompt_file_find(prompts, "samples/samples.json")};
    json_t *samples;
    if (!trial.file)
        return err_set(err, ERR_MISSING, "prompts/samples/samples.json is missing");
    int result = json_parse(trial.file->called, trial.file->text, trial.file->bytes, &samples, err);
    if (result < 0)
        return result;
    result = get_list(samples, "problems", &trial.problems, err);
    if (result == 0)
        result = get_list(samples, "devices", &trial.devices, err);
    if (result == 0)
        result = get_list(samples, "retrieved", &trial.retrieved, err);
    if (result == 0)
        result = get_list(samples, "facts", &trial.facts, err);
    for (size_t s = 0; result == 0 && s < prompts->style_count; s++)
        for (size_t i = 0; result == 0 && i < prompts->language_count; i++)
            result = try_language(&trial, &prompts->styles[s], &prompts->languages[i], err);
    json_decref(samples);
    return result;
}
