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

struct column {
    const char *key;
    size_t offset; /* of the text in struct example */
};

#define COLUMN(member, key)                                                                        \
    {                                                                                              \
        key, offsetof(struct example, member)                                                      \
    }

/* Texts of a table in which empty cells are null: these leave what is there. */
static int read_texts(const json_t *line, const struct column *columns, size_t count,
                      struct example *example, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const char *text = "", **at = (const char **)((char *)example + columns[i].offset);
        result = json_find_string(line, columns[i].key, &text, err);
        *at = *text ? text : *at;
    }
    return result;
}

static double number_or_zero(const json_t *line, const char *key)
{
    double value = json_number_value(json_object_get(line, key));
    return isfinite(value) && value > 0 ? value : 0;
}

int corpus_kernelbook(struct corpus *corpus, const json_t *line, struct example *example,
                      enum corpus_fate *fate, struct err *err)
{
    static const struct column columns[] = {
        COLUMN(reference, "python_code"), COLUMN(solution, "triton_code"),
        COLUMN(name, "module_name"), COLUMN(name, "entry_point"), /* counts before the other */
    };
    (void)corpus, (void)fate;
    example->language = "triton";
    return read_texts(line, columns, COUNT(columns), example, err);
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
    static const struct column columns[] = {
        COLUMN(reference, "PyTorch_Code_Module"), COLUMN(solution, "CUDA_Code"),
        COLUMN(name, "Kernel_Name"), COLUMN(name, "Op_Name"), /* counts before the other */
    };
    int64_t level = 0, task = 0;
    int result = read_texts(line, columns, COUNT(columns), example, err);
    if (result < 0)
        return result;
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

/* Words that somebody else wrote. */
static int check_words(const struct example *example, struct err *err)
{
    if (!is_language(example->language))
        return err_set(err, ERR_INPUT, "invalid language '%.60s': lower-case letters, digits, '-'",
                       example->language);
    if (example->category[0] && !category_find(example->category))
        return err_set(err, ERR_INPUT, "invalid category '%.60s'", example->category);
    return 0;
}

int corpus_pairs(struct corpus *corpus, const json_t *line, struct example *example,
                 enum corpus_fate *fate, struct err *err)
{
    static const struct column columns[] = {
        COLUMN(reference, "reference"), COLUMN(solution, "solution"), COLUMN(language, "language"),
        COLUMN(name, "name"),           COLUMN(summary, "summary"),   COLUMN(source, "source"),
        COLUMN(category, "category"),   COLUMN(problem, "problem"),
    };
    (void)corpus, (void)fate;
    int result = read_texts(line, columns, COUNT(columns), example, err);
    example->speedup = number_or_zero(line, "speedup");
    return result < 0 ? result : check_words(example, err);
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
        result = json_find_string(line, "problem_hash", &hash, err);
    if (result == 0)
        result = json_find_string(line, "category", &example->category, err);
    if (result == 0)
        result = check_words(example, err);
    if (result < 0)
        return result;
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
    return json_find_string(turn, "code", &example->solution, err);
}
