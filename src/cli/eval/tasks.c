#include "cli/eval/tasks.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "problem/kernelbench.h"
#include "problem/suite.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES ((size_t)1 << 30)
#define LINE_BYTES ((size_t)64 << 20) /* an answer of any length, escaped */
#define HEADER_BYTES 4096
#define DIRECTORY_DEPTH 8
#define KERNELBENCH_RESULTS "eval_results.json"

void eval_tasks_init(struct eval_tasks *tasks, const struct paths_list *search_paths,
                     void (*complain)(const struct err *err))
{
    *tasks = (struct eval_tasks){.search_paths = search_paths, .complain = complain};
}

void eval_tasks_deinit(struct eval_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        mem_free((void *)(uintptr_t)tasks->items[i].candidate.path);
        mem_free((void *)(uintptr_t)tasks->items[i].candidate.text);
        mem_free((void *)(uintptr_t)tasks->items[i].id);
    }
    for (size_t i = 0; i < tasks->problem_count; i++) {
        if (tasks->problems[i]->loaded)
            problem_deinit(&tasks->problems[i]->problem);
        json_decref(tasks->problems[i]->sent);
        mem_free(tasks->problems[i]->wanted);
        mem_free(tasks->problems[i]);
    }
    mem_free(tasks->items);
    mem_free(tasks->problems);
    *tasks = (struct eval_tasks){0};
}

static void report_task_error(struct eval_tasks *tasks, const struct err *err)
{
    tasks->complaints++;
    tasks->complain(err);
}

static void keep_problem(struct eval_tasks *tasks, struct eval_problem *made, const char *wanted)
{
    made->wanted = mem_strdup(wanted);
    made->loaded = true;
    tasks->problems = mem_resize(tasks->problems,
                                 (tasks->problem_count + 1) * sizeof(struct eval_problem *));
    tasks->problems[tasks->problem_count++] = made;
}

/* Whether an unknown problem is left to the server. */
static bool leave_to_server(struct eval_tasks *tasks, struct eval_problem *made, const char *id,
                            const struct err *err)
{
    if (!tasks->remote || err->code != ERR_MISSING || id[0] == '/' || id[0] == '.')
        return false;
    made->problem = (struct problem){0};
    made->problem.id = arena_strdup(&made->problem.arena, id);
    return true;
}

/* Loads each problem once; an unknown one is an error for each use. */
static const struct problem *find_problem(struct eval_tasks *tasks, const char *wanted,
                                          struct err *err)
{
    for (size_t i = 0; i < tasks->problem_count; i++)
        if (strcmp(tasks->problems[i]->wanted, wanted) == 0)
            return &tasks->problems[i]->problem;
    struct eval_problem *made = mem_alloc(sizeof *made);
    if (suite_load(tasks->search_paths, wanted, &made->problem, err) < 0 &&
        !leave_to_server(tasks, made, wanted, err)) {
        mem_free(made);
        return NULL;
    }
    keep_problem(tasks, made, wanted);
    return &made->problem;
}

/* A problem given in the batch itself: the same text is the same problem. */
static const struct problem *take_problem(struct eval_tasks *tasks,
                                          const struct evaluation_request *request, json_t *sent,
                                          struct err *err)
{
    if (request->format == EVALUATION_KNOWN)
        return find_problem(tasks, request->problem_id, err);
    struct eval_problem *made = mem_alloc(sizeof *made);
    int result = evaluation_request_problem(request, tasks->search_paths, &made->problem, err);
    for (size_t i = 0; result == 0 && i < tasks->problem_count; i++)
        if (strcmp(tasks->problems[i]->wanted, made->problem.hash) == 0) {
            problem_deinit(&made->problem);
            mem_free(made);
            return &tasks->problems[i]->problem;
        }
    if (result < 0) {
        problem_deinit(&made->problem);
        mem_free(made);
        return NULL;
    }
    made->sent = json_incref(sent);
    keep_problem(tasks, made, made->problem.hash);
    return &made->problem;
}

/* `text`: any bytes. */
static void add_task(struct eval_tasks *tasks, const struct problem *problem, const char *path,
                     const char *text, size_t bytes)
{
    size_t length;
    char *mended = utf8_mended(text, bytes, &length);
    if (tasks->count == tasks->capacity) {
        tasks->capacity = tasks->capacity ? tasks->capacity * 2 : 16;
        tasks->items = mem_resize(tasks->items, tasks->capacity * sizeof *tasks->items);
    }
    tasks->items[tasks->count] = (struct batch_task){
        .problem = problem,
        .candidate = {.path = mem_strdup(path), .text = mended, .bytes = length},
        .number = tasks->count,
    };
    tasks->count++;
}

