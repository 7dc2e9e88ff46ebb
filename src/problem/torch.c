#include "problem/torch.h"

#include "base/file.h"
#include "base/utf8.h"
#include "problem/category.h"

#include <string.h>

#define SUMMARY_MOST 200
#define TORCH_ENTRY_POINT "Model"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The first line that begins with these words, with no indentation: behind them, or NULL. */
static const char *find_definition(const char *text, const char *keyword, const char *name)
{
    size_t keyword_length = strlen(keyword), name_length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, keyword, keyword_length) != 0)
            continue;
        const char *at = line + keyword_length;
        size_t blanks = strspn(at, " \t");
        if (keyword_length > 0 && blanks == 0)
            continue;
        at += blanks;
        if (strncmp(at, name, name_length) == 0 && !is_word(at[name_length]))
            return at + name_length;
    }
    return NULL;
}

/* A function may also be bound by an assignment or an import: any use of its name counts. */
static bool mentions_name(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return true;
    return false;
}

/* Past blanks, line ends and comments. */
static const char *skip_nothing(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '#')
            return at;
        at += strcspn(at, "\n");
    }
}

/* The first line of the string literal at `at` that says something; "" when there is no literal. */
static const char *first_line(struct arena *arena, const char *at)
{
    if (*at == 'r' || *at == 'R')
        at++;
    if (*at != '"' && *at != '\'')
        return "";
    char quote[4] = {*at, *at, *at, '\0'};
    bool triple = strncmp(at, quote, 3) == 0;
    if (!triple)
        quote[1] = '\0';
    at += strlen(quote);
    const char *end = strstr(at, quote);
    if (!end)
        return "";
    at += strspn(at, " \t\r\n");
    size_t length = strcspn(at, "\r\n");
    if (at >= end)
        return "";
    if (length > (size_t)(end - at))
        length = (size_t)(end - at);
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return arena_strndup(arena, at, utf8_cut(at, length, SUMMARY_MOST));
}

/* What stands behind `key` where a line of the module's first comments or docstring begins so, up
 * to a byte of `ends`; NULL: none does. */
static const char *find_statement(struct arena *arena, const char *text, const char *key,
                                  const char *ends)
{
    const char *docstring = skip_nothing(text);
    char quote[4] = {docstring[0], docstring[0], docstring[0], '\0'};
    bool quoted = docstring[0] == '"' || docstring[0] == '\'';
    const char *close = quoted && strncmp(docstring, quote, 3) == 0 ? strstr(docstring + 3, quote)
                                                                    : NULL;
    const char *end = close ? close : docstring;
    for (const char *line = text; line < end; line += line[0] != '\0') {
        const char *at = line + strspn(line, " \t#");
        if (strncmp(at, key, strlen(key)) == 0) {
            at += strlen(key);
            at += strspn(at, " \t");
            size_t length = strcspn(at, ends), left = at < end ? (size_t)(end - at) : 0;
            return arena_strndup(arena, at, length < left ? length : left);
        }
        line += strcspn(line, "\n");
    }
    return NULL;
}

static int parse_category(struct problem *problem, const char *path, const char *text,
                          struct err *err)
{
    const char *word = find_statement(&problem->arena, text, "Category:", " \t\r\n");
    problem->category = word ? category_find(word) : "";
    return problem->category
               ? 0
               : err_set(err, ERR_INPUT, "%s: %s", path, category_complaint(&problem->arena, word));
}

/* "Tolerance: kernelbench", "Precision: bf16". */
static int parse_terms(struct problem *problem, const char *path, const char *text, struct err *err)
{
    int precision = TORCH_AUTO_PRECISION;
    const char *tolerance = find_statement(&problem->arena, text, "Tolerance:", "\r\n\"'");
    const char *word = find_statement(&problem->arena, text, "Precision:", " \t\r\n\"'");
    int result = tolerance ? bound_parse(tolerance, &problem->bound, err) : 0;
    if (result == 0 && word)
        result = word_find(WORDS_IN(TORCH_PRECISIONS), "precision", word, &precision, err);
    problem->precision = (enum torch_precision)precision;
    return result < 0 ? err_prefix(err, "%s", path) : 0;
}

/* The colon that ends "class Model(nn.Module):" */
static const char *after_colon(const char *at)
{
    int depth = 0;
    for (; *at != '\0' && (*at != ':' || depth > 0); at++)
        depth += (*at == '(') - (*at == ')');
    return *at == ':' ? at + 1 : at;
}

