#include "gym/prompt/prompt.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "gym/prompt/fit.h"
#include "gym/prompt/set.h"

#include <stdio.h>
#include <string.h>

/* The parts of a conversation that all plans share. */
struct draft {
    const struct prompts *prompts;
    const struct prompt_style *style;
    const struct prompt_language *language;
    const struct prompt_turn *turns;
    size_t turn_count;
    char **feedback; /* of each turn that may be shown */
    json_t *worked;  /* the built-in examples */
    json_t *retrieved;
    json_t *facts; /* of every template */
};

int prompts_check(const struct prompts *prompts, const struct prompt_options *options,
                  struct err *err)
{
    const char *names[PROMPT_KINDS];
    for (size_t i = 0; i < prompts->style_count; i++)
        names[i] = prompts->styles[i].name;
    if (!prompt_style_find(prompts, options->style))
        return err_unknown(err, "prompt style", options->style, names, prompts->style_count);
    const struct prompt_style *style = prompt_style_find(prompts, options->style);
    if (!prompt_style_has(style, options->language))
        return err_unknown(err, "language of that style", options->language, style->languages.items,
                           style->languages.count);
    for (size_t i = 0; i < prompts->language_count; i++)
        names[i] = prompts->languages[i].name;
    if (!prompt_language_find(prompts, options->language))
        return err_unknown(err, "prompt language", options->language, names,
                           prompts->language_count);
    if (options->shots < 0 || options->shots > PROMPT_SHOTS_MAX)
        return err_set(err, ERR_INPUT, "shots is 0 to %d, not %lld", PROMPT_SHOTS_MAX,
                       (long long)options->shots);
    if (options->token_budget < 0)
        return err_set(err, ERR_INPUT, "token_budget is not negative (0: no bound)");
    return 0;
}

static int check_format(const struct prompt_language *language, const json_t *problem,
                        struct err *err)
{
    bool native = strcmp(json_text_at(problem, "format"), "native") == 0;
    if (native == language->native)
        return 0;
    return err_set(err, ERR_INPUT, "problem '%.100s' is %s, and %s solves %s ones",
                   json_text_at(problem, "id"), native ? "a native one" : "a PyTorch module",
                   language->name, language->native ? "native" : "PyTorch");
}

/* The same text, ignoring white space around it. */
static bool same_text(const char *one, const char *other)
{
    static const char blanks[] = " \t\r\n";
    one += strspn(one, blanks);
    other += strspn(other, blanks);
    size_t length = 0;
    while (one[length] && one[length] == other[length])
        length++;
    return one[length + strspn(one + length, blanks)] == '\0' &&
           other[length + strspn(other + length, blanks)] == '\0' && length > 0;
}

/* An example of the requested problem would be its answer, and withheld problems measure the
 * model. */
static bool leaks(const struct prompts *prompts, const json_t *problem, const char *id,
                  const char *reference)
{
    bool same = strcmp(id, json_text_at(problem, "id")) == 0 ||
                same_text(reference, json_text_at(problem, "reference"));
    for (size_t i = 0; i < prompts->withheld_count && !same; i++)
        same = strcmp(id, prompts->withheld[i].id) == 0 ||
               same_text(reference, prompts->withheld[i].reference);
    return same;
}

/* Each example once. */
static bool is_among(const struct prompt_example *example, const json_t *retrieved)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)retrieved, i, row)
    {
        if (strcmp(example->problem, json_text_at(row, "problem")) == 0)
            return true;
    }
    return false;
}

static json_t *worked_examples(const struct prompts *prompts,
                               const struct prompt_language *language, int64_t shots,
                               const json_t *problem, const json_t *retrieved)
{
    json_t *list = json_array();
    for (size_t i = 0; i < language->example_count; i++) {
        const struct prompt_example *example = &language->examples[i];
        if ((int64_t)json_array_size(list) == shots)
            break;
        if (leaks(prompts, problem, example->problem, example->reference) ||
            is_among(example, retrieved))
            continue;
        json_t *row = json_object();
        json_put(row, "problem", json_text(example->problem));
        json_put(row, "reference", json_text(example->reference));
        json_put(row, "reference_fence", json_text(language->native ? "c" : "python"));
        json_put(row, "solution", json_text(example->solution));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *retrieved_examples(const struct prompts *prompts, const json_t *examples,
                                  const json_t *problem)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(examples); i++) {
        json_t *example = json_array_get(examples, i);
        if (!leaks(prompts, problem, json_text_at(example, "problem"),
                   json_text_at(example, "reference")))
            json_array_append(list, example);
    }
    return list;
}