/* A source that is far too large is still a candidate with a verdict: one byte above the limit
 * is enough for the judge to refuse it. */
static int read_source(const char *path, char **text, size_t *bytes, struct err *err)
{
    int result = file_read(path, LIMIT_SOURCE_BYTES, text, bytes, err);
    if (result != ERR_LIMIT)
        return result;
    *bytes = LIMIT_SOURCE_BYTES + 1;
    *text = mem_alloc(*bytes + 1);
    memset(*text, ' ', *bytes);
    return 0;
}

static void add_file(struct eval_tasks *tasks, const char *wanted, const char *path,
                     const char *place)
{
    struct err err;
    char *text;
    size_t bytes;
    const struct problem *problem = find_problem(tasks, wanted, &err);
    if (!problem || read_source(path, &text, &bytes, &err) < 0) {
        if (place)
            err_prefix(&err, "%s", place);
        report_task_error(tasks, &err);
        return;
    }
    add_task(tasks, problem, path, text, bytes);
    mem_free(text);
}

/* One line of a batch; `name` and `id` are said beside either form of problem. */
struct pair {
    const char *problem, *path, *source;
};

struct label {
    const char *name, *id; /* of the candidate, and of its verdict; NULL */
};

static int read_label(const json_t *object, struct label *label, struct err *err)
{
    *label = (struct label){0};
    int result = json_find_string(object, "name", &label->name, err);
    if (result == 0)
        result = json_find_string(object, "id", &label->id, err);
    if (result == 0 && label->id && !evaluation_is_id(label->id))
        result = err_set(err, ERR_INPUT, "'id' must have 1 to %d bytes and no control characters",
                         LIMIT_JOB_ID_BYTES);
    return result;
}

static int read_pair(const json_t *object, struct pair *pair, struct err *err)
{
    static const char *const keys[] = {"problem", "candidate", "source", "name", "id"};
    *pair = (struct pair){.problem = ""};
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_string(object, "problem", &pair->problem, err);
    if (result == 0)
        result = json_find_string(object, "candidate", &pair->path, err);
    if (result == 0)
        result = json_find_string(object, "source", &pair->source, err);
    if (result == 0 && !pair->path == !pair->source)
        result = err_set(err, ERR_INPUT,
                         "give either \"candidate\" (a path) or \"source\" (a text)");
    return result;
}

/* The candidate's path in its verdict: its name, with the ending of `file` if the name has none of
 * its own, and only that says what language the text is. */
static char *name_candidate(const struct eval_tasks *tasks, const struct label *label,
                            const char *file, const char *text)
{
    const char *ending = strrchr(file, '.');
    if (!label->name)
        return mem_strdup(file);
    bool same = language_has_ending(&tasks->languages, label->name) ||
                language_of(&tasks->languages, label->name, text) ==
                    language_of(&tasks->languages, file, text);
    return mem_printf("%s%s", label->name, same || !ending ? "" : ending);
}

/* A source given in the batch itself. */
static int add_text(struct eval_tasks *tasks, const struct pair *pair, const struct label *label,
                    const char *place, struct err *err)
{
    const struct problem *problem = find_problem(tasks, pair->problem, err);
    if (!problem)
        return err->code;
    bool torch = problem->format == PROBLEM_TORCH;
    const struct language *language = torch ? language_standard(PROBLEM_TORCH)
                                            : language_of(NULL, "", pair->source);
    char *file = mem_printf("%s%s", place, language->endings[0]);
    char *name = name_candidate(tasks, label, file, pair->source);
    add_task(tasks, problem, name, pair->source, strlen(pair->source));
    mem_free(name);
    mem_free(file);
    return 0;
}

/* Problem and candidate in the format of a server's request. */
static int add_request(struct eval_tasks *tasks, const json_t *object, const struct label *label,
                       const char *place, struct err *err)
{
    static const char *const keys[] = {"problem", "candidate", "name", "id"};
    struct evaluation_request request = {0};
    const struct problem *problem;
    json_t *sent;
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result < 0)
        return result;
    sent = json_pack("{s:O?, s:O?}", "problem", json_object_get(object, "problem"), "candidate",
                     json_object_get(object, "candidate"));
    result = evaluation_request_parse(sent, &request, err);
    json_decref(sent); /* `object` keeps its parts */
    if (result < 0 || !request.candidate_source)
        return result;
    problem = take_problem(tasks, &request, json_object_get(object, "problem"), err);
    if (!problem)
        return err->code;
    char *file = mem_printf("%s/%s", place, request.candidate_name);
    char *name = name_candidate(tasks, label, file, request.candidate_source);
    add_task(tasks, problem, name, request.candidate_source, strlen(request.candidate_source));
    mem_free(name);
    mem_free(file);
    return 0;
}

