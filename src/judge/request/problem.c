/* evaluation_problem: from what was sent to a struct problem. Declared in request.h. */
#include "judge/request/request.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "problem/native.h"
#include "problem/simple.h"
#include "problem/suite.h"
#include "problem/torch.h"

#include <stdlib.h>
#include <string.h>

#define ID_DIGITS 12 /* of the hash, in the id of a problem that has none */

/* A list of cases as a module: JSON's text of a text is Python's, too. */
static char *module_of(const json_t *cases)
{
    char *list = json_dumps(cases, JSON_COMPACT);
    json_t *text = json_string(list);
    char *quoted = json_dumps(text, JSON_ENCODE_ANY);
    char *module = mem_printf("import json\n\n\ndef get_cases():\n    return json.loads(%s)\n",
                              quoted);
    free(quoted);
    json_decref(text);
    free(list);
    return module;
}

static int read_simple(const struct evaluation_request *request, struct problem *problem,
                       struct err *err)
{
    char *module = request->cases ? module_of(request->cases) : NULL;
    struct simple_text text = {.entry_point = request->entry_point,
                               .from = SIMPLE_OWN_CASES,
                               .text = request->candidate_source,
                               .compare = request->compare};
    if (module) {
        text.from = "inline";
        text.text = module;
    } else if (request->cases_source) {
        text.from = "cases_code";
        text.text = request->cases_source;
    }
    text.bytes = strlen(text.text);
    int result = simple_from_text(problem, &text, err);
    mem_free(module);
    return result;
}

static int find_known(const struct evaluation_request *request,
                      const struct paths_list *search_paths, struct problem *problem,
                      struct err *err)
{
    const char *wanted = request->problem_hash;
    int result = suite_load_id(search_paths, request->problem_id, problem, err);
    if (result < 0 || !wanted || strcmp(wanted, problem->hash) == 0)
        return result;
    return err_set(err, ERR_MISSING, "problem %s is %.12s here, and %.12s is wanted",
                   request->problem_id, problem->hash, wanted);
}

int evaluation_request_problem(const struct evaluation_request *request,
                               const struct paths_list *search_paths, struct problem *problem,
                               struct err *err)
{
    int result = 0;
    if (request->format == EVALUATION_KNOWN)
        return find_known(request, search_paths, problem, err);
    if (request->format == EVALUATION_TORCH)
        result = torch_from_text(problem, request->entry_point, request->problem_source,
                                 strlen(request->problem_source), err);
    if (request->format == EVALUATION_SIMPLE)
        result = read_simple(request, problem, err);
    if (request->format == EVALUATION_NATIVE)
        result = native_from_text(problem, request->problem_yaml, request->problem_source,
                                  request->problem_cuda, err);
    if (result == 0)
        problem->id = arena_printf(&problem->arena, "inline/%.*s", ID_DIGITS, problem->hash);
    return result;
}

static json_t *native_json(const struct problem *problem)
{
    struct err ignored;
    char *yaml = NULL;
    size_t bytes;
    json_t *object = json_object();
    json_put(object, "format", json_string("native"));
    if (file_read(problem->yaml_path, LIMIT_YAML_BYTES, &yaml, &bytes, &ignored) == 0)
        json_put(object, "yaml", json_text_bytes(yaml, bytes));
    json_put(object, "source", json_text(problem->reference_text));
    if (problem->cuda_text)
        json_put(object, "cuda", json_text(problem->cuda_text));
    mem_free(yaml);
    return object;
}

json_t *evaluation_problem_json(const struct problem *problem)
{
    if (problem->format == PROBLEM_NATIVE)
        return native_json(problem);
    return json_pack("{s:s, s:o, s:o}", "format", "torch", "source",
                     json_text(problem->reference_text), "entry_point",
                     json_text(problem->entry_point));
}