static json_t *first_of(const json_t *list, size_t count)
{
    json_t *part = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(part, json_array_get(list, i));
    return part;
}

static json_t *language_json(const struct prompt_language *language)
{
    json_t *object = json_object();
    json_put(object, "name", json_text(language->name));
    json_put(object, "title", json_text(language->title));
    json_put(object, "fence", json_text(language->fence));
    return object;
}

/* Of a correct, timed turn, else 0. */
static double speedup_of(const struct prompt_turn *turn)
{
    const json_t *timing = json_object_get(turn->facts, "timing");
    bool correct = json_is_true(json_object_get(turn->facts, "correct"));
    return correct ? json_number_value(json_object_get(timing, "speedup")) : 0;
}

/* The facts of feedback.txt: the verdict's, and a few that templates cannot derive. */
static json_t *feedback_values(const struct prompt_options *options,
                               const struct prompt_language *language,
                               const struct prompt_turn *turn)
{
    json_t *values = json_copy((json_t *)turn->facts);
    double speedup = speedup_of(turn);
    values = values ? values : json_object();
    json_put(values, "language", language_json(language));
    json_put(values, "thinking", json_boolean(options->thinking));
    json_put(values, "code", json_text(turn->code));
    json_put(values, "reward", json_number(turn->reward));
    json_put(values, "slower", json_boolean(speedup > 0 && speedup < 1));
    return values;
}

int prompts_feedback(const struct prompts *prompts, const struct prompt_options *options,
                     const struct prompt_turn *turn, char **text, struct err *err)
{
    struct buf out;
    *text = NULL;
    int result = prompts_check(prompts, options, err);
    if (result < 0)
        return result;
    const struct prompt_language *language = prompt_language_find(prompts, options->language);
    json_t *values = feedback_values(options, language, turn);
    buf_init(&out, LIMIT_PROMPT_BYTES);
    result = prompt_render(prompts, prompt_style_find(prompts, options->style), language,
                           "style/feedback", values, &out, err);
    json_decref(values);
    if (result == 0)
        *text = buf_take(&out);
    buf_deinit(&out);
    return result;
}

static json_t *attempt_json(const struct prompt_turn *turn, size_t index)
{
    json_t *row = json_object();
    double speedup = speedup_of(turn);
    json_t *status = json_incref(json_object_get(turn->facts, "status"));
    json_put(row, "attempt", json_integer((json_int_t)index + 1));
    json_put(row, "status", status ? status : json_null());
    json_put(row, "correct", json_boolean(json_is_true(json_object_get(turn->facts, "correct"))));
    json_put(row, "speedup", speedup > 0 ? json_number(speedup) : json_null());
    return row;
}

/* All attempts up to this one, and the fastest correct one of them or null: nothing later, so that
 * a message stays the same from turn to turn. */
static void put_attempts(json_t *facts, const struct draft *draft, size_t last)
{
    json_t *list = json_array(), *best = json_null();
    double fastest = -1;
    for (size_t i = 0; i <= last; i++) {
        json_t *row = attempt_json(&draft->turns[i], i);
        bool correct = json_is_true(json_object_get(row, "correct"));
        double speedup = speedup_of(&draft->turns[i]);
        if (correct && speedup > fastest) {
            json_decref(best);
            best = json_incref(row);
            fastest = speedup;
        }
        json_array_append_new(list, row);
    }
    json_put(facts, "attempts", list);
    json_put(facts, "best", best);
}