/* A path that a batch has, as it is from here. */
static char *path_from(const char *batch, const char *path)
{
    const char *slash = strrchr(batch, '/');
    int base = slash && path[0] != '/' ? (int)(slash - batch + 1) : 0;
    return mem_printf("%.*s%s", base, batch, path);
}

/* A problem's path, relative to the batch; what is not there is an id, or a path from here. */
static char *problem_from(const char *batch, const char *problem)
{
    char *path = path_from(batch, problem);
    bool written_so = strchr(problem, '/') || strchr(problem, '.');
    if (written_so && suite_is_path(path))
        return path;
    mem_free(path);
    return mem_strdup(problem);
}

/* A path, relative to the batch. */
static void add_path(struct eval_tasks *tasks, const struct pair *pair, const struct label *label,
                     const char *batch, const char *place)
{
    char *full = path_from(batch, pair->path);
    size_t before = tasks->count;
    add_file(tasks, pair->problem, full, place);
    if (tasks->count > before) {
        struct candidate *added = &tasks->items[before].candidate;
        mem_free((void *)(uintptr_t)added->path);
        added->path = name_candidate(tasks, label, full, added->text);
    }
    mem_free(full);
}

/* One line of a batch. Returns 0, or < 0 with the location in err. */
static int add_line(struct eval_tasks *tasks, const char *name, size_t line, const char *text,
                    size_t bytes, struct err *err)
{
    json_t *object = NULL;
    struct pair pair;
    struct label label;
    char place[512];
    size_t before = tasks->count;
    snprintf(place, sizeof place, "%.400s:%zu", name, line);
    int result = json_parse_mended(name, line, text, bytes, &object, err);
    if (result < 0)
        return result;
    bool whole = json_is_object(json_object_get(object, "problem"));
    result = read_label(object, &label, err);
    if (result == 0 && whole)
        result = add_request(tasks, object, &label, place, err);
    else if (result == 0)
        result = read_pair(object, &pair, err);
    char *problem = result == 0 && !whole ? problem_from(name, pair.problem) : NULL;
    pair.problem = problem;
    if (result == 0 && !whole && pair.path)
        add_path(tasks, &pair, &label, name, place);
    else if (result == 0 && !whole)
        result = add_text(tasks, &pair, &label, place, err);
    if (label.id && tasks->count > before)
        tasks->items[before].id = mem_strdup(label.id);
    if (result < 0)
        err_prefix(err, "%s", place);
    mem_free(problem);
    json_decref(object);
    return result;
}

static void add_lines(struct eval_tasks *tasks, const char *name, const char *text, size_t bytes)
{
    struct err err;
    size_t line = 1;
    for (size_t at = 0; at < bytes; line++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - text) - at : bytes - at;
        bool blank = strspn(text + at, " \t\r") >= length;
        int result = 0;
        if (length > LINE_BYTES)
            result = err_set(&err, ERR_LIMIT, "%s:%zu: %zu bytes, more than a line may have", name,
                             line, length);
        else if (!blank)
            result = add_line(tasks, name, line, text + at, length, &err);
        if (result < 0)
            report_task_error(tasks, &err);
        at += length + 1;
    }
}

static void add_batch(struct eval_tasks *tasks, const char *path)
{
    struct err err;
    char *text;
    size_t bytes;
    if (file_read(path, BATCH_BYTES, &text, &bytes, &err) < 0) {
        report_task_error(tasks, &err);
        return;
    }
    add_lines(tasks, path, text, bytes);
    mem_free(text);
}

