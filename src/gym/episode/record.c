#include "gym/episode/record.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

static double number_of(const json_t *object, const char *key, double standard)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : standard;
}

static int64_t integer_of(const json_t *object, const char *key, int64_t standard)
{
    double value = number_of(object, key, (double)standard);
    return value >= -1 && value < 1e15 ? (int64_t)value : standard;
}

/* Always a JSON real, so that a column has one type. */
static json_t *real(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

static json_t *usage_of(const json_t *answer)
{
    const json_t *given = json_object_get(answer, "usage");
    json_t *usage = json_object();
    static const char *const counts[] = {"prompt_tokens", "completion_tokens", "cached_tokens"};
    for (size_t i = 0; i < COUNT(counts); i++)
        json_put(usage, counts[i], json_integer(integer_of(given, counts[i], -1)));
    json_put(usage, "cost", real(number_of(given, "cost", -1)));
    return usage;
}

/* [{"token", "logprob"}, …], or numbers in one list and texts in another. */
static void copy_logprobs(const json_t *answer, json_t *copy)
{
    const json_t *given = json_object_get(answer, "logprobs");
    const json_t *texts = json_object_get(answer, "tokens");
    json_t *numbers = json_array(), *tokens = json_array();
    for (size_t i = 0; i < json_array_size(given); i++) {
        const json_t *item = json_array_get(given, i);
        bool pair = json_is_object(item);
        json_array_append_new(numbers,
                              real(pair ? number_of(item, "logprob", 0) : json_number_value(item)));
        json_array_append_new(tokens, json_text(pair ? json_text_at(item, "token")
                                                : json_string_value(json_array_get(texts, i))
                                                    ? json_string_value(json_array_get(texts, i))
                                                    : ""));
    }
    json_put(copy, "logprobs", numbers);
    json_put(copy, "tokens", tokens);
}

/* No text of an answer is refused: what is beyond the most that is read of one is left out. */
static void put_kept(json_t *copy, const char *key, const char *text)
{
    size_t count = strlen(text), kept = parse_answer_bytes(text, count);
    json_put(copy, key, json_text_bytes(text, kept));
    if (kept < count)
        json_put(copy, "cut", json_true());
}

static void add_warning(json_t *warnings, char *evidence)
{
    json_array_append_new(warnings,
                          json_pack("{s:s, s:o}", "code", "text", "evidence", json_text(evidence)));
    mem_free(evidence);
}

int episode_record_answer(const json_t *answer, json_t **copy, struct err *err)
{
    static const char *const names[] = {"text",          "reasoning", "finish",   "model",
                                        "thinking_open", "usage",     "logprobs", "tokens",
                                        "answer_ms",     "cut"};
    static const char *const texts[] = {"text", "reasoning", "finish", "model"};
    const char *text;
    bool open = false, cut = false;
    json_t *ignored;
    int result = json_check_keys(answer, names, COUNT(names), err);
    if (result == 0)
        result = json_get_string(answer, "text", &text, err);
    for (size_t i = 0; result == 0 && i < COUNT(texts); i++)
        result = json_find_string(answer, texts[i], &text, err);
    if (result == 0)
        result = json_find_bool(answer, "thinking_open", &open, err);
    if (result == 0)
        result = json_find_bool(answer, "cut", &cut, err);
    if (result == 0)
        result = json_find_object(answer, "usage", &ignored, err);
    if (result == 0)
        result = json_find_array(answer, "logprobs", &ignored, err);
    if (result < 0)
        return result;
    *copy = json_object();
    json_put(*copy, "cut", json_boolean(cut));
    for (size_t i = 0; i < COUNT(texts); i++)
        put_kept(*copy, texts[i], json_text_at(answer, texts[i]));
    json_put(*copy, "thinking_open", json_boolean(open));
    json_put(*copy, "usage", usage_of(answer));
    json_put(*copy, "answer_ms", real(number_of(answer, "answer_ms", -1)));
    copy_logprobs(answer, *copy);
    return 0;
}

void episode_record_parse(const json_t *answer, const char *language, struct parsed *parsed)
{
    const json_t *text = json_object_get(answer, "text");
    const char *reasoning = json_text_at(answer, "reasoning");
    struct parse_options options = {.language = language,
                                    .thinking_open = json_is_true(
                                        json_object_get(answer, "thinking_open"))};
    parse_answer(json_string_value(text), json_string_length(text), &options, parsed);
    if (*reasoning) {
        char *both = mem_printf("%s%s%s", reasoning, *parsed->thought ? "\n\n" : "",
                                parsed->thought);
        mem_free(parsed->thought);
        parsed->thought = both;
        parsed->thought_chars = utf8_count(both);
    }
    parsed->too_long = parsed->code && strlen(parsed->code) > LIMIT_SOURCE_BYTES;
    if (parsed->too_long) {
        mem_free(parsed->code);
        parsed->code = NULL;
        parsed->code_chars = 0;
        parsed->format_ok = false;
    }
}

void episode_record_warn(const json_t *answer, const struct parsed *parsed, json_t *warnings)
{
    size_t replaced = parsed->code ? 0 : utf8_replaced(json_text_at(answer, "text"));
    if (json_is_true(json_object_get(answer, "cut")))
        add_warning(warnings, mem_printf("the answer is too long: only its first %zu bytes were "
                                         "read",
                                         strlen(json_text_at(answer, "text"))));
    if (parsed->too_long)
        add_warning(warnings, mem_printf("the code in the answer has more than %zu bytes, the "
                                         "most that a source may have; it was not judged",
                                         LIMIT_SOURCE_BYTES));
    if (replaced > 0)
        add_warning(warnings, mem_printf("the answer holds %zu times " UTF8_REPLACED, replaced));
}

static void put_speedup(json_t *record, const struct verdict *verdict,
                        const struct reward_facts *facts)
{
    bool timed = facts->correct && isfinite(facts->speedup) && facts->speedup > 0;
    struct interval speedup = {0};
    if (timed)
        verdict_speedup(verdict, &speedup);
    json_put(record, "speedup", real(speedup.value));
    json_put(record, "speedup_low", real(speedup.low));
    json_put(record, "speedup_high", real(speedup.high));
}

/* The codes of the catalogue: a wrong result may be a violation, too. */
static json_t *violations_of(const struct verdict *verdict)
{
    json_t *codes = json_array();
    for (uint32_t i = 0; verdict && i < verdict->violation_count; i++)
        json_array_append_new(codes, json_text(verdict->violations[i].code));
    return codes;
}

static void put_reward(json_t *record, const struct reward *reward)
{
    json_put(record, "excluded", json_boolean(reward->excluded));
    json_put(record, "reward", real(reward->excluded ? 0 : reward->total));
    json_t *parts = json_object();
    json_put(parts, "format", real(reward->format));
    json_put(parts, "compile", real(reward->compile));
    json_put(parts, "correctness", real(reward->correctness));
    json_put(parts, "speed", real(reward->speed));
    json_put(parts, "length", real(reward->length));
    json_put(parts, "thinking", real(reward->thinking));
    json_put(parts, "coverage", real(reward->coverage));
    json_put(record, "reward_parts", parts);
}

static double judged_ms(const struct verdict *verdict)
{
    double sum = 0;
    if (!verdict)
        return -1;
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        sum += isfinite(verdict->stages_ms[stage]) ? verdict->stages_ms[stage] : 0;
    return sum;
}

json_t *episode_record_turn(const struct episode_config *config, const struct episode_turn *turn)
{
    const struct parsed *parsed = turn->parsed;
    struct reward_facts facts;
    struct reward reward;
    json_t *record = json_object();
    reward_facts_read(turn->verdict, parsed, config->coverage, &facts);
    reward_compute(&config->reward, &facts, &reward);
    json_put(record, "turn", json_integer(turn->number));
    json_put(record, "prompt", json_incref((json_t *)turn->prompt));
    json_put(record, "answer", json_text(json_text_at(turn->answer, "text")));
    json_put(record, "reasoning", json_text(json_text_at(turn->answer, "reasoning")));
    json_put(record, "thought", json_text(parsed->thought));
    json_put(record, "code", json_text(parsed->code ? parsed->code : ""));
    json_put(record, "finish", json_text(json_text_at(turn->answer, "finish")));
    json_put(record, "model", json_text(json_text_at(turn->answer, "model")));
    json_put(record, "format_ok", json_boolean(parsed->format_ok));
    json_put(record, "compiled", json_boolean(facts.compiled));
    json_put(record, "correct", json_boolean(facts.correct));
    json_put(record, "status",
             json_text(turn->verdict ? verdict_status_name(turn->verdict->status) : "no_code"));
    json_put(record, "violations", violations_of(turn->verdict));
    put_speedup(record, turn->verdict, &facts);
    put_reward(record, &reward);
    json_put(record, "feedback", json_text(turn->feedback));
    json_put(record, "usage", json_incref(json_object_get(turn->answer, "usage")));
    json_put(record, "logprobs", json_incref(json_object_get(turn->answer, "logprobs")));
    json_put(record, "tokens", json_incref(json_object_get(turn->answer, "tokens")));
    json_put(record, "answer_ms", json_incref(json_object_get(turn->answer, "answer_ms")));
    json_put(record, "judge_ms", real(judged_ms(turn->verdict)));
    json_put(record, "evaluation", json_text(turn->evaluation));
    json_put(record, "verdict", turn->verdict ? verdict_json(turn->verdict) : json_null());
    json_put(record, "facts", json_incref((json_t *)turn->facts));
    return record;
}

static json_t *message(const char *role, const char *content)
{
    return json_pack("{s:s, s:o}", "role", role, "content", json_text(content));
}

/* The last user message before that answer. */
static const char *last_user_message(const json_t *turn)
{
    const json_t *prompt = json_object_get(turn, "prompt");
    size_t count = json_array_size(prompt);
    return count ? json_text_at(json_array_get(prompt, count - 1), "content") : "";
}

/* The first prompt, then answers and replies in turn: the training conversation. */
static json_t *conversation(const json_t *turns)
{
    const json_t *first = json_object_get(json_array_get(turns, 0), "prompt");
    json_t *messages = json_is_array(first) ? json_copy((json_t *)first) : json_array();
    size_t count = json_array_size(turns);
    for (size_t i = 0; i < count; i++) {
        const json_t *turn = json_array_get(turns, i);
        json_array_append_new(messages, message("assistant", json_text_at(turn, "answer")));
        if (i + 1 < count)
            json_array_append_new(messages,
                                  message("user", last_user_message(json_array_get(turns, i + 1))));
    }
    return messages;
}

/* Copies of the records with the values that need the whole episode, without the facts. *first: the
 * first turn's return. */
static json_t *with_returns(const json_t *records, double gamma, double *first)
{
    size_t count = json_array_size(records);
    double *rewards = mem_alloc((count + 1) * sizeof *rewards);
    double *returns = mem_alloc((count + 1) * sizeof *returns);
    bool *excluded = mem_alloc((count + 1) * sizeof *excluded);
    bool *keep = mem_alloc((count + 1) * sizeof *keep);
    json_t *turns = json_array();
    for (size_t i = 0; i < count; i++) {
        const json_t *record = json_array_get(records, i);
        rewards[i] = number_of(record, "reward", 0);
        excluded[i] = json_is_true(json_object_get(record, "excluded"));
    }
    reward_returns(rewards, excluded, count, gamma, returns);
    reward_void_turns(rewards, count, keep);
    for (size_t i = 0; i < count; i++) {
        json_t *turn = json_copy(json_array_get(records, i));
        json_put(turn, "return", real(returns[i]));
        json_put(turn, "keep", json_boolean(keep[i] && !excluded[i]));
        json_object_del(turn, "facts");
        json_array_append_new(turns, turn);
    }
    *first = count ? returns[0] : 0;
    mem_free(rewards);
    mem_free(returns);
    mem_free(excluded);
    mem_free(keep);
    return turns;
}

/* The fastest correct turn; if none was timed, the first correct one. */
static void put_best(json_t *object, const json_t *records)
{
    int64_t best = -1;
    double most = -1;
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        double speedup = number_of(record, "speedup", 0);
        if (json_is_true(json_object_get(record, "correct")) && speedup > most) {
            most = speedup;
            best = (int64_t)i;
        }
    }
    json_put(object, "solved", json_boolean(best >= 0));
    json_put(object, "best_turn", json_integer(best));
    json_put(object, "best_speedup", real(best >= 0 ? most : 0));
}

