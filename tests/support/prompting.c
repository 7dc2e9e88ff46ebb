#include "prompting.h"

#include "base/file.h"
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
    if (prompts_open(&prompts, &settings, &err) < 0)
        fail_msg("%s", err.text);
    settings_deinit(&settings);
    return prompts;
}

json_t *prompting_specimens(void)
{
    struct err err;
    char *directory = paths_prompts(&err);
    json_t *specimens = NULL;
    assert_non_null(directory);
    char *path = mem_printf("%s/specimens/specimens.json", directory);
    assert_ok(json_file_read(path, (size_t)1 << 20, &specimens, &err), &err);
    mem_free(path);
    mem_free(directory);
    return specimens;
}

const json_t *prompting_facts(const json_t *specimens, const char *status, size_t nth)
{
    const json_t *list = json_object_get(specimens, "facts");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *facts = json_array_get(list, i);
        const char *its = json_string_value(json_object_get(facts, "status"));
        if (its && strcmp(its, status) == 0 && nth-- == 0)
            return facts;
    }
    fail_msg("no specimen has the status %s", status);
    return NULL;
}

json_t *prompting_problem(const char *id)
{
    struct paths_list search_paths;
    struct problem problem;
    struct err err;
    assert_ok(paths_problems("", &search_paths, &err), &err);
    assert_ok(suite_load(&search_paths, id, &problem, &err), &err);
    json_t *facts = prompt_problem(&problem);
    problem_deinit(&problem);
    paths_list_deinit(&search_paths);
    return facts;
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
