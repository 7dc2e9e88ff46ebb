#include "prompting.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"
#include "problem/suite.h"
#include "test.h"

struct prompts *prompting_open(const char *directory)
{
    struct settings settings;
    struct prompts *prompts;
    struct err err;
    settings_init(&settings);
    if (directory)
        assert_int_equal(settings_set(&settings, "prompts.path", directory, ORIGIN_COMMAND_LINE,
                                      &err),
                         0);
    assert_ok(prompts_open(&prompts, &settings, &err), &err);
    settings_deinit(&settings);
    return prompts;
}

static json_t *keep(json_t *value)
{
    static json_t *kept;
    kept = kept ? kept : json_array();
    json_array_append_new(kept, value);
    return value;
}

const json_t *prompting_samples(void)
{
    static json_t *samples;
    struct err err;
    if (samples)
        return samples;
    char *directory = paths_prompts(&err);
    assert_non_null(directory);
    char *path = mem_printf("%s/samples/samples.json", directory);
    assert_ok(json_file_read(path, (size_t)1 << 20, &samples, &err), &err);
    mem_free(path);
    mem_free(directory);
    return keep(samples);
}

const json_t *prompting_facts(const char *status, size_t nth)
{
    const json_t *list = json_object_get(prompting_samples(), "facts");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *facts = json_array_get(list, i);
        if (strcmp(json_text_at(facts, "status"), status) == 0 && nth-- == 0)
            return facts;
    }
    fail_msg("no sample has the status %s", status);
    return NULL;
}

const json_t *prompting_problem(const char *id)
{
    struct paths_list search_paths;
    struct problem problem;
    struct err err;
    assert_ok(paths_problems("", &search_paths, &err), &err);
    assert_ok(suite_load(&search_paths, id, &problem, &err), &err);
    json_t *facts = prompt_problem(&problem);
    problem_deinit(&problem);
    paths_list_deinit(&search_paths);
    return keep(facts);
}

const json_t *prompting_messages(const struct prompts *prompts,
                                 const struct prompt_options *options, const json_t *problem,
                                 const json_t *device, const json_t *examples,
                                 const struct prompt_turn *turns, size_t count)
{
    json_t *messages;
    struct err err;
    assert_ok(prompts_messages(prompts, options, problem, device, examples, turns, count, &messages,
                               &err),
              &err);
    return keep(messages);
}

static const char *member(const json_t *messages, size_t index, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(messages, index), key));
    if (!text)
        fail_msg("message %zu has no %s", index, key);
    return text;
}

const char *prompting_role(const json_t *messages, size_t index)
{
    return member(messages, index, "role");
}

const char *prompting_text(const json_t *messages, size_t index)
{
    return member(messages, index, "content");
}

void prompting_in_order(const char *text, const char *const *marks)
{
    const char *at = text;
    for (; *marks; marks++) {
        const char *found = strstr(at, *marks);
        if (!found)
            fail_msg("'%s' is missing, or too early, in:\n%s", *marks, text);
        at = found ? found + strlen(*marks) : "";
    }
}
