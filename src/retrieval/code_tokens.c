#include "retrieval/code_tokens.h"

#include "base/array.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MOST ((size_t)1 << 17) /* later tokens change nothing */
#define RECENT_NAMES 15               /* names back that a local name is looked up */

enum kind { NAME, NUMBER, STRING, MARK, LINE_END };

struct token {
    enum kind kind;
    bool embedded; /* inside a Python string */
    bool first;    /* of its line, and not indented */
    const char *text;
    size_t length;
};

struct lexer {
    const char *at, *end;
    struct token *tokens;
    size_t count, capacity;
    bool embedded;
};

static void add_token(struct lexer *lexer, enum kind kind, const char *text, size_t length,
                      bool first)
{
    if (lexer->count == TOKENS_MOST)
        return;
    if (lexer->count == lexer->capacity) {
        lexer->capacity = lexer->capacity ? 2 * lexer->capacity : 1024;
        lexer->tokens = mem_resize(lexer->tokens, lexer->capacity * sizeof *lexer->tokens);
    }
    lexer->tokens[lexer->count++] = (struct token){kind, lexer->embedded, first, text, length};
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *line_end(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));
    return found ? found : end;
}

static bool begins_with(const struct lexer *lexer, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(lexer->end - lexer->at) >= length && memcmp(lexer->at, text, length) == 0;
}

static void lex_name(struct lexer *lexer, bool first)
{
    const char *start = lexer->at;
    while (lexer->at < lexer->end && is_name(*lexer->at))
        lexer->at++;
    add_token(lexer, NAME, start, (size_t)(lexer->at - start), first);
}

/* 1e-5f, 0x10 and 1_000 are one token each. */
static void lex_number(struct lexer *lexer, bool first)
{
    const char *start = lexer->at;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool sign = (c == '+' || c == '-') && (lexer->at[-1] == 'e' || lexer->at[-1] == 'E');
        if (!is_name(c) && c != '.' && !(sign && lexer->at > start))
            break;
        lexer->at++;
    }
    add_token(lexer, NUMBER, start, (size_t)(lexer->at - start), first);
}

/* Skips a string that begins here; *inside is its text. */
static void skip_string(struct lexer *lexer, bool triple, const char **inside, size_t *length)
{
    char quote = *lexer->at;
    lexer->at += triple ? 3 : 1;
    *inside = lexer->at;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (!triple && c == '\n')
            break;
        if (c == quote && (!triple || (lexer->end - lexer->at >= 3 && lexer->at[1] == quote &&
                                       lexer->at[2] == quote)))
            break;
        lexer->at += c == '\\' && lexer->end - lexer->at > 1 ? 2 : 1;
    }
    *length = (size_t)(lexer->at - *inside);
    size_t closing = triple ? 3 : 1;
    size_t left = (size_t)(lexer->end - lexer->at);
    lexer->at += left < closing ? left : closing;
}

static void lex_c(struct lexer *lexer)
{
    const char *inside;
    size_t length;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (begins_with(lexer, "//") || begins_with(lexer, "#include") ||
            begins_with(lexer, "#pragma")) {
            lexer->at = line_end(lexer->at, lexer->end);
        } else if (begins_with(lexer, "/*")) {
            const char *close = memmem(lexer->at + 2, (size_t)(lexer->end - lexer->at) - 2, "*/",
                                       2);
            lexer->at = close ? close + 2 : lexer->end;
        } else if (c == '"' || c == '\'') {
            skip_string(lexer, false, &inside, &length);
            add_token(lexer, STRING, inside, length, false);
        } else if (is_digit(c)) {
            lex_number(lexer, false);
        } else if (is_name(c)) {
            lex_name(lexer, false);
        } else {
            if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
                add_token(lexer, MARK, lexer->at, 1, false);
            lexer->at++;
        }
    }
}

/* A Python string with its prefix (rb""), or false. A string statement is a docstring; a long
 * string elsewhere is source code. */
