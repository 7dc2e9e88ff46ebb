#include "judge/request/request.h"

#include "base/array.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/printable.h"
#include "judge/request/judge_settings.h"
#include "judge/request/language.h"
#include "judge/verdict.h"

#include <stdio.h>
#include <string.h>

static const char *const format_names[] = {
#define X(symbol, name) name,
    EVALUATION_FORMATS(X)
#undef X
};

static const char *const priority_names[] = {
#define X(symbol, name) name,
    EVALUATION_PRIORITIES(X)
#undef X
};

/* Neither paths nor libraries nor what the machine can bear: those are its owner's. */
static const char *const allowed_settings[] = {
    "check.trials",         "check.tolerance",
    "audit.gameable",       "timing.target",
    "timing.budget_ms",     "timing.gpu_target",
    "timing.gpu_budget_ms", "timing.min_samples",
    "timing.max_samples",   "torch.device",
    "torch.precision",      "torch.compile",
    "run.timeout_ms",       "run.load_timeout_ms",
    "compile.timeout_ms",   "run.first_call_timeout_ms",
};

bool evaluation_is_identifier(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && text[length] == '\0' && length < LIMIT_NAME_BYTES &&
           !(text[0] >= '0' && text[0] <= '9');
}

bool evaluation_is_id(const char *text)
{
    char shown[LIMIT_JOB_ID_BYTES + 1];
    size_t length = strlen(text);
    if (length == 0 || length > LIMIT_JOB_ID_BYTES)
        return false;
    memcpy(shown, text, length + 1);
    printable_text(shown, false);
    return strcmp(shown, text) == 0;
}

static int check_size(const char *key, const char *text, size_t most, struct err *err)
{
    size_t bytes = text ? strlen(text) : 0;
    if (bytes <= most)
        return 0;
    return err_set(err, ERR_LIMIT, "'%s' has %zu bytes; %zu are the most", key, bytes, most);
}

/* The place of `name` among `names`, from `first` on. */
static int choose_word(const char *key, const char *name, const char *const *names, size_t first,
                       size_t count, int *out, struct err *err)
{
    char list[128] = "";
    for (size_t i = first; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (int)i;
            return 0;
        }
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", names[i]);
    }
    return err_set(err, ERR_INPUT, "'%s' is '%.64s'; it must be one of %s", key, name, list);
}

static int read_entry_point(const json_t *object, const char *standard, const char **out,
                            struct err *err)
{
    *out = standard;
    int result = json_find_string(object, "entry_point", out, err);
    if (result == 0 && !evaluation_is_identifier(*out))
        result = err_set(err, ERR_INPUT, "'entry_point' must be the name of a class, not '%.64s'",
                         *out);
    return result;
}

static int read_known(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static const char *const keys[] = {"id", "hash"};
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_string(object, "id", &request->problem_id, err);
    if (result == 0)
        result = check_size("id", request->problem_id, LIMIT_NAME_BYTES, err);
    /* A path would be one of the server's files. */
    if (result == 0 && (request->problem_id[0] == '/' || request->problem_id[0] == '.' ||
                        strstr(request->problem_id, "..")))
        result = err_set(err, ERR_INPUT, "'id' is a path; it must be a problem's id");
    if (result == 0)
        result = json_find_string(object, "hash", &request->problem_hash, err);
    return result;
}

static int read_torch(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static const char *const keys[] = {"format", "source", "entry_point"};
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_string(object, "source", &request->problem_source, err);
    if (result == 0)
        result = check_size("source", request->problem_source, LIMIT_SOURCE_BYTES, err);
    if (result == 0)
        result = read_entry_point(object, "Model", &request->entry_point, err);
    return result;
}

static int read_native(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static const char *const keys[] = {"format", "yaml", "source", "cuda"};
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_string(object, "yaml", &request->problem_yaml, err);
    if (result == 0)
        result = json_get_string(object, "source", &request->problem_source, err);
    if (result == 0)
        result = json_find_string(object, "cuda", &request->problem_cuda, err);
    if (result == 0)
        result = check_size("yaml", request->problem_yaml, LIMIT_YAML_BYTES, err);
    if (result == 0)
        result = check_size("source", request->problem_source, LIMIT_SOURCE_BYTES, err);
    if (result == 0)
        result = check_size("cuda", request->problem_cuda, LIMIT_SOURCE_BYTES, err);
    return result;
}

static int read_simple(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static const char *const keys[] = {"format", "entry_point", "cases", "compare"};
    const json_t *cases = json_object_get(object, "cases");
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = read_entry_point(object, "ModelNew", &request->entry_point, err);
    if (result == 0)
        result = json_find_bool(object, "compare", &request->compare, err);
    if (result < 0 || !cases || json_is_null(cases))
        return result;
    if (json_is_string(cases)) {
        request->cases_source = json_string_value(cases);
        return check_size("cases", request->cases_source, LIMIT_SOURCE_BYTES, err);
    }
    if (!json_is_array(cases) || json_array_size(cases) == 0)
        return err_set(err, ERR_INPUT, "'cases' must be a module's text or a list of cases");
    if (json_dumpb(cases, NULL, 0, JSON_COMPACT) > LIMIT_SOURCE_BYTES)
        return err_set(err, ERR_LIMIT, "'cases' has more than %zu bytes", LIMIT_SOURCE_BYTES);
    request->cases = cases;
    return 0;
}