static void put_problem(json_t *object, const struct problem *problem)
{
    const char *slash = strchr(problem->id, '/');
    json_put(object, "problem", json_text(problem->id));
    json_put(object, "problem_format", json_text(problem_format_name(problem)));
    json_put(object, "problem_hash", json_text(problem->hash));
    json_put(object, "level",
             strncmp(problem->id, "level", 5) == 0 && slash
                 ? json_text_bytes(problem->id, (size_t)(slash - problem->id))
                 : json_text(problem_format_name(problem)));
    json_put(object, "category", json_text(problem->category));
}

static const char *model_of(const json_t *records, const json_t *labels)
{
    for (size_t i = 0; i < json_array_size(records); i++) {
        const char *model = json_text_at(json_array_get(records, i), "model");
        if (*model)
            return model;
    }
    return json_text_at(labels, "model");
}

json_t *episode_record_trajectory(const json_t *state, const struct episode_config *config,
                                  const struct problem *problem)
{
    const json_t *records = json_object_get(state, "turns");
    json_t *object = json_object();
    double first;
    json_t *turns = with_returns(records, config->gamma, &first);
    json_put(object, "schema", json_integer(1));
    json_put(object, "episode", json_text(json_text_at(state, "id")));
    put_problem(object, problem);
    json_put(object, "sample", json_integer(integer_of(config->labels, "sample", 0)));
    json_put(object, "iteration", json_integer(integer_of(config->labels, "iteration", 0)));
    json_put(object, "policy", json_text(json_text_at(config->labels, "policy")));
    json_put(object, "model", json_text(model_of(records, config->labels)));
    json_put(object, "language", json_text(config->prompt.language));
    json_put(object, "style", json_text(config->prompt.style));
    json_put(object, "reward_preset", json_text(config->reward.preset));
    json_put(object, "gamma", real(config->gamma));
    json_put(object, "stop_speedup", real(config->stop_speedup));
    json_put(object, "max_turns",
             json_integer(history_turns(config->turns, config->remain_turns, config->iterations)));
    put_best(object, records);
    json_put(object, "end", json_text(json_text_at(state, "end")));
    json_put(object, "return", real(first));
    json_put(object, "messages", conversation(turns));
    json_put(object, "turns", turns);
    json_put(object, "started_at", json_text(json_text_at(state, "started_at")));
    json_put(object, "ended_at", json_text(json_text_at(state, "ended_at")));
    return object;
}
