#include "judge/build/extension_certain.h"

#include "base/array.h"
#include "compile/diagnostics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* With one of these. */
static bool begins(const char *text, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static bool defines_name(const char *text, const char *name)
{
    for (const char *at = text; (at = strstr(at, "#define")); at++) {
        const char *word = at + strlen("#define");
        word += strspn(word, " \t");
        if (strncmp(word, name, strlen(name)) == 0 && !is_word(word[strlen(name)]))
            return true;
    }
    return false;
}

/* A macro of PyTorch, by its beginning, that neither the source nor the slim headers define: what
 * follows it may look like a syntax error and be none. */
static bool lacks_macro(const struct extension_request *request, const char *slim, const char *text)
{
    static const char *const beginnings[] = {"TORCH_",    "AT_",    "C10_",
                                             "PYBIND11_", "CAFFE_", "CUDA_"};
    char name[CERTAIN_NAME_BYTES];
    for (const char *at = text; *at; at++) {
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        if (length && begins(at, beginnings, COUNT(beginnings))) {
            bool known = length < sizeof name;
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            known = known && strcmp(name, "TORCH_EXTENSION_NAME") == 0;
            known |= defines_name(slim, name);
            for (size_t i = 0; !known && i < request->count; i++)
                known = defines_name(request->files[i].text, name);
            if (!known)
                return true;
        }
        at += length ? length - 1 : 0;
    }
    return false;
}

/* The word in quotes number `index` of a message, without its namespace; "" where it is no word. */
static void quoted_name(const char *message, size_t index, char name[CERTAIN_NAME_BYTES])
{
    size_t length = 0;
    const char *at = message;
    name[0] = '\0';
    for (;; index--) {
        at += strcspn(at, "\"'\n");
        if (*at == '\0' || *at == '\n')
            return;
        char end[] = {*at++, '\n', '\0'};
        length = strcspn(at, end);
        if (at[length] != end[0])
            return;
        if (index == 0)
            break;
        at += length + 1;
    }
    for (size_t i = 0; i < length; i++)
        if (!is_word(at[i]))
            return;
    if (length < CERTAIN_NAME_BYTES)
        snprintf(name, CERTAIN_NAME_BYTES, "%.*s", (int)length, at);
}

/* How nvcc's front end and g++ say that they do not know a name, and which of the quoted it is. */
static const struct {
    const char *words;
    size_t which;
} unknown_names[] = {
    {"\" is undefined", 0},       {"\" has no member \"", 1}, {"was not declared in this scope", 0},
    {"has no member named", 1},   {"is not a member of", 0},  {"does not name a type", 0},
    {"has not been declared", 0},
};

static bool is_syntax(const char *message)
{
    static const char *const beginnings[] = {"expected ",     "missing terminating ",
                                             "unterminated ", "unrecognized token",
                                             "stray ",        "missing closing quote",
                                             "extra \";\""};
    return begins(message, beginnings, COUNT(beginnings));
}

/* Messages about types, calls and declarations, which may well be the candidate's own: by the words
 * that they begin with. */
static bool is_about_types(const char *message)
{
    static const char *const beginnings[] = {
        /* nvcc */
        "argument of type ", "a value of type ", "no operator ", "no suitable ", "no instance of ",
        "more than one instance of ", "too few arguments in ", "too many arguments in ",
        "expression must ", "operand types are incompatible", "variable ", "function ",
        "invalid redeclaration", "calling a ", "return value type ", "incompatible ", "identifier ",
        "initial value of ", "the size of an array",
        /* gcc */
        "cannot convert ", "invalid conversion ", "no match for ", "too many arguments to ",
        "too few arguments to ", "no matching function ", "redefinition of ", "redeclaration of ",
        "conflicting declaration ", "invalid operands ", "lvalue required ", "invalid types ",
        "call of overloaded ", "void value not ignored", "assignment of read-only "};
    return begins(message, beginnings, COUNT(beginnings));
}

/* Whether nothing of PyTorch's is at play in a message and the lines that belong to it. */
static bool is_foreign(const char *group, size_t length)
{
    char *copy = mem_printf("%.*s", (int)length, group);
    bool foreign = is_about_types(group) && !strstr(copy, "::") &&
                   !extension_has_word(copy, "auto") && !extension_has_word(copy, "Tensor");
    for (const char *at = copy; foreign && *at; at++) {
        bool method = *at == '.' || (at[0] == '-' && at[1] == '>');
        const char *word = at + (*at == '.' ? 1 : 2);
        size_t end = 0;
        while (method && is_word(word[end]))
            end++;
        foreign = !(end && !isdigit((unsigned char)*word) &&
                    (word[end] == '(' || word[end] == '<'));
    }
    mem_free(copy);
    return foreign;
}

/* The length of the first message: up to the next line that is a message of its own. */
static size_t group_length(const char *text)
{
    const char *at = text;
    while (*(at += strcspn(at, "\n"))) {
        at++;
        const char *end = at + strcspn(at, "\n");
        if (memmem(at, (size_t)(end - at), ": error: ", 9) ||
            memmem(at, (size_t)(end - at), ": warning: ", 11))
            break;
    }
    return (size_t)(at - text);
}

/* Whether a message is about a line of the candidate's: what our own headers complain of is not. */
static bool is_own(const struct extension_request *request, const char *line)
{
    if (line[0] == DIAGNOSTICS_NAME[0])
        return true;
    for (size_t i = 0; i < request->count; i++) {
        size_t length = strlen(request->files[i].name);
        if (strncmp(line, request->files[i].name, length) == 0 && line[length] == ':')
            return true;
    }
    return false;
}

enum certainty extension_certain(const struct extension_request *request, const char *slim,
                                 const char *diagnostics, char name[CERTAIN_NAME_BYTES])
{
    const char *line_end = diagnostics + strcspn(diagnostics, "\n");
    const char *error = strstr(diagnostics, "error: ");
    name[0] = '\0';
    if (!error || error > line_end || !is_own(request, diagnostics))
        return CERTAIN_NOT;
    const char *message = error + strlen("error: ");
    if (strncmp(message, "ptxas: ", 7) == 0)
        return CERTAIN;
    for (size_t i = 0; i < request->count; i++)
        if (lacks_macro(request, slim, request->files[i].text))
            return CERTAIN_NOT;
    char *first = mem_printf("%.*s", (int)(line_end - message), message);
    enum certainty certainty = CERTAIN_NOT;
    for (size_t i = 0; i < COUNT(unknown_names); i++)
        if (certainty == CERTAIN_NOT && strstr(first, unknown_names[i].words)) {
            quoted_name(first, unknown_names[i].which, name);
            certainty = name[0] ? CERTAIN_UNLESS_KNOWN : CERTAIN_NOT;
            break;
        }
    if (name[0] == '\0' && (is_syntax(first) || is_foreign(message, group_length(message))))
        certainty = CERTAIN;
    mem_free(first);
    return certainty;
}