static int read_problem(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static int (*const readers[])(const json_t *, struct evaluation_request *,
                                  struct err *) = {[EVALUATION_KNOWN] = read_known,
                                                   [EVALUATION_TORCH] = read_torch,
                                                   [EVALUATION_NATIVE] = read_native,
                                                   [EVALUATION_SIMPLE] = read_simple};
    json_t *problem = NULL;
    const char *format = NULL;
    int chosen = EVALUATION_KNOWN;
    int result = json_get_object(object, "problem", &problem, err);
    if (result == 0)
        result = json_find_string(problem, "format", &format, err);
    if (result == 0 && !format && !json_object_get(problem, "id"))
        result = err_set(err, ERR_INPUT, "give either \"id\" or \"format\" and the problem's text");
    if (result == 0 && format)
        result = choose_word("format", format, format_names, EVALUATION_TORCH, COUNT(format_names),
                             &chosen, err);
    if (result == 0) {
        request->format = (enum evaluation_format)chosen;
        result = readers[chosen](problem, request, err);
    }
    return result < 0 && problem ? err_prefix(err, "problem") : result;
}

static const char *standard_name(const struct evaluation_request *request)
{
    if (request->format == EVALUATION_TORCH || request->format == EVALUATION_SIMPLE)
        return "candidate.py";
    return language_of(NULL, "", request->candidate_source)->file;
}

static int read_language(const char *name, struct evaluation_request *request, struct err *err)
{
    const struct language *language = language_named(name);
    if (!language)
        return language_unknown(name, err);
    if (!request->candidate_name)
        request->candidate_name = language->file;
    return 0;
}

static int read_candidate(const json_t *object, struct evaluation_request *request, struct err *err)
{
    static const char *const keys[] = {"source", "name", "language"};
    json_t *candidate = NULL;
    const char *language = NULL;
    int result = json_get_object(object, "candidate", &candidate, err);
    if (result < 0)
        return result;
    result = json_check_keys(candidate, keys, COUNT(keys), err);
    if (result == 0)
        result = json_get_string(candidate, "source", &request->candidate_source, err);
    if (result == 0)
        result = json_find_string(candidate, "name", &request->candidate_name, err);
    if (result == 0)
        result = json_find_string(candidate, "language", &language, err);
    if (result == 0 && request->candidate_name)
        result = check_size("name", request->candidate_name, LIMIT_NAME_BYTES, err);
    if (result == 0 && language)
        result = read_language(language, request, err);
    if (result == 0 && !request->candidate_name)
        request->candidate_name = standard_name(request);
    return result < 0 ? err_prefix(err, "candidate") : 0;
}

/* One value as the command line would have it. */
static int assign_setting(struct settings *settings, const char *path, const json_t *value,
                          struct err *err)
{
    char text[128];
    const char *given = json_string_value(value);
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_object(value)) { /* a tolerance */
        size_t bytes = json_dumpb(value, text, sizeof text - 1, JSON_COMPACT);
        text[bytes < sizeof text ? bytes : 0] = '\0';
    } else if (!given)
        return err_set(err, ERR_INPUT, "'%s' must be a text, a number or a boolean", path);
    return settings_set(settings, path, given ? given : text, ORIGIN_COMMAND_LINE, err);
}

static int assign_all(struct settings *settings, const json_t *values, struct err *err)
{
    int result = json_check_keys(values, allowed_settings, COUNT(allowed_settings), err);
    for (size_t i = 0; result == 0 && i < COUNT(allowed_settings); i++) {
        const json_t *value = json_object_get(values, allowed_settings[i]);
        if (value)
            result = assign_setting(settings, allowed_settings[i], value, err);
    }
    return result < 0 ? err_prefix(err, "settings") : 0;
}

static int read_settings(const json_t *object, struct evaluation_request *request, struct err *err)
{
    json_t *values = NULL;
    int result = json_find_object(object, "settings", &values, err);
    if (result < 0 || !values)
        return result;
    struct settings scratch;
    settings_init(&scratch);
    result = assign_all(&scratch, values, err);
    settings_deinit(&scratch);
    request->settings = values;
    return result;
}