int torch_parse(struct problem *problem, const char *path, const char *text, size_t bytes,
                struct err *err)
{
    int result = file_check_text(path, text, bytes, err);
    if (result < 0)
        return result;
    if (!problem->entry_point)
        problem->entry_point = TORCH_ENTRY_POINT;
    const char *class = arena_printf(&problem->arena, "class %s", problem->entry_point);
    const char *model = find_definition(text, "class", problem->entry_point);
    const char *missing[3];
    size_t count = 0;
    if (!model)
        missing[count++] = class;
    if (!mentions_name(text, "get_inputs"))
        missing[count++] = "get_inputs";
    if (!mentions_name(text, "get_init_inputs"))
        missing[count++] = "get_init_inputs";
    if (count > 0)
        return err_set(err, ERR_INPUT,
                       "%s: %s%s%s%s%s %s missing: a torch problem defines %s, "
                       "get_inputs and get_init_inputs",
                       path, missing[0], count > 2 ? ", " : "", count > 2 ? missing[1] : "",
                       count > 1 ? " and " : "", count > 1 ? missing[count - 1] : "",
                       count > 1 ? "are" : "is", class);
    problem->summary = first_line(&problem->arena, skip_nothing(text));
    if (problem->summary[0] == '\0')
        problem->summary = first_line(&problem->arena, skip_nothing(after_colon(model)));
    problem->format = PROBLEM_TORCH;
    problem->tolerance = (struct tolerance){.relative = TORCH_RELATIVE, .scale = SCALE_RMS};
    int terms = parse_terms(problem, path, text, err);
    return terms < 0 ? terms : parse_category(problem, path, text, err);
}

const char *torch_id(struct arena *arena, const char *path)
{
    const char *file = file_basename(path);
    size_t length = strlen(file);
    if (length > 3 && strcmp(file + length - 3, ".py") == 0)
        length -= 3;
    char *parent = arena_strndup(arena, path, (size_t)(file - path));
    if (parent[0] != '\0')
        parent[file - path - 1] = '\0';
    const char *folder = file_basename(parent);
    size_t digits = strspn(file, "0123456789");
    bool level = strncmp(folder, "level", 5) == 0 && folder[5] != '\0' &&
                 folder[5 + strspn(folder + 5, "0123456789")] == '\0';
    if (level && digits > 0 && file[digits] == '_')
        return arena_printf(arena, "%s/%.*s", folder, (int)digits, file);
    if (strcmp(folder, "torch") == 0)
        return arena_printf(arena, "torch/%.*s", (int)length, file);
    return arena_strndup(arena, file, length);
}

static void identify_torch(struct problem *problem, const char *text)
{
    struct hash *hash = hash_new();
    hash_update_string(hash, "torch");
    hash_update_string(hash, text);
    if (strcmp(problem->entry_point, TORCH_ENTRY_POINT) != 0)
        hash_update_string(hash, problem->entry_point);
    hash_finish(hash, problem->hash);
}

int torch_from_text(struct problem *problem, const char *entry_point, const char *text,
                    size_t bytes, struct err *err)
{
    struct arena *arena = &problem->arena;
    problem->entry_point = arena_strdup(arena, entry_point);
    int result = torch_parse(problem, "reference", text, bytes, err);
    if (result < 0)
        return result;
    identify_torch(problem, text);
    problem->id = problem->name = problem->directory = problem->reference_path = "";
    problem->reference_text = arena_strndup(arena, text, bytes);
    problem->reference_bytes = bytes;
    return 0;
}

int torch_load(struct problem *problem, const char *path, struct err *err)
{
    struct arena *arena = &problem->arena;
    char *text;
    const char *file = file_basename(path);
    int result = file_read(path, LIMIT_SOURCE_BYTES, &text, &problem->reference_bytes, err);
    if (result < 0)
        return result;
    result = torch_parse(problem, path, text, problem->reference_bytes, err);
    if (result == 0) {
        identify_torch(problem, text);
        problem->name = arena_strndup(arena, file, strlen(file) - strlen(".py"));
        problem->reference_path = arena_strdup(arena, path);
        problem->reference_text = arena_strndup(arena, text, problem->reference_bytes);
        problem->directory = file == path ? "."
                                          : arena_strndup(arena, path, (size_t)(file - path - 1));
    }
    mem_free(text);
    return result;
}
