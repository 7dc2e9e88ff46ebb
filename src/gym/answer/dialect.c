#include "base/array.h"
#include "gym/answer/internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MARKERS 28

struct dialect {
    bool (*has_entry)(struct span code);
    const char *begins[MARKERS]; /* first words of a line; NULL-terminated where fewer */
};

bool span_is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct span span_trim(struct span text)
{
    while (text.count > 0 && span_is_space(text.at[0])) {
        text.at++;
        text.count--;
    }
    while (text.count > 0 && span_is_space(text.at[text.count - 1]))
        text.count--;
    return text;
}

bool span_line(struct span *text, struct span *line)
{
    if (text->count == 0)
        return false;
    const char *end = memchr(text->at, '\n', text->count);
    size_t count = end ? (size_t)(end - text->at) : text->count;
    size_t taken = end ? count + 1 : count;
    *line = (struct span){text->at, count};
    *text = (struct span){text->at + taken, text->count - taken};
    return true;
}

bool span_begins(struct span text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.count >= length && memcmp(text.at, prefix, length) == 0;
}

bool span_begins_any_case(struct span text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.count >= length && strncasecmp(text.at, prefix, length) == 0;
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static bool contains_word(struct span text, const char *what)
{
    return memmem(text.at, text.count, what, strlen(what)) != NULL;
}

/* The next `word` after `at` that is not part of a longer one; NULL: none. Not memmem, whose
 * argument sanitizers check completely at each call. */
static const char *find_word(struct span text, const char *at, const char *word)
{
    size_t length = strlen(word);
    const char *end = text.at + text.count;
    for (; at < end && (at = memchr(at, *word, (size_t)(end - at))); at++) {
        const char *behind = at + length;
        if ((size_t)(end - at) >= length && memcmp(at, word, length) == 0 &&
            (at == text.at || !is_word(at[-1])) && (behind == end || !is_word(*behind)))
            return at;
    }
    return NULL;
}

/* `void solution(`: every problem's signature begins so. Only blanks around the name are examined,
 * so that the cost stays linear. */
static bool has_function(struct span code)
{
    const char *end = code.at + code.count;
    const char *at = code.at;
    while ((at = find_word(code, at, "solution"))) {
        const char *before = at;
        at += strlen("solution");
        const char *behind = at;
        while (before > code.at && span_is_space(before[-1]))
            before--;
        while (behind < end && span_is_space(*behind))
            behind++;
        bool is_void = before - code.at >= 4 && memcmp(before - 4, "void", 4) == 0;
        if (is_void && behind < end && *behind == '(')
            return true;
    }
    return false;
}

static bool has_kernel(struct span code)
{
    return contains_word(code, "__global__") || has_function(code);
}

/* `class ModelNew`, or any name that ends in New. */
static bool has_class(struct span code)
{
    const char *at = code.at;
    while ((at = find_word(code, at, "class"))) {
        const char *end = code.at + code.count;
        at += strlen("class");
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        const char *name = at;
        while (at < end && is_word(*at))
            at++;
        if (at - name > 3 && memcmp(at - 3, "New", 3) == 0)
            return true;
    }
    return contains_word(code, "def forward");
}

static bool has_anything(struct span code)
{
    return span_trim(code).count > 0;
}

#define BEGINS_PYTHON                                                                              \
    {                                                                                              \
        "import ", "from ", "class ", "def ", "@", "\"\"\"", "#!"                                  \
    }
#define BEGINS_C                                                                                   \
    {                                                                                              \
        "#include", "#define", "#pragma", "#if", "#undef", "//", "/*", "void ", "static ",         \
            "typedef ", "extern ", "inline ", "struct ", "union ", "enum ", "const ", "template ", \
            "template<", "using namespace ", "namespace ", "constexpr ", "__global__",             \
            "__device__", "__constant__", "int ", "float ", "double "                              \
    }

static const struct dialect dialects[] = {
    [SYNTAX_ANY] = {has_anything, {NULL}},
    [SYNTAX_C] = {has_function, BEGINS_C},
    [SYNTAX_CUDA] = {has_kernel, BEGINS_C},
    [SYNTAX_PYTHON] = {has_class, BEGINS_PYTHON},
};

static const struct dialect *dialect_of(const struct language *language)
{
    return &dialects[language ? language->syntax : SYNTAX_ANY];
}

static bool is_listed(const char *labels, struct span label)
{
    for (const char *at = labels; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == label.count && strncasecmp(at, label.at, label.count) == 0)
            return label.count > 0;
    }
    return false;
}

/* Listed itself, or a label of a language that is. */
static bool is_near(const char *near, struct span label)
{
    if (is_listed(near, label))
        return true;
    const struct language *row;
    for (size_t i = 0; (row = language_at(i)); i++) {
        struct span name = {row->name, strlen(row->name)};
        if (is_listed(near, name) && is_listed(row->labels, label))
            return true;
    }
    return false;
}

enum dialect_rank dialect_rank(const struct answer_language *language, struct span label)
{
    const struct language *row = language->row;
    if (label.count == 0)
        return RANK_NONE;
    if ((row && is_listed(row->labels, label)) ||
        (language->name && is_listed(language->name, label)))
        return RANK_OWN;
    return row && is_near(row->near, label) ? RANK_NEAR : RANK_FOREIGN;
}

/* Prose begins with "from " and "double ", too: these words mark code only if one of these is on
 * their line. */
static bool is_prose(struct span line, const char *beginning)
{
    static const struct {
        const char *beginning, *marks;
    } needed[] = {{"import ", ""}, {"from ", " import "}, {"class ", ":"}};
    for (size_t i = 0; i < COUNT(needed); i++)
        if (strcmp(beginning, needed[i].beginning) == 0)
            return !contains_word(line, needed[i].marks);
    if (strcmp(beginning, "@") == 0)
        return line.count < 2 || !isalpha((unsigned char)line.at[1]);
    bool is_one = beginning[strlen(beginning) - 1] == ' ';
    return is_one && !contains_word(line, "(") && !contains_word(line, "{") &&
           !contains_word(line, ";") && !contains_word(line, "=");
}

bool dialect_begins(const struct answer_language *language, struct span line)
{
    const struct dialect *dialect = dialect_of(language->row);
    struct span text = span_trim(line);
    for (size_t i = 0; i < MARKERS && dialect->begins[i]; i++)
        if (span_begins(text, dialect->begins[i]))
            return !is_prose(text, dialect->begins[i]);
    return false;
}

bool dialect_has_entry(const struct answer_language *language, struct span code)
{
    return dialect_of(language->row)->has_entry(code);
}
