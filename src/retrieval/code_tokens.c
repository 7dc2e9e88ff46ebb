#include "retrieval/code_tokens.h"

#include "base/array.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MOST ((size_t)1 << 17) /* what comes behind them decides nothing any more */
#define MEMORY 15                     /* names back that a name of its own is looked for */

enum kind { NAME, NUMBER, STRING, MARK, LINE_END };

struct token {
    enum kind kind;
    bool embedded; /* in a string of Python */
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

/* --------------------------------------------------------------------------------------- lexing */

static void add(struct lexer *lexer, enum kind kind, const char *text, size_t length, bool first)
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

static bool begins(const struct lexer *lexer, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(lexer->end - lexer->at) >= length && memcmp(lexer->at, text, length) == 0;
}

static void lex_name(struct lexer *lexer, bool first)
{
    const char *start = lexer->at;
    while (lexer->at < lexer->end && is_name(*lexer->at))
        lexer->at++;
    add(lexer, NAME, start, (size_t)(lexer->at - start), first);
}

/* 1e-5f, 0x10, 1_000: all one. */
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
    add(lexer, NUMBER, start, (size_t)(lexer->at - start), first);
}

/* Past a string that begins here; what is between its quotes. */
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
        if (begins(lexer, "//") || begins(lexer, "#include") || begins(lexer, "#pragma")) {
            lexer->at = line_end(lexer->at, lexer->end);
        } else if (begins(lexer, "/*")) {
            const char *close = memmem(lexer->at + 2, (size_t)(lexer->end - lexer->at) - 2, "*/",
                                       2);
            lexer->at = close ? close + 2 : lexer->end;
        } else if (c == '"' || c == '\'') {
            skip_string(lexer, false, &inside, &length);
            add(lexer, STRING, inside, length, false);
        } else if (is_digit(c)) {
            lex_number(lexer, false);
        } else if (is_name(c)) {
            lex_name(lexer, false);
        } else {
            if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
                add(lexer, MARK, lexer->at, 1, false);
            lexer->at++;
        }
    }
}

/* A string of Python with its prefix (rb""), or false. What stands alone is a docstring; a long one
 * elsewhere is a source. */
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
    add(lexer, STRING, inside, triple ? 0 : length, false);
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
    bool fresh = true; /* nothing of this line yet */
    const char *line = lexer->at;
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool first = fresh && lexer->at == line;
        if (c == '\n') {
            lexer->at++;
            line = lexer->at;
            if (depth == 0 && !fresh)
                add(lexer, LINE_END, line - 1, 1, false);
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
                add(lexer, MARK, lexer->at++, 1, first);
        }
    }
    add(lexer, LINE_END, lexer->end, 0, false);
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

/* ------------------------------------------------------------------------------------- choosing */