static int read_terms(const json_t *object, struct evaluation_request *request, struct err *err)
{
    const char *priority = priority_names[EVALUATION_NORMAL];
    int chosen = EVALUATION_NORMAL;
    int result = json_find_bool(object, "timing", &request->timing, err);
    if (result == 0)
        result = json_find_bool(object, "fresh", &request->fresh, err);
    if (result == 0)
        result = json_find_int(object, "timeout_ms", &request->timeout_ms, err);
    if (result == 0 && (request->timeout_ms < 1 || request->timeout_ms > LIMIT_EVALUATION_MS))
        result = err_set(err, ERR_INPUT, "'timeout_ms' must be between 1 and %lld",
                         (long long)LIMIT_EVALUATION_MS);
    if (result == 0)
        result = json_find_string(object, "priority", &priority, err);
    if (result == 0)
        result = choose_word("priority", priority, priority_names, 0, COUNT(priority_names),
                             &chosen, err);
    request->priority = (enum evaluation_priority)chosen;
    return result;
}

static int read_notes(const json_t *object, struct evaluation_request *request, struct err *err)
{
    json_t *notes = NULL;
    int result = json_find_object(object, "notes", &notes, err);
    if (result == 0 && notes && json_dumpb(notes, NULL, 0, JSON_COMPACT) > LIMIT_NOTES_BYTES)
        result = err_set(err, ERR_LIMIT, "'notes' has more than %zu bytes", LIMIT_NOTES_BYTES);
    request->notes = notes;
    return result;
}

int evaluation_request_parse(const json_t *object, struct evaluation_request *request,
                             struct err *err)
{
    static const char *const keys[] = {"problem", "candidate",  "id",       "settings", "timing",
                                       "fresh",   "timeout_ms", "priority", "notes",    "refused"};
    *request = (struct evaluation_request){.timing = true,
                                           .compare = true,
                                           .timeout_ms = LIMIT_EVALUATION_STANDARD_MS};
    if (!json_is_object(object))
        return err_set(err, ERR_INPUT, "an evaluation must be an object");
    int result = json_check_keys(object, keys, COUNT(keys), err);
    if (result == 0)
        result = json_find_string(object, "id", &request->id, err);
    if (result == 0 && request->id && !evaluation_is_id(request->id))
        result = err_set(err, ERR_INPUT, "'id' must have 1 to %d bytes and no control characters",
                         LIMIT_JOB_ID_BYTES);
    if (result == 0)
        result = json_find_string(object, "refused", &request->refused, err);
    if (result == 0 && (!request->refused || json_object_get(object, "problem")))
        result = read_problem(object, request, err);
    if (result == 0 && (!request->refused || json_object_get(object, "candidate")))
        result = read_candidate(object, request, err);
    if (result == 0)
        result = read_settings(object, request, err);
    if (result == 0)
        result = read_terms(object, request, err);
    return result == 0 ? read_notes(object, request, err) : result;
}

int evaluation_request_settings(const struct evaluation_request *request,
                                const struct settings *base, struct settings *out, struct err *err)
{
    settings_copy(out, base);
    int result = request->settings ? assign_all(out, request->settings, err) : 0;
    if (result == 0) {
        settings_check_section(out, &timing_section, &out->errors);
        result = setting_errors_first(&out->errors, err);
    }
    if (result < 0)
        settings_deinit(out);
    return result;
}

static void hash_json(struct hash *hash, const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    hash_update_string(hash, text ? text : "");
    free(text);
}

void evaluation_request_hash(const struct evaluation_request *request, const char *problem_hash,
                             char hex[HASH_HEX_BYTES])
{
    const char *texts[] = {format_names[request->format],
                           request->problem_id,
                           problem_hash,
                           request->problem_source,
                           request->problem_yaml,
                           request->problem_cuda,
                           request->entry_point,
                           request->cases_source,
                           request->candidate_source,
                           request->candidate_name,
                           request->compare ? "compare" : "",
                           request->timing ? "timing" : "",
                           request->refused};
    struct hash *hash = hash_new();
    for (size_t i = 0; i < COUNT(texts); i++)
        hash_update_string(hash, texts[i] ? texts[i] : "");
    hash_json(hash, request->cases);
    hash_json(hash, request->settings);
    hash_finish(hash, hex);
}

static void not_judged(const struct evaluation_request *request, enum verdict_status status,
                       const char *class, const char *why, struct verdict *verdict)
{
    struct arena *arena = &verdict->arena;
    verdict_init_unjudged(verdict, status, class, why);
    if (request->id)
        verdict->id = arena_strdup(arena, request->id);
    if (request->problem_id)
        verdict->problem_id = arena_strdup(arena, request->problem_id);
    verdict->problem_format = format_names[request->format];
    const char *source = request->candidate_source;
    verdict_candidate(verdict, request->candidate_name, source, source ? strlen(source) : 0);
}

void evaluation_request_refuse(const struct evaluation_request *request, const char *why,
                               struct verdict *verdict)
{
    not_judged(request, STATUS_UNSUPPORTED, "validation", why, verdict);
}

void evaluation_request_fault(const struct evaluation_request *request, const char *why,
                              struct verdict *verdict)
{
    not_judged(request, STATUS_INFRASTRUCTURE_ERROR, err_name(ERR_MISSING), why, verdict);
}
