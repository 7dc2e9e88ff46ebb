#include "problem/simple.h"

#include "base/file.h"

#include <string.h>

static void identify_simple(struct problem *problem)
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "simple");
    hash_update_string(hash, problem->reference_text);
    hash_update_string(hash, problem->entry_point);
    hash_update_string(hash, problem->compare ? "compare" : "");
    hash_finish(hash, problem->hash);
}

int simple_from_text(struct problem *problem, const struct simple_text *text, struct err *err)
{
    struct arena *arena = &problem->arena;
    int result = file_check_text("cases", text->text, text->bytes, err);
    if (result < 0)
        return result;
    if (!strstr(text->text, "get_cases") && !strstr(text->text, "get_inputs"))
        return err_set(err, ERR_INPUT, "%s defines neither get_cases nor get_inputs", text->from);
    problem->format = PROBLEM_TORCH;
    problem->cases_from = arena_strdup(arena, text->from);
    problem->compare = text->compare;
    problem->entry_point = arena_strdup(arena, text->entry_point);
    problem->reference_text = arena_strndup(arena, text->text, text->bytes);
    problem->reference_bytes = text->bytes;
    problem->id = problem->name = problem->summary = problem->category = "";
    problem->directory = problem->reference_path = "";
    identify_simple(problem);
    return 0;
}