static bool is(const struct token *token, const char *text)
{
    return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

static bool is_one_of(const struct token *token, const char *const *words)
{
    for (; *words; words++)
        if (is(token, *words))
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
    uint32_t recent[MEMORY]; /* names of its own, the last ones */
    size_t names;
    bool python;
    bool hidden; /* within a function that makes inputs */
    void (*visit)(void *context, uint32_t token, bool outside);
    void *context;
};

static int compare_hash(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool holds(const uint32_t *set, size_t count, uint32_t hash)
{
    return count > 0 && bsearch(&hash, set, count, sizeof *set, compare_hash);
}

/* A type's name and another name stand before what is defined: "static float largest(". */
static bool defines(const struct token *before, const struct token *after)
{
    static const char *const statements[] = {"return", "else",   "case", "do",  "goto",  "throw",
                                             "in",     "not",    "and",  "or",  "if",    "elif",
                                             "yield",  "lambda", "is",   "new", "await", NULL};
    if (before->kind == NAME && (is(before, "def") || is(before, "class") || is(before, "as")))
        return true;
    if (after[0].kind != MARK)
        return false;
    if (is(after, "="))
        return after[1].kind != MARK || !is(after + 1, "=");
    return is(after, "(") && before->kind == NAME && !is_one_of(before, statements);
}

/* Finds the names that the text defines and those that it imports. */
static void gather_names(struct chooser *chooser)
{
    static const struct token nothing = {.kind = LINE_END, .text = ""};
    bool import = false, fresh = true;
    chooser->own = mem_alloc((chooser->count + 1) * sizeof *chooser->own);
    chooser->imported = mem_alloc((chooser->count + 1) * sizeof *chooser->imported);
    for (size_t i = 0; i < chooser->count; i++) {
        const struct token *token = &chooser->tokens[i];
        if (fresh && token->kind == NAME)
            import = is(token, "import") || is(token, "from");
        fresh = token->kind == LINE_END;
        if (token->kind != NAME)
            continue;
        struct token after[2] = {nothing, nothing};
        for (size_t k = 0; k < 2 && i + 1 + k < chooser->count; k++)
            after[k] = chooser->tokens[i + 1 + k];
        if (import)
            chooser->imported[chooser->imported_count++] = hash_token(token);
        else if (defines(i > 0 ? token - 1 : &nothing, after))
            chooser->own[chooser->own_count++] = hash_token(token);
    }
    qsort(chooser->own, chooser->own_count, sizeof *chooser->own, compare_hash);
    qsort(chooser->imported, chooser->imported_count, sizeof *chooser->imported, compare_hash);
}

static void tell(struct chooser *chooser, uint32_t token)
{
    if (!chooser->hidden)
        chooser->visit(chooser->context, token, false);
}

/* nn.ReLU and torch.relu are one. */
static void tell_outside(struct chooser *chooser, const struct token *token, bool selects)
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

static void tell_own(struct chooser *chooser, uint32_t hash)
{
    static const char letters[] = "0123456789abcdefghij";
    size_t back = 1;
    while (back <= MEMORY && back <= chooser->names &&
           chooser->recent[(chooser->names - back) % MEMORY] != hash)
        back++;
    if (back > MEMORY || back > chooser->names)
        back = 0;
    chooser->recent[chooser->names++ % MEMORY] = hash;
    tell(chooser, hash_text(letters + back, 1));
}

/* What a name stands for; `i` is its place. */
static void tell_name(struct chooser *chooser, size_t i, size_t end)
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
    bool member = i > 0 && token[-1].kind == MARK && is(&token[-1], ".");
    bool of_self = member && i > 1 && is(&token[-2], "self");
    bool called = i + 1 < end && token[1].kind == MARK && is(&token[1], "(");
    bool selects = i + 1 < end && token[1].kind == MARK && is(&token[1], ".");
    if (is_one_of(token, nothing))
        return;
    if (is_one_of(token, integers))
        tell(chooser, hash_text("int", 3));
    else if (is_one_of(token, keywords) ||
             (chooser->python && !token->embedded && is_one_of(token, python)))
        tell(chooser, hash);
    else if (member && !of_self)
        tell_outside(chooser, token, selects);
    else if (selects && holds(chooser->imported, chooser->imported_count, hash))
        tell(chooser, hash_text("module", 6));
    else if (called && !of_self && !holds(chooser->own, chooser->own_count, hash))
        tell_outside(chooser, token, false);
    else
        tell_own(chooser, hash);
}

static void tell_token(struct chooser *chooser, size_t i, size_t end)
{
    const struct token *token = &chooser->tokens[i];
    switch (token->kind) {
    case NAME:
        tell_name(chooser, i, end);
        break;
    case NUMBER:
        tell(chooser, hash_text("0", 1));
        break;
    case STRING:
        tell(chooser, hash_text("\"", 1));
        break;
    case MARK: /* those that only lay out are left out */
        if (!strchr(";,{}:", token->text[0]) && !(i > 0 && is(token, ".") && is(token - 1, "self")))
            tell(chooser, hash_token(token));
        break;
    case LINE_END:
        break;
    }
}

/* Behind an annotation of a parameter, which begins at its colon. */
static size_t skip_annotation(const struct chooser *chooser, size_t i, size_t end)
{
    int depth = 0;
    for (; i < end; i++) {
        const struct token *token = &chooser->tokens[i];
        if (token->kind != MARK)
            continue;
        if (depth == 0 && (is(token, ",") || is(token, "=") || is(token, ")")))
            return i;
        depth += is(token, "[") || is(token, "(");
        depth -= is(token, "]") || is(token, ")");
    }
    return end;
}

/* def name(a: int, b=1) -> int: */
static void tell_definition(struct chooser *chooser, size_t first, size_t end)
{
    int depth = 0;
    for (size_t i = first; i < end; i++) {
        const struct token *token = &chooser->tokens[i];
        bool mark = token->kind == MARK;
        depth += mark && is(token, "(");
        depth -= mark && is(token, ")");
        if (mark && depth == 1 && is(token, ":"))
            i = skip_annotation(chooser, i + 1, end) - 1;
        else if (mark && depth == 0 && is(token, "-"))
            while (i + 1 < end && !is(&chooser->tokens[i + 1], ":"))
                i++;
        else
            tell_token(chooser, i, end);
    }
}

/* A line of Python, from its first token to its end. */
static void tell_line(struct chooser *chooser, size_t first, size_t end)
{
    static const char *const kept[] = {"class", "def",    "@",       "async", "if",
                                       "elif",  "else",   "for",     "while", "with",
                                       "try",   "except", "finally", NULL};
    const struct token *token = &chooser->tokens[first];
    if (token->first)
        chooser->hidden = end - first > 1 && is(token, "def") &&
                          (is(token + 1, "get_inputs") || is(token + 1, "get_init_inputs"));
    if (token->kind == NAME &&
        (is(token, "import") || is(token, "from") || is(token, "super") || is(token, "pass")))
        return;
    bool constant = token->first && !is_one_of(token, kept);
    if (!constant && token->kind == NAME && is(token, "def"))
        tell_definition(chooser, first, end);
    else
        for (size_t i = first; i < end; i++)
            if (!constant || chooser->tokens[i].embedded)
                tell_token(chooser, i, end);
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
            tell_line(&chooser, first, end);
        else
            for (size_t i = first; i < end; i++)
                tell_token(&chooser, i, end);
    }
    mem_free(chooser.own);
    mem_free(chooser.imported);
    mem_free(lexer.tokens);
}
