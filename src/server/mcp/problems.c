/* Problems as tools, resources and prompts present them; similar examples. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/remote.h"
#include "gym/gym.h"
#include "gym/prompt/prompt.h"
#include "judge/request/language.h"
#include "problem/suite.h"
#include "retrieval/retrieval.h"
#include "server/mcp/gym_internal.h"

#include <string.h>

#define URI "warpgym://problems/"
#define PAGE 50
#define EXAMPLES 3
#define TEXT_BYTES ((size_t)8 << 20)

int mcp_problem_load(struct mcp_gym *mcp_gym, const char *id, struct problem *problem,
                     struct err *err)
{
    const struct gym *gym = mcp_gym->options.gym;
    return suite_load_id(gym->search_paths, id, problem, err);
}

static bool contains_text(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static json_t *row_of(struct mcp_gym *mcp_gym, const struct suite_entry *entry)
{
    struct problem problem = {0};
    struct err err;
    json_t *row = json_object();
    bool good = mcp_problem_load(mcp_gym, entry->id, &problem, &err) == 0;
    json_put(row, "id", json_text(entry->id));
    json_put(row, "format", json_text(entry->format == PROBLEM_NATIVE ? "native" : "torch"));
    json_put(row, "category", json_text(good && problem.category ? problem.category : ""));
    json_put(row, "summary", json_text(good && problem.summary ? problem.summary : ""));
    if (!good)
        json_put(row, "error", json_text(err.text));
    problem_deinit(&problem);
    return row;
}

static bool row_matches(const json_t *row, const char *filter, const char *format)
{
    return (!format || strcmp(mcp_text_of(row, "format"), format) == 0) &&
           (!filter || contains_text(mcp_text_of(row, "id"), filter) ||
            contains_text(mcp_text_of(row, "category"), filter) ||
            contains_text(mcp_text_of(row, "summary"), filter));
}

static int64_t int_of(const json_t *arguments, const char *key, int64_t standard)
{
    const json_t *value = json_object_get(arguments, key);
    return value ? json_integer_value(value) : standard;
}

/* All matching problems, in the order of the suites. */
static int find_all(struct mcp_gym *mcp_gym, const json_t *arguments, json_t **rows,
                    struct err *err)
{
    const struct gym *gym = mcp_gym->options.gym;
    const char *filter = mcp_text_of(arguments, "filter");
    const char *format = mcp_text_of(arguments, "format");
    struct suite suite;
    int result = suite_open(&suite, gym->search_paths, err);
    if (result < 0)
        return result;
    *rows = json_array();
    for (size_t i = 0; i < suite.count; i++) {
        json_t *row = row_of(mcp_gym, &suite.entries[i]);
        if (row_matches(row, filter, format))
            json_array_append(*rows, row);
        json_decref(row);
    }
    suite_close(&suite);
    return 0;
}

int mcp_tool_list_problems(void *context, struct mcp_call *call, const json_t *arguments,
                           struct mcp_answer *answer, struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    size_t from = (size_t)int_of(arguments, "from", 0);
    size_t limit = (size_t)int_of(arguments, "limit", PAGE);
    json_t *all, *rows = json_array();
    struct buf text;
    int result = find_all(mcp_gym, arguments, &all, err);
    if (result < 0) {
        json_decref(rows);
        return result;
    }
    size_t total = json_array_size(all);
    buf_init(&text, TEXT_BYTES);
    for (size_t i = from; i < total && i - from < limit; i++) {
        json_t *row = json_array_get(all, i);
        json_array_append(rows, row);
        buf_printf(&text, "%s (%s): %s\n", mcp_text_of(row, "id"), mcp_text_of(row, "format"),
                   mcp_text_of(row, "summary"));
    }
    size_t next = from + limit;
    bool more = next < total;
    if (more)
        buf_printf(&text, "… %zu more: from=%zu\n", total - next, next);
    else if (total == 0)
        buf_puts(&text, "no problem matches\n");
    answer->text = buf_take(&text);
    answer->structured = json_object();
    json_put(answer->structured, "problems", rows);
    json_put(answer->structured, "total", json_integer((json_int_t)total));
    json_put(answer->structured, "next", more ? json_integer((json_int_t)next) : json_null());
    json_decref(all);
    return 0;
}