/* A candidate for `problem`, in a language that its text shows; without a problem a batch. */
static void add_standard_input(struct eval_tasks *tasks, const char *problem)
{
    static const char name[] = "standard input";
    static const struct label nameless;
    struct err err;
    char *text = NULL;
    size_t bytes = 0;
    int result = file_read_fd(STDIN_FILENO, name, problem ? LINE_BYTES : BATCH_BYTES, &text, &bytes,
                              &err);
    if (result == 0 && bytes == 0)
        result = err_set(&err, ERR_INPUT, "%s: is empty", name);
    if (result == 0 && problem) {
        char *source = utf8_mended(text, bytes, NULL);
        const struct pair pair = {.problem = problem, .source = source};
        result = add_text(tasks, &pair, &nameless, "stdin", &err);
        mem_free(source);
    } else if (result == 0) {
        add_lines(tasks, name, text, bytes);
    }
    if (result < 0)
        report_task_error(tasks, &err);
    mem_free(text);
}

/* `problem: ID` within the first lines, behind a comment sign. */
static bool problem_in_text(const char *path, char *id, size_t id_bytes)
{
    struct err ignored;
    char *text;
    size_t bytes;
    bool found = false;
    if (file_read(path, LIMIT_SOURCE_BYTES, &text, &bytes, &ignored) < 0)
        return false;
    if (bytes > HEADER_BYTES)
        text[HEADER_BYTES] = '\0';
    for (char *line = text; line && !found; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t/*#");
        if (strncmp(line, "problem:", 8) != 0)
            continue;
        line += 8 + strspn(line + 8, " \t");
        size_t length = strcspn(line, " \t\r\n*");
        found = length > 0 && length < id_bytes;
        if (found)
            snprintf(id, id_bytes, "%.*s", (int)length, line);
    }
    mem_free(text);
    return found;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add_source(struct eval_tasks *tasks, const char *problem, const char *path,
                       const char *below)
{
    char id[LIMIT_NAME_BYTES * 2];
    struct kernelbench_answer name;
    struct err err;
    if (problem) {
        add_file(tasks, problem, path, NULL);
    } else if (kernelbench_answer_named(path, &name)) {
        snprintf(id, sizeof id, "level%" PRId64 "/%" PRId64, name.level, name.problem);
        tasks->kernelbench++;
        add_file(tasks, id, path, path);
    } else if (problem_in_text(path, id, sizeof id)) {
        add_file(tasks, id, path, path);
    } else if (below[0]) {
        add_file(tasks, below, path, path);
    } else {
        err_set(&err, ERR_INPUT,
                "%s: names no problem; give --problem, or write `problem: ID` into its first lines",
                path);
        report_task_error(tasks, &err);
    }
}

/* `below`: the path relative to the named directory, which may be a problem's id. */
static void add_directory(struct eval_tasks *tasks, const char *problem, const char *path,
                          const char *below, int depth)
{
    struct dirent **names;
    int count = scandir(path, &names, not_hidden, by_name);
    size_t before = tasks->count + tasks->complaints;
    struct err err;
    for (int i = 0; i < count; i++) {
        char *full = mem_printf("%s/%s", path, names[i]->d_name);
        char *deeper = mem_printf("%s%s%s", below, below[0] ? "/" : "", names[i]->d_name);
        if (file_is_directory(full) && depth < DIRECTORY_DEPTH)
            add_directory(tasks, problem, full, deeper, depth + 1);
        else if (language_has_ending(&tasks->languages, names[i]->d_name))
            add_source(tasks, problem, full, below);
        mem_free(full);
        mem_free(deeper);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    if (depth == 0 && tasks->count + tasks->complaints == before) {
        char endings[256];
        language_endings(&tasks->languages, endings, sizeof endings);
        err_set(&err, ERR_INPUT, "%s: holds no candidate (%s)", path, endings);
        report_task_error(tasks, &err);
    }
}

/* It holds results only: the answers lie beside it. */
static void add_results(struct eval_tasks *tasks, const char *problem, const char *path)
{
    char *directory = mem_printf("%.*s", (int)(strlen(path) - strlen("/" KERNELBENCH_RESULTS)),
                                 path);
    add_directory(tasks, problem, directory, "", 0);
    mem_free(directory);
}

void eval_tasks_add(struct eval_tasks *tasks, const char *problem, const char *path)
{
    if (strcmp(path, "-") == 0)
        add_standard_input(tasks, problem);
    else if (text_ends_with(path, ".jsonl"))
        add_batch(tasks, path);
    else if (file_is_directory(path))
        add_directory(tasks, problem, path, "", 0);
    else if (text_ends_with(path, "/" KERNELBENCH_RESULTS))
        add_results(tasks, problem, path);
    else if (problem)
        add_file(tasks, problem, path, NULL);
    else
        add_source(tasks, NULL, path, "");
}
