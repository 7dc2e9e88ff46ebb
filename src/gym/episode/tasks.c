#include "gym/episode/tasks.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "gym/episode/best.h"
#include "gym/episode/config.h"
#include "judge/request/language.h"
#include "judge/request/request.h"
#include "problem/suite.h"

#include <string.h>

#define LIST_BYTES ((size_t)4 << 20)

struct collection {
    const struct tasks_choice *choice;
    struct suite suite;
    json_t *tasks;
    json_t *seen; /* ids */
};

static json_t *start_of(const struct tasks_choice *choice, const struct problem *problem)
{
    const char *language = choice->language;
    if (!choice->best)
        return NULL;
    if (!*language)
        language = language_standard(problem->format)->name;
    return best_start(choice->best, problem->id, problem->hash, language);
}

static int add_problem(struct collection *collection, const char *what, struct err *err)
{
    const struct tasks_choice *choice = collection->choice;
    struct problem problem = {0};
    int result = suite_load(choice->search_paths, what, &problem, err);
    if (result == 0 && !json_object_get(collection->seen, problem.id)) {
        bool known = suite_find(&collection->suite, problem.id) != NULL;
        json_t *task = json_object(), *start = start_of(collection->choice, &problem);
        json_put(task, "problem",
                 known ? json_pack("{s:s, s:s}", "id", problem.id, "hash", problem.hash)
                       : evaluation_problem_json(&problem));
        if (!known)
            json_put(task, "hash", json_string(problem.hash));
        if (start)
            json_put(task, "start", start);
        json_array_append_new(collection->tasks, task);
        json_put(collection->seen, problem.id, json_true());
    }
    problem_deinit(&problem);
    return result;
}

/* "level1" of "level1/23"; the format of the others. */
static bool is_seen(const struct suite_entry *entry, const char *word)
{
    const char *slash = strchr(entry->id, '/');
    size_t length = strlen(word);
    const char *format = entry->format == PROBLEM_NATIVE ? "native" : "torch";
    return strcmp(word, "all") == 0 || strcmp(word, format) == 0 ||
           (slash && (size_t)(slash - entry->id) == length &&
            strncmp(entry->id, word, length) == 0);
}

static int add_word(struct collection *collection, const char *word, struct err *err);

static int add_list(struct collection *collection, const char *path, struct err *err)
{
    char *text, *rest = NULL;
    size_t bytes;
    int result = file_read(path, LIST_BYTES, &text, &bytes, err);
    if (result < 0)
        return result;
    size_t number = 0;
    for (char *line = text; result == 0 && line; line = rest) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        number++;
        line[strcspn(line, "#\r")] = '\0';
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (*line == '@')
            result = err_set(err, ERR_INPUT, "a list names problems, not other lists");
        else if (*line)
            result = add_word(collection, line, err);
        if (result < 0)
            err_prefix(err, "%s:%zu", path, number);
    }
    mem_free(text);
    return result;
}

static int add_word(struct collection *collection, const char *word, struct err *err)
{
    int result = 0;
    if (word[0] == '@')
        return add_list(collection, word + 1, err);
    if (!suite_find(&collection->suite, word)) {
        bool any = false;
        for (size_t i = 0; result == 0 && i < collection->suite.count; i++)
            if (is_seen(&collection->suite.entries[i], word)) {
                any = true;
                result = add_problem(collection, collection->suite.entries[i].id, err);
            }
        if (any || result < 0)
            return result;
    }
    return add_problem(collection, word, err);
}

int tasks_of(const char *const *words, size_t count, const struct tasks_choice *choice,
             json_t **tasks, struct err *err)
{
    struct collection collection = {.choice = choice};
    int result = suite_open(&collection.suite, choice->search_paths, err);
    if (result < 0)
        return result;
    collection.tasks = json_array();
    collection.seen = json_object();
    for (size_t i = 0; result == 0 && i < count; i++)
        result = add_word(&collection, words[i], err);
    suite_close(&collection.suite);
    json_decref(collection.seen);
    if (result < 0)
        json_decref(collection.tasks);
    else
        *tasks = collection.tasks;
    return result;
}

const char *task_problem(const json_t *task)
{
    const char *id = json_text_at(json_object_get(task, "problem"), "id");
    return *id ? id : "inline";
}

json_t *task_configuration(const json_t *configuration, const json_t *task)
{
    json_t *copy = json_copy((json_t *)configuration), *start = json_object_get(task, "start");
    json_put(copy, "problem", json_incref(json_object_get(task, "problem")));
    if (start)
        json_put(copy, "start", json_incref(start));
    return copy;
}

int tasks_check(const struct gym *gym, const json_t *configuration, const json_t *tasks,
                struct err *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < json_array_size(tasks); i++) {
        struct problem problem = {0};
        json_t *asked = task_configuration(configuration, json_array_get(tasks, i)), *resolved;
        result = episode_config_resolve(gym, asked, &resolved, &problem, err);
        if (result == 0)
            json_decref(resolved);
        problem_deinit(&problem);
        json_decref(asked);
    }
    return result;
}