static bool lex_python_string(struct lexer *lexer, bool alone)
{
    const char *quote = lexer->at;
    while (quote < lexer->end && quote - lexer->at < 2 && strchr("rRbBfFuU", *quote) && *quote)
        quote++;
    if (quote == lexer->end || (*quote != '"' && *quote != '\''))
        return false;
    bool triple = lexer->end - quote >= 3 && quote[1] == *quote && quote[2] == *quote;
    const char *inside;
    size_t length;
    lexer->at = quote;
    skip_string(lexer, triple, &inside, &length);
    if (alone)
        return true;
    add_token(lexer, STRING, inside, triple ? 0 : length, false);
    if (triple && !lexer->embedded) {
        const char *after = lexer->at, *end = lexer->end;
        lexer->embedded = true;
        lexer->at = inside;
        lexer->end = inside + length;
        lex_c(lexer);
        lexer->embedded = false;
        lexer->at = after;
        lexer->end = end;
    }
    return true;
}

static void lex_python(struct lexer *lexer)
{
    int depth = 0;
    bool fresh = true; /* no token of this line yet */
    const char *line = lexer->at;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool first = fresh && lexer->at == line;
        if (c == '\n') {
            lexer->at++;
            line = lexer->at;
            if (depth == 0 && !fresh)
                add_token(lexer, LINE_END, line - 1, 1, false);
            fresh = fresh || depth == 0;
        } else if (c == '#') {
            lexer->at = line_end(lexer->at, lexer->end);
        } else if (c == '\\' && lexer->end - lexer->at > 1 && lexer->at[1] == '\n') {
            lexer->at += 2;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lexer->at++;
        } else if (lex_python_string(lexer, fresh)) {
            continue;
        } else {
            fresh = false;
            depth += c == '(' || c == '[' || c == '{';
            depth -= depth > 0 && (c == ')' || c == ']' || c == '}');
            if (is_digit(c))
                lex_number(lexer, first);
            else if (is_name(c))
                lex_name(lexer, first);
            else
                add_token(lexer, MARK, lexer->at++, 1, first);
        }
    }
    add_token(lexer, LINE_END, lexer->end, 0, false);
}

static bool is_python(const char *text, size_t count)
{
    static const char *const signs[] = {"import ", "from ", "def ", "class ", "@"};
    const char *end = text + count;
    for (const char *line = text; line < end; line = line_end(line, end) + 1) {
        size_t left = (size_t)(end - line);
        for (size_t i = 0; i < COUNT(signs); i++) {
            size_t length = strlen(signs[i]);
            const char *stop = line_end(line, end);
            bool semicolon = stop > line && stop[-1] == ';';
            if (left > length && memcmp(line, signs[i], length) == 0 && !semicolon)
                return memchr(line, '{', (size_t)(stop - line)) == NULL;
        }
    }
    return false;
}