int mcp_list_resources(void *context, size_t from, size_t count, json_t *resources, bool *more,
                       struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    const struct gym *gym = mcp_gym->options.gym;
    struct suite suite;
    int result = suite_open(&suite, gym->search_paths, err);
    if (result < 0)
        return result;
    for (size_t i = from; i < suite.count && i - from < count; i++) {
        json_t *row = row_of(mcp_gym, &suite.entries[i]), *item = json_object();
        char *uri = mem_printf("%s%s", URI, suite.entries[i].id);
        json_put(item, "uri", json_text(uri));
        json_put(item, "name", json_text(suite.entries[i].id));
        json_put(item, "description", json_incref(json_object_get(row, "summary")));
        json_put(item, "mimeType", json_string("application/json"));
        json_array_append_new(resources, item);
        mem_free(uri);
        json_decref(row);
    }
    *more = from + count < suite.count;
    suite_close(&suite);
    return 0;
}

/* The first prompt of an episode; `language` NULL: the default one, which *chosen receives
 * (mem_free). */
static int problem_prompt(struct mcp_gym *mcp_gym, const char *id, const char *language,
                          json_t **messages, char **chosen, struct err *err)
{
    json_t *configuration = json_pack("{s:{s:o}}", "problem", "id", json_text(id));
    struct episode *episode = NULL;
    char drawn[REMOTE_ID_BYTES];
    remote_draw_id(drawn);
    if (language)
        json_put(configuration, "language", json_text(language));
    int result = episode_new(&episode, mcp_gym->options.gym, drawn, configuration, err);
    if (result == 0) {
        const json_t *resolved = json_object_get(episode_state(episode), "configuration");
        *chosen = mem_strdup(mcp_text_of(resolved, "language"));
        result = episode_messages(episode, messages, err);
        if (result < 0)
            mem_free(*chosen);
    }
    episode_free(episode);
    json_decref(configuration);
    return result;
}

/* Puts the system message before the user's: MCP's prompts have no system role. */
static char *join_messages(const json_t *messages)
{
    struct buf text;
    buf_init(&text, LIMIT_PROMPT_BYTES);
    for (size_t i = 0; i < json_array_size(messages); i++)
        buf_printf(&text, "%s%s", i ? "\n\n" : "",
                   mcp_text_of(json_array_get(messages, i), "content"));
    return buf_take(&text);
}

static json_t *languages_of(enum problem_format format)
{
    json_t *list = json_array();
    const struct language *row;
    for (size_t i = 0; (row = language_at(i)); i++)
        if (row->format == format)
            json_array_append_new(list, json_string(row->name));
    return list;
}

/* *task is the caller's (mem_free). */
static int problem_describe(struct mcp_gym *mcp_gym, const char *id, const char *language,
                            json_t **out, char **task, struct err *err)
{
    struct problem problem = {0};
    json_t *messages = NULL;
    char *chosen = NULL;
    int result = mcp_problem_load(mcp_gym, id, &problem, err);
    if (result == 0)
        result = problem_prompt(mcp_gym, id, language, &messages, &chosen, err);
    if (result == 0) {
        *task = join_messages(messages);
        *out = json_object();
        json_put(*out, "problem", prompt_problem(&problem));
        json_put(*out, "languages", languages_of(problem.format));
        json_put(*out, "language", json_text(chosen));
        json_put(*out, "task", json_text(*task));
        json_put(*out, "device", gym_device(mcp_gym->options.gym));
        mem_free(chosen);
        json_decref(messages);
    }
    problem_deinit(&problem);
    return result;
}

int mcp_tool_read_problem(void *context, struct mcp_call *call, const json_t *arguments,
                          struct mcp_answer *answer, struct err *err)
{
    return problem_describe(context, mcp_text_of(arguments, "problem"),
                            mcp_text_of(arguments, "language"), &answer->structured, &answer->text,
                            err);
}