static json_t *turn_json(const struct prompt_turn *turn, size_t index)
{
    json_t *object = json_object();
    json_put(object, "number", json_integer((json_int_t)index + 1));
    json_put(object, "answer", json_text(turn->answer));
    json_put(object, "thought", json_text(turn->thought));
    json_put(object, "code", json_text(turn->code));
    json_put(object, "reward", json_number(turn->reward));
    json_put(object, "facts", json_incref((json_t *)turn->facts));
    return object;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static void add_message(json_t *messages, const char *role, const char *text, size_t length)
{
    json_t *message = json_object();
    json_put(message, "role", json_text(role));
    json_put(message, "content", json_text_bytes(text, length));
    json_array_append_new(messages, message);
}

/* Without surrounding white space, which templates can hardly avoid, unless its style keeps it.
 * An empty system message is dropped. */
static int add_rendered(const struct draft *draft, const char *role, const char *name,
                        const json_t *values, json_t *messages, struct err *err)
{
    struct buf out;
    buf_init(&out, LIMIT_PROMPT_BYTES);
    int result = prompt_render(draft->prompts, draft->style, draft->language, name, values, &out,
                               err);
    bool whole = prompt_names_have(&draft->style->verbatim, file_basename(name));
    const char *text = out.data + (whole ? 0 : strspn(out.data, "\r\n"));
    size_t length = strlen(text);
    while (!whole && length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    if (result == 0 && (length > 0 || strcmp(role, "system") != 0))
        add_message(messages, role, text, length);
    buf_deinit(&out);
    return result;
}

/* The facts of the plan: the shared ones, with the examples shown. */
static json_t *plan_values(const struct draft *draft, const struct prompt_plan *plan)
{
    json_t *values = json_copy(draft->facts);
    json_put(values, "examples", first_of(draft->worked, plan->worked));
    json_put(values, "retrieved", first_of(draft->retrieved, plan->retrieved));
    return values;
}

static json_t *turn_values(const struct draft *draft, const struct prompt_plan *plan,
                           const json_t *values, size_t index)
{
    json_t *own = json_copy((json_t *)values);
    bool oldest = index == plan->first_turn && !draft->style->last_only;
    json_put(own, "turn", turn_json(&draft->turns[index], index));
    json_put(own, "feedback", json_text(draft->feedback[index]));
    json_put(own, "left_out", json_integer(oldest ? (json_int_t)index : 0));
    put_attempts(own, draft, index);
    return own;
}

/* The model's answer and the reply to it. */
static int add_turn(const struct draft *draft, const struct prompt_plan *plan, const json_t *values,
                    size_t index, json_t *messages, struct err *err)
{
    json_t *own = turn_values(draft, plan, values, index);
    const char *answer = draft->turns[index].answer;
    bool last = index + 1 == draft->turn_count;
    int result = 0;
    if ((last && plan->short_answer) || !answer || is_blank(answer))
        result = add_rendered(draft, "assistant", "parts/answer", own, messages, err);
    else
        add_message(messages, "assistant", answer, strlen(answer));
    if (result == 0)
        result = add_rendered(draft, "user", "style/later", own, messages, err);
    json_decref(own);
    return result;
}

static int compose_messages(const struct draft *draft, const struct prompt_plan *plan,
                            json_t **messages, struct err *err)
{
    json_t *values = plan_values(draft, plan), *list = json_array();
    char file[2 * LIMIT_NAME_BYTES];
    snprintf(file, sizeof file, "%s/system.txt", draft->style->name);
    int result = 0;
    if (prompt_file_find(draft->prompts, file))
        result = add_rendered(draft, "system", "style/system", values, list, err);
    if (draft->style->last_only && draft->turn_count > 0) {
        json_t *own = turn_values(draft, plan, values, draft->turn_count - 1);
        if (result == 0)
            result = add_rendered(draft, "user", "style/later", own, list, err);
        json_decref(own);
    } else if (result == 0) {
        result = add_rendered(draft, "user", "style/first", values, list, err);
        for (size_t i = plan->first_turn; result == 0 && i < draft->turn_count; i++)
            result = add_turn(draft, plan, values, i, list, err);
    }
    json_decref(values);
    if (result < 0)
        json_decref(list);
    *messages = result < 0 ? NULL : list;
    return result;
}

static int fit_budget(const struct draft *draft, struct prompt_plan *plan, int64_t budget,
                      json_t **messages, struct err *err)
{
    const char *problem_id = json_text_at(json_object_get(draft->facts, "problem"), "id");
    for (;;) {
        int result = compose_messages(draft, plan, messages, err);
        if (result < 0)
            return result;
        int64_t over = prompt_tokens(*messages) - budget;
        if (over <= 0)
            return 0;
        if (!prompt_leave_out(plan, *messages, over))
            result = prompt_too_large(plan, problem_id, *messages, budget, err);
        json_decref(*messages);
        *messages = NULL;
        if (result < 0)
            return result;
    }
}

static int64_t larger_part(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static json_t *shared_facts(const struct prompt_options *options,
                            const struct prompt_language *language, const json_t *problem,
                            const json_t *device)
{
    json_t *facts = json_object();
    json_put(facts, "style", json_text(options->style));
    json_put(facts, "thinking", json_boolean(options->thinking));
    json_put(facts, "language", language_json(language));
    json_put(facts, "problem", json_incref((json_t *)problem));
    json_put(facts, "device", device ? json_incref((json_t *)device) : json_null());
    const json_t *compilers = json_object_get(json_object_get(device, "cpu"), "compilers");
    json_t *compiler = json_object_get(compilers, language->name);
    json_put(facts, "compiler", compiler ? json_incref(compiler) : json_null());
    return facts;
}

/* Feedback of the turns from `first` on. */
static int render_feedback(struct draft *draft, const struct prompt_options *options, size_t first,
                           struct err *err)
{
    int result = 0;
    draft->feedback = mem_alloc((draft->turn_count + 1) * sizeof *draft->feedback);
    for (size_t i = first; result == 0 && i < draft->turn_count; i++)
        result = prompts_feedback(draft->prompts, options, &draft->turns[i], &draft->feedback[i],
                                  err);
    return result;
}

static void draft_deinit(struct draft *draft)
{
    for (size_t i = 0; draft->feedback && i < draft->turn_count; i++)
        mem_free(draft->feedback[i]);
    mem_free(draft->feedback);
    json_decref(draft->worked);
    json_decref(draft->retrieved);
    json_decref(draft->facts);
}

/* The oldest turn that the style shows. */
static size_t first_turn(const struct prompt_style *style, size_t turn_count)
{
    size_t recent = style->last_only ? 1 : (size_t)style->recent_turns;
    return recent > 0 && turn_count > recent ? turn_count - recent : 0;
}

int prompts_messages(const struct prompts *prompts, const struct prompt_options *options,
                     const json_t *problem, const json_t *device, const json_t *examples,
                     const struct prompt_turn *turns, size_t turn_count, json_t **messages,
                     struct err *err)
{
    *messages = NULL;
    int result = prompts_check(prompts, options, err);
    if (result < 0)
        return result;
    struct draft draft = {
        .prompts = prompts,
        .style = prompt_style_find(prompts, options->style),
        .language = prompt_language_find(prompts, options->language),
        .turns = turns,
        .turn_count = turn_count,
    };
    result = check_format(draft.language, problem, err);
    if (result < 0)
        return result;
    draft.retrieved = retrieved_examples(prompts, examples, problem);
    draft.worked = worked_examples(prompts, draft.language,
                                   larger_part(options->shots, draft.style->shots), problem,
                                   draft.retrieved);
    draft.facts = shared_facts(options, draft.language, problem, device);
    struct prompt_plan plan = {
        .turn_count = turn_count,
        .last_only = draft.style->last_only,
        .first_turn = first_turn(draft.style, turn_count),
        .worked = json_array_size(draft.worked),
        .retrieved = json_array_size(draft.retrieved),
    };
    /* Even without a budget a conversation must fit in memory, requests and files. */
    int64_t budget = LIMIT_PROMPT_BYTES / PROMPT_BYTES_PER_TOKEN;
    if (options->token_budget > 0 && options->token_budget < budget)
        budget = options->token_budget;
    result = render_feedback(&draft, options, plan.first_turn, err);
    if (result == 0)
        result = fit_budget(&draft, &plan, budget, messages, err);
    draft_deinit(&draft);
    return result;
}
