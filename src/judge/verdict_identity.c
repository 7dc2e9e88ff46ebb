/* What a verdict says of the problem and the candidate that it is about. Declared in verdict.h;
 * apart from the rest, so that verdicts can be read without what hashes and problems need. */
#include "judge/verdict.h"

#include "judge/request/evaluation.h"
#include "judge/request/language.h"

void verdict_candidate(struct verdict *verdict, const char *path, const char *text, size_t bytes)
{
    if (path)
        verdict->candidate_path = arena_strdup(&verdict->arena, path);
    if (text)
        hash_bytes(text, bytes, verdict->candidate_hash);
}

void verdict_identify(struct verdict *verdict, const struct problem *problem,
                      const struct candidate *candidate, const struct language *language)
{
    struct arena *arena = &verdict->arena;
    verdict->problem_format = problem_format_name(problem);
    verdict->problem_id = arena_strdup(arena, problem->id);
    verdict->cases_from = problem->cases_from ? arena_strdup(arena, problem->cases_from) : NULL;
    verdict->problem_hash = arena_strdup(arena, problem->hash);
    verdict_candidate(verdict, candidate->path, candidate->text, candidate->bytes);
    verdict->candidate_language = arena_strdup(arena, language->name);
}