int mcp_read_resource(void *context, const char *uri, json_t **contents, struct err *err)
{
    json_t *object = NULL;
    char *task = NULL;
    if (strncmp(uri, URI, strlen(URI)) != 0 || strlen(uri) > strlen(URI) + LIMIT_NAME_BYTES)
        return err_set(err, ERR_MISSING, "unknown resource: " URI "ID is a problem");
    int result = problem_describe(context, uri + strlen(URI), NULL, &object, &task, err);
    if (result < 0)
        return result;
    char *text = json_line_text(object, TEXT_BYTES, err);
    if (text)
        *contents = json_pack("[{s:o, s:s, s:o}]", "uri", json_text(uri), "mimeType",
                              "application/json", "text", json_text(text));
    result = text ? 0 : err->code;
    mem_free(text);
    mem_free(task);
    json_decref(object);
    return result;
}

int mcp_get_prompt(void *context, const char *name, const json_t *arguments, json_t **messages,
                   struct err *err)
{
    const char *problem, *language = NULL;
    json_t *prompt = NULL;
    char *chosen = NULL;
    if (!arguments)
        return err_set(err, ERR_INPUT, "arguments.problem: is missing");
    if (json_get_string(arguments, "problem", &problem, err) < 0 ||
        json_find_string(arguments, "language", &language, err) < 0)
        return err_prefix(err, "arguments");
    int result = problem_prompt(context, problem, language, &prompt, &chosen, err);
    if (result < 0)
        return result;
    char *text = join_messages(prompt);
    *messages = json_pack("[{s:s, s:{s:s, s:o}}]", "role", "user", "content", "type", "text",
                          "text", json_text(text));
    mem_free(text);
    mem_free(chosen);
    json_decref(prompt);
    return 0;
}

static char *examples_text(const json_t *examples)
{
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < json_array_size(examples); i++) {
        const json_t *example = json_array_get(examples, i);
        const char *name = mcp_text_of(example, "name"), *code = mcp_text_of(example, "solution");
        const char *language = mcp_text_of(example, "language");
        double speedup = json_number_value(json_object_get(example, "speedup"));
        buf_printf(&text, "%s## %s (%s", i ? "\n" : "", name ? name : "?",
                   language ? language : "?");
        if (speedup > 0)
            buf_printf(&text, ", %.2fx", speedup);
        buf_printf(&text, ")\n\n%s\n", code ? code : "");
    }
    if (json_array_size(examples) == 0)
        buf_puts(&text, "no similar example in the index");
    return buf_take(&text);
}

int mcp_tool_search_examples(void *context, struct mcp_call *call, const json_t *arguments,
                             struct mcp_answer *answer, struct err *err)
{
    struct mcp_gym *mcp_gym = context;
    const char *id = mcp_text_of(arguments, "problem");
    struct problem problem = {0};
    struct retrieval_query query = {.text = mcp_text_of(arguments, "query"),
                                    .language = mcp_text_of(arguments, "language"),
                                    .count = (size_t)int_of(arguments, "count", EXAMPLES)};
    json_t *examples = NULL;
    if (!mcp_gym->options.gym->retrieval)
        return err_set(err, ERR_UNSUPPORTED,
                       "this server has no index of examples (`warpgym mcp --index DIR`)");
    if (!id && !query.text)
        return err_set(err, ERR_INPUT, "give a problem, or words to search for");
    int result = id ? mcp_problem_load(mcp_gym, id, &problem, err) : 0;
    if (result == 0) {
        query.problem_id = id ? problem.id : NULL;
        query.text = query.text ? query.text : problem.reference_text;
        result = retrieval_search(mcp_gym->options.gym->retrieval, &query, &examples, err);
    }
    problem_deinit(&problem);
    if (result < 0)
        return result;
    answer->text = examples_text(examples);
    answer->structured = json_pack("{s:o}", "examples", examples);
    return 0;
}
