/* corpus_lines: the forms whose examples are lines of JSON. */
#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "problem/category.h"
#include "problem/suite.h"
#include "retrieval/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A text of a table in which empty cells are null. */
static int find_text(const json_t *line, const char *key, const char **text, struct err *err)
{
    *text = "";
    return json_find_string(line, key, text, err);
}

static double number_or_zero(const json_t *line, const char *key)
{
    double value = json_number_value(json_object_get(line, key));
    return isfinite(value) && value > 0 ? value : 0;
}

int corpus_kernelbook(struct corpus *corpus, const json_t *line, struct example *example,
                      enum corpus_fate *fate, struct err *err)
{
    const char *module = "";
    (void)corpus, (void)fate;
    int result = find_text(line, "python_code", &example->reference, err);
    if (result == 0)
        result = find_text(line, "triton_code", &example->solution, err);
    if (result == 0)
        result = find_text(line, "entry_point", &example->name, err);
    if (result == 0)
        result = find_text(line, "module_name", &module, err);
    if (example->name[0] == '\0')
        example->name = module;
    example->language = "triton";
    return result;
}

/* A solution is the source of a PyTorch extension, or plain CUDA. */
static const char *cuda_language(const char *solution)
{
    return strstr(solution, "torch/") || strstr(solution, "PYBIND11_MODULE") ||
                   strstr(solution, "ATen/")
               ? "torch-cuda"
               : "cuda";
}

int corpus_archive(struct corpus *corpus, const json_t *line, struct example *example,
                   enum corpus_fate *fate, struct err *err)
{
    const char *kernel = "";
    int64_t level = 0, task = 0;
    int result = find_text(line, "PyTorch_Code_Module", &example->reference, err);
    if (result == 0)
        result = find_text(line, "CUDA_Code", &example->solution, err);
    if (result == 0)
        result = find_text(line, "Op_Name", &example->name, err);
    if (result == 0)
        result = find_text(line, "Kernel_Name", &kernel, err);
    if (result < 0)
        return result;
    if (example->name[0] == '\0')
        example->name = kernel;
    example->language = cuda_language(example->solution);
    example->speedup = number_or_zero(line, "CUDA_Speedup_Native");
    if (json_is_integer(json_object_get(line, "Level_ID")))
        level = json_integer_value(json_object_get(line, "Level_ID"));
    if (json_is_integer(json_object_get(line, "Task_ID")))
        task = json_integer_value(json_object_get(line, "Task_ID"));
    if (level > 0 && task > 0) {
        snprintf(corpus->problem, sizeof corpus->problem, "level%lld/%lld", (long long)level,
                 (long long)task);
        example->problem = corpus->problem;
    }
    uint32_t levels = corpus->options->levels;
    if (levels && !(level > 0 && level < 32 && levels >> level & 1))
        *fate = CORPUS_FOREIGN;
    else if (!json_is_true(json_object_get(line, "Correct")) && !corpus->options->include_incorrect)
        *fate = CORPUS_WRONG;
    return 0;
}

static bool is_language(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '-')
            return false;
    return length > 0 && length < FORM_LANGUAGE_BYTES;
}

int corpus_pairs(struct corpus *corpus, const json_t *line, struct example *example,
                 enum corpus_fate *fate, struct err *err)
{
    static const struct {
        const char *key;
        size_t offset;
    } texts[] = {
        {"reference", offsetof(struct example, reference)},
        {"solution", offsetof(struct example, solution)},
        {"language", offsetof(struct example, language)},
        {"name", offsetof(struct example, name)},
        {"summary", offsetof(struct example, summary)},
        {"source", offsetof(struct example, source)},
        {"category", offsetof(struct example, category)},
        {"problem", offsetof(struct example, problem)},
    };
    const char *form = example->source;
    (void)corpus, (void)fate;
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char **field = (const char **)((char *)example + texts[i].offset);
        int result = find_text(line, texts[i].key, field, err);
        if (result < 0)
            return result;
    }
    if (example->source[0] == '\0')
        example->source = form;
    if (!is_language(example->language))
        return err_set(err, ERR_INPUT, "invalid language '%.60s': lower-case letters, digits, '-'",
                       example->language);
    if (example->category[0] && !category_find(example->category))
        return err_set(err, ERR_INPUT, "invalid category '%.60s'", example->category);
    example->speedup = number_or_zero(line, "speedup");
    return 0;
}

/* The local problem of that id; NULL: none. */
static const struct problem *problem_of(struct corpus *corpus, const char *id)
{
    const struct paths_list *paths = corpus->options->search_paths;
    struct problem problem;
    for (size_t i = 0; i < corpus->problem_count; i++)
        if (strcmp(corpus->problems[i].id, id) == 0)
            return &corpus->problems[i];
    if (corpus->problem_count == LIMIT_KNOWN_PROBLEMS || !paths || paths->count == 0 ||
        suite_load_id(paths, id, &problem, NULL) < 0)
        return NULL;
    corpus->problems = mem_resize(corpus->problems,
                                  (corpus->problem_count + 1) * sizeof *corpus->problems);
    corpus->problems[corpus->problem_count] = problem;
    return &corpus->problems[corpus->problem_count++];
}

/* The episode's best turn, if it is correct and not excluded. */
static const json_t *best_turn(const json_t *line)
{
    int64_t best = json_integer_value(json_object_get(line, "best_turn"));
    const json_t *turns = json_object_get(line, "turns");
    const json_t *turn = best >= 0 && json_is_integer(json_object_get(line, "best_turn"))
                             ? json_array_get(turns, (size_t)best)
                             : NULL;
    bool counts = turn && json_is_true(json_object_get(turn, "correct")) &&
                  !json_is_true(json_object_get(turn, "excluded"));
    return counts ? turn : NULL;
}

int corpus_trajectory(struct corpus *corpus, const json_t *line, struct example *example,
                      enum corpus_fate *fate, struct err *err)
{
    const char *hash = "";
    int result = json_get_string(line, "problem", &example->problem, err);
    if (result == 0)
        result = json_get_string(line, "language", &example->language, err);
    if (result == 0)
        result = find_text(line, "problem_hash", &hash, err);
    if (result == 0)
        result = find_text(line, "category", &example->category, err);
    if (result < 0)
        return result;
    if (!is_language(example->language))
        return err_set(err, ERR_INPUT, "invalid language '%.60s'", example->language);
    if (example->category[0] && !category_find(example->category))
        return err_set(err, ERR_INPUT, "invalid category '%.60s'", example->category);
    const json_t *turn = best_turn(line);
    if (!turn) {
        *fate = CORPUS_UNSOLVED;
        return 0;
    }
    const struct problem *problem = problem_of(corpus, example->problem);
    if (!problem || (hash[0] && strcmp(problem->hash, hash) != 0)) {
        *fate = CORPUS_FOREIGN;
        return 0;
    }
    example->name = problem->id;
    example->summary = problem->summary;
    example->category = problem->category;
    example->reference = problem->reference_text;
    example->speedup = number_or_zero(turn, "speedup");
    return find_text(turn, "code", &example->solution, err);
}
