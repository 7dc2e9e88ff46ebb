/* Whether any of the problems can be judged at all. */
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/config.h"
#include "judge/verdict.h"
#include "rl/train/internal.h"

#include <stdio.h>
#include <string.h>

#define PROBLEMS_TRIED 16 /* until one passes */

/* The reference as a candidate: a native one has that form already; a torch one needs another
 * class. */
static json_t *candidate_of(const struct problem *problem)
{
    json_t *candidate = json_object();
    bool native = problem->format == PROBLEM_NATIVE;
    char *text = native ? mem_strdup(problem->reference_text)
                        : mem_printf("%s\n\nclass ModelNew(Model):\n    pass\n",
                                     problem->reference_text);
    json_put(candidate, "source", json_text(text));
    json_put(candidate, "name", json_string(native ? "reference.c" : "reference.py"));
    mem_free(text);
    return candidate;
}

/* *why: the judge's objection; "" if the reference passes. Using library operators is no fault
 * here. */
static int judge_reference(struct trainer *trainer, const json_t *task, char *why, size_t why_bytes,
                           struct err *err)
{
    struct problem problem = {0};
    json_t *request = json_object(), *verdict = NULL;
    json_put(request, "problem", json_incref(json_object_get(task, "problem")));
    int result = episode_config_problem(trainer->gym, request, &problem, err);
    if (result == 0) {
        json_put(request, "candidate", candidate_of(&problem));
        json_put(request, "timing", json_false());
        result = evaluator_evaluate(trainer->evaluator, request, &verdict, err);
    }
    if (result == 0) {
        const char *status = json_text_at(verdict, "status");
        const char *message = verdict_json_error(verdict, "message");
        bool passes = json_is_true(json_object_get(verdict, "correct")) ||
                      verdict_json_status(verdict) == STATUS_VIOLATION;
        snprintf(why, why_bytes, "%s%s%s%s%s", passes ? "" : problem.id, passes ? "" : ": ",
                 passes ? "" : status, !passes && *message ? ": " : "", passes ? "" : message);
    }
    json_decref(verdict);
    json_decref(request);
    problem_deinit(&problem);
    return result;
}

int trainer_check_problems(struct trainer *trainer, struct err *err)
{
    const json_t *tasks = trainer->data.train;
    char why[ERR_TEXT_MAX] = "";
    size_t tried = 0;
    if (trainer->settings->train_steps == 0)
        return 0;
    for (; tried < json_array_size(tasks) && tried < PROBLEMS_TRIED; tried++) {
        char one[ERR_TEXT_MAX] = "";
        int result = judge_reference(trainer, json_array_get(tasks, tried), one, sizeof one, err);
        if (result < 0 && result != ERR_INPUT && result != ERR_MISSING)
            return err_prefix(err, "a problem's own reference could not be judged");
        if (result == 0 && !*one)
            return 0;
        if (!*why)
            snprintf(why, sizeof why, "%s", result < 0 ? err->text : one);
    }
    return err_set(err, ERR_INPUT,
                   "train.problems: no problem's own reference passes, of %zu that were "
                   "tried (`warpgym problem check` says more); %s",
                   tried, why);
}