static bool token_is(const struct token *token, const char *text)
{
    return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

static bool token_is_one_of(const struct token *token, const char *const *words)
{
    for (; *words; words++)
        if (token_is(token, *words))
            return true;
    return false;
}

static uint32_t hash_text(const char *text, size_t length)
{
    uint32_t hash = 0x811C9DC5u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x01000193u;
    return hash;
}

static uint32_t hash_token(const struct token *token)
{
    return hash_text(token->text, token->length);
}

struct chooser {
    const struct token *tokens;
    size_t count;
    uint32_t *own, *imported; /* hashes of names, sorted */
    size_t own_count, imported_count;
    uint32_t recent[RECENT_NAMES]; /* the latest local names */
    size_t names;
    bool python;
    bool hidden; /* inside a function that makes inputs */
    void (*visit)(void *context, uint32_t token, bool outside);
    void *context;
};

static int compare_hash(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool set_contains(const uint32_t *set, size_t count, uint32_t hash)
{
    return count > 0 && bsearch(&hash, set, count, sizeof *set, compare_hash);
}

/* A definition follows a type name and another name: "static float largest(". */
static bool defines_name(const struct token *before, const struct token *after)
{
    static const char *const statements[] = {"return", "else",   "case", "do",  "goto",  "throw",
                                             "in",     "not",    "and",  "or",  "if",    "elif",
                                             "yield",  "lambda", "is",   "new", "await", NULL};
    if (before->kind == NAME &&
        (token_is(before, "def") || token_is(before, "class") || token_is(before, "as")))
        return true;
    if (after[0].kind != MARK)
        return false;
    if (token_is(after, "="))
        return after[1].kind != MARK || !token_is(after + 1, "=");
    return token_is(after, "(") && before->kind == NAME && !token_is_one_of(before, statements);
}

/* Collects the names that the text defines and those that it imports. */
static void gather_names(struct chooser *chooser)
{
    static const struct token nothing = {.kind = LINE_END, .text = ""};
    bool import = false, fresh = true;
    chooser->own = mem_alloc((chooser->count + 1) * sizeof *chooser->own);
    chooser->imported = mem_alloc((chooser->count + 1) * sizeof *chooser->imported);
    for (size_t i = 0; i < chooser->count; i++) {
        const struct token *token = &chooser->tokens[i];
        if (fresh && token->kind == NAME)
            import = token_is(token, "import") || token_is(token, "from");
        fresh = token->kind == LINE_END;
        if (token->kind != NAME)
            continue;
        struct token after[2] = {nothing, nothing};
        for (size_t k = 0; k < 2 && i + 1 + k < chooser->count; k++)
            after[k] = chooser->tokens[i + 1 + k];
        if (import)
            chooser->imported[chooser->imported_count++] = hash_token(token);
        else if (defines_name(i > 0 ? token - 1 : &nothing, after))
            chooser->own[chooser->own_count++] = hash_token(token);
    }
    qsort(chooser->own, chooser->own_count, sizeof *chooser->own, compare_hash);
    qsort(chooser->imported, chooser->imported_count, sizeof *chooser->imported, compare_hash);
}

static void emit_token_hash(struct chooser *chooser, uint32_t token)
{
    if (!chooser->hidden)
        chooser->visit(chooser->context, token, false);
}

/* nn.ReLU and torch.relu are the same. */
static void emit_outside_name(struct chooser *chooser, const struct token *token, bool selects)
{
    uint32_t hash = 0x811C9DC5u;
    for (size_t i = 0; i < token->length; i++) {
        char c = token->text[i];
        bool upper = c >= 'A' && c <= 'Z';
        hash = (hash ^ (unsigned char)(upper ? c + 'a' - 'A' : c)) * 0x01000193u;
    }
    if (!chooser->hidden)
        chooser->visit(chooser->context, hash, !selects);
}

static void emit_own_name(struct chooser *chooser, uint32_t hash)
{
    static const char names_by_distance[] = "0123456789abcdefghij";
    size_t back = 1;
    while (back <= RECENT_NAMES && back <= chooser->names &&
           chooser->recent[(chooser->names - back) % RECENT_NAMES] != hash)
        back++;
    if (back > RECENT_NAMES || back > chooser->names)
        back = 0;
    chooser->recent[chooser->names++ % RECENT_NAMES] = hash;
    emit_token_hash(chooser, hash_text(names_by_distance + back, 1));
}

/* Emits the name at `i`. */
static void emit_name(struct chooser *chooser, size_t i, size_t end)
{
    static const char *const integers[] = {"int",      "size_t",    "unsigned", "long",
                                           "short",    "int32_t",   "int64_t",  "uint32_t",
                                           "uint64_t", "ptrdiff_t", NULL};
    static const char *const nothing[] = {"const",        "static",   "inline",   "restrict",
                                          "__restrict__", "register", "volatile", "extern",
                                          "signed",       "self",     NULL};
    static const char *const keywords[] = {"for",    "while",    "if",     "else",     "return",
                                           "break",  "continue", "class",  "void",     "switch",
                                           "case",   "template", "do",     "bool",     "half",
                                           "float",  "char",     "struct", "True",     "__global__",
                                           "double", "False",    "None",   "_Float16", NULL};
    static const char *const python[] = {"elif",   "in",     "not",   "and",    "or",
                                         "lambda", "yield",  "is",    "def",    "with",
                                         "try",    "except", "raise", "assert", NULL};
    const struct token *token = &chooser->tokens[i];
    uint32_t hash = hash_token(token);
    bool member = i > 0 && token[-1].kind == MARK && token_is(&token[-1], ".");
    bool of_self = member && i > 1 && token_is(&token[-2], "self");
    bool called = i + 1 < end && token[1].kind == MARK && token_is(&token[1], "(");
    bool selects = i + 1 < end && token[1].kind == MARK && token_is(&token[1], ".");
    if (token_is_one_of(token, nothing))
        return;
    if (token_is_one_of(token, integers))
        emit_token_hash(chooser, hash_text("int", 3));
    else if (token_is_one_of(token, keywords) ||
             (chooser->python && !token->embedded && token_is_one_of(token, python)))
        emit_token_hash(chooser, hash);
    else if (member && !of_self)
        emit_outside_name(chooser, token, selects);
    else if (selects && set_contains(chooser->imported, chooser->imported_count, hash))
        emit_token_hash(chooser, hash_text("module", 6));
    else if (called && !of_self && !set_contains(chooser->own, chooser->own_count, hash))
        emit_outside_name(chooser, token, false);
    else
        emit_own_name(chooser, hash);
}

static void emit_token(struct chooser *chooser, size_t i, size_t end)
{
    const struct token *token = &chooser->tokens[i];
    switch (token->kind) {
    case NAME:
        emit_name(chooser, i, end);
        break;
    case NUMBER:
        emit_token_hash(chooser, hash_text("0", 1));
        break;
    case STRING:
        emit_token_hash(chooser, hash_text("\"", 1));
        break;
    case MARK: /* pure layout is left out */
        if (!strchr(";,{}:", token->text[0]) &&
            !(i > 0 && token_is(token, ".") && token_is(token - 1, "self")))
            emit_token_hash(chooser, hash_token(token));
        break;
    case LINE_END:
        break;
    }
}

/* The position after a parameter's annotation, which begins at its colon. */
static size_t skip_annotation(const struct chooser *chooser, size_t i, size_t end)
{
    int depth = 0;
    for (; i < end; i++) {
        const struct token *token = &chooser->tokens[i];
        if (token->kind != MARK)
            continue;
        if (depth == 0 && (token_is(token, ",") || token_is(token, "=") || token_is(token, ")")))
            return i;
        depth += token_is(token, "[") || token_is(token, "(");
        depth -= token_is(token, "]") || token_is(token, ")");
    }
    return end;
}

/* def name(a: int, b=1) -> int: */
static void emit_definition(struct chooser *chooser, size_t first, size_t end)
{
    int depth = 0;
    for (size_t i = first; i < end; i++) {
        const struct token *token = &chooser->tokens[i];
        bool mark = token->kind == MARK;
        depth += mark && token_is(token, "(");
        depth -= mark && token_is(token, ")");
        if (mark && depth == 1 && token_is(token, ":"))
            i = skip_annotation(chooser, i + 1, end) - 1;
        else if (mark && depth == 0 && token_is(token, "-"))
            while (i + 1 < end && !token_is(&chooser->tokens[i + 1], ":"))
                i++;
        else
            emit_token(chooser, i, end);
    }
}

/* Emits a line of Python, from its first token to its end. */
static void emit_line(struct chooser *chooser, size_t first, size_t end)
{
    static const char *const kept[] = {"class", "def",    "@",       "async", "if",
                                       "elif",  "else",   "for",     "while", "with",
                                       "try",   "except", "finally", NULL};
    const struct token *token = &chooser->tokens[first];
    if (token->first)
        chooser->hidden = end - first > 1 && token_is(token, "def") &&
                          (token_is(token + 1, "get_inputs") ||
                           token_is(token + 1, "get_init_inputs"));
    if (token->kind == NAME && (token_is(token, "import") || token_is(token, "from") ||
                                token_is(token, "super") || token_is(token, "pass")))
        return;
    bool constant = token->first && !token_is_one_of(token, kept);
    if (!constant && token->kind == NAME && token_is(token, "def"))
        emit_definition(chooser, first, end);
    else
        for (size_t i = first; i < end; i++)
            if (!constant || chooser->tokens[i].embedded)
                emit_token(chooser, i, end);
}

void code_tokens_each(const char *text, size_t count,
                      void (*visit)(void *context, uint32_t token, bool outside), void *context)
{
    struct lexer lexer = {.at = text, .end = text + count};
    struct chooser chooser = {.visit = visit, .context = context};
    chooser.python = is_python(text, count);
    if (chooser.python)
        lex_python(&lexer);
    else
        lex_c(&lexer);
    chooser.tokens = lexer.tokens;
    chooser.count = lexer.count;
    gather_names(&chooser);
    for (size_t first = 0, end; first < chooser.count; first = end + 1) {
        for (end = first; end < chooser.count && chooser.tokens[end].kind != LINE_END;)
            end++;
        if (chooser.python && end > first)
            emit_line(&chooser, first, end);
        else
            for (size_t i = first; i < end; i++)
                emit_token(&chooser, i, end);
    }
    mem_free(chooser.own);
    mem_free(chooser.imported);
    mem_free(lexer.tokens);
}
