/* evaluation_problem: from what was sent to a struct problem. Declared in evaluation_request.h. */
#include "judge/evaluation_request.h"

#include "problem/native.h"
#include "problem/suite.h"
#include "problem/torch.h"

#include <string.h>

#define ID_DIGITS 12 /* of the hash, in the id of a problem that has none */

int evaluation_request_problem(const struct evaluation_request *request, const char *const *roots,
                               size_t root_count, struct problem *problem, struct err *err)
{
    int result = err_set(err, ERR_UNSUPPORTED, "problems of this format cannot be judged");
    if (request->format == EVALUATION_KNOWN)
        return suite_load(roots, root_count, request->problem_id, problem, err);
    if (request->format == EVALUATION_TORCH)
        result = torch_from_text(problem, request->entry_point, request->problem_source,
                                 strlen(request->problem_source), err);
    if (request->format == EVALUATION_NATIVE)
        result = native_from_text(problem, request->problem_yaml, request->problem_source,
                                  request->problem_cuda, err);
    if (result == 0)
        problem->id = arena_printf(&problem->arena, "inline/%.*s", ID_DIGITS, problem->hash);
    return result;
}
