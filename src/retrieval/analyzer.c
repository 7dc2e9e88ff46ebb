#include "retrieval/analyzer.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SHORTEST 2
#define NUMBER_LONGEST 6
#define CATEGORY "Category"

/* In lower case, each between spaces. */
static const char stop_words[] =
    " after again all also an and any are args as assert async at aten auto autograd be because "
    "been before behind being below beside between block bool both break but by call can case "
    "category char class code col const constexpr contiguous continue could cpp cpu cuda "
    "cuda_runtime data def default device dim do does double dtype each elif else empty enum "
    "every except extern false file finally first fixed float float32 followed for forward from "
    "functional get get_init_input get_input global goto grid half have here how if "
    "implementation import in include init init_inputs inline input int int32_t int64 int64_t "
    "into is it its jit kernel kwarg lambda language last len let list load long main math may "
    "mock model module more most must namespace new nn no none nor not np num numpy object of on "
    "one only optional or other out output over own param parameter pass print program ptr raise "
    "rand randn range register restrict return same self shape short signed simple size size_t "
    "sizeof so solution some static std stddef stdint stdlib store str string struct such super "
    "switch template tensor than that the their them then there these they this those thread "
    "through tl to too torch triton true try two type typedef typename typing uint32_t under "
    "union unsigned until up use using value very view void volatile was way were what when where "
    "which while who whose will with within without would yield ";

/* Synonyms: sorted by the first. */
static const char *const synonyms[][2] = {
    {"attn", "attention"},
    {"average", "mean"},
    {"avg", "mean"},
    {"baddbmm", "matmul"},
    {"bmm", "matmul"},
    {"conv", "convolution"},
    {"convolutional", "convolution"},
    {"csr", "sparse"},
    {"cumulative", "cumsum"},
    {"einsum", "matmul"},
    {"expf", "exp"},
    {"exponential", "exp"},
    {"gemm", "matmul"},
    {"gemv", "matmul"},
    {"layernorm", "norm"},
    {"logsumexp", "log_sum_exp"},
    {"maximum", "max"},
    {"minimum", "min"},
    {"mm", "matmul"},
    {"normalisation", "norm"},
    {"normalise", "norm"},
    {"normalization", "norm"},
    {"normalize", "norm"},
    {"normalized", "norm"},
    {"pooling", "pool"},
    {"prefix", "cumsum"},
    {"product", "matmul"},
    {"sorted", "sort"},
    {"sorting", "sort"},
    {"spmv", "sparse"},
    {"sqrtf", "sqrt"},
    {"summation", "sum"},
    {"tanhf", "tanh"},
};

static int compare_word(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

static bool is_stop_word(const char *word)
{
    char between_spaces[WORD_BYTES + 2];
    snprintf(between_spaces, sizeof between_spaces, " %s ", word);
    return strstr(stop_words, between_spaces) != NULL;
}

static void set_word(struct analyzer_word *word, const char *text, size_t length)
{
    word->length = length < WORD_BYTES ? length : WORD_BYTES - 1;
    memcpy(word->text, text, word->length);
    word->text[word->length] = '\0';
}

/* In lower case, without a plural's s, and as the name that stands for its synonyms. */
static void normalise_word(struct analyzer_word *word)
{
    for (size_t i = 0; i < word->length; i++)
        if (word->text[i] >= 'A' && word->text[i] <= 'Z')
            word->text[i] += 'a' - 'A';
    const char *last = word->text + word->length;
    if (word->length > 3 && last[-1] == 's' && !strchr("sui_", last[-2]))
        word->text[--word->length] = '\0';
    const char *const(*found)[2] = bsearch(word->text, synonyms, COUNT(synonyms), sizeof *synonyms,
                                           compare_word);
    if (found)
        set_word(word, (*found)[1], strlen((*found)[1]));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || is_upper(c) || (unsigned char)c >= 0x80;
}

/* The end of the part of an identifier that begins at `at`: "HTTPServer" is HTTP and Server. */
static size_t part_end(const char *text, size_t at, size_t end)
{
    size_t i = at + 1;
    if (is_digit(text[at])) {
        while (i < end && is_digit(text[i]))
            i++;
        return i;
    }
    while (i < end && is_letter(text[i])) {
        bool rises = is_upper(text[i]) && !is_upper(text[i - 1]);
        bool begins = is_upper(text[i]) && i + 1 < end && is_letter(text[i + 1]) &&
                      !is_upper(text[i + 1]) && text[i + 1] != 's';
        if (rises || begins)
            break;
        i++;
    }
    return i;
}

struct walk {
    int (*visit)(void *context, const struct analyzer_word *word);
    void *context;
    struct analyzer_word word;
    bool emitted; /* the identifier was emitted: its first part takes the same position */
};

static int emit_word(struct walk *walk, const char *text, size_t start, size_t end)
{
    struct analyzer_word *word = &walk->word;
    set_word(word, text + start, end - start);
    normalise_word(word);
    if (word->length < 2 || is_stop_word(word->text))
        return 0;
    word->beside = walk->emitted;
    word->start = start;
    word->end = end;
    walk->emitted = false;
    return walk->visit(walk->context, word);
}

static int emit_identifier(struct walk *walk, const char *text, size_t start, size_t end)
{
    while (start < end && text[start] == '_')
        start++;
    while (end > start && text[end - 1] == '_')
        end--;
    if (start == end)
        return 0;
    size_t next = part_end(text, start, end);
    int result = emit_word(walk, text, start, end);
    if (next == end) /* a single part */
        return result;
    walk->emitted = result == 0 && walk->word.start == start && walk->word.end == end;
    for (size_t at = start; at < end && result == 0; at = next) {
        next = text[at] == '_' ? at + 1 : part_end(text, at, end);
        if (text[at] != '_' && !is_digit(text[at]))
            result = emit_word(walk, text, at, next);
    }
    walk->emitted = false;
    return result;
}

/* Python's operator; a decorator has no blank after it. */
static int emit_matmul(struct walk *walk, size_t at)
{
    static const char product[] = "matmul";
    set_word(&walk->word, product, sizeof product - 1);
    walk->word.beside = false;
    walk->word.start = at;
    walk->word.end = at + 1;
    return walk->visit(walk->context, &walk->word);
}

static size_t line_end(const char *text, size_t at, size_t count)
{
    const char *found = memchr(text + at, '\n', count - at);
    return found ? (size_t)(found - text) : count;
}

int analyzer_each(const char *text, size_t count,
                  int (*visit)(void *context, const struct analyzer_word *word), void *context)
{
    struct walk walk = {.visit = visit, .context = context};
    int result = 0;
    for (size_t at = 0, end; at < count && result == 0; at = end) {
        end = at + 1;
        bool number = is_digit(text[at]);
        if (text[at] == '@' && end < count && text[end] == ' ')
            result = emit_matmul(&walk, at);
        if (!number && !is_letter(text[at]) && text[at] != '_')
            continue;
        while (end < count &&
               (is_letter(text[end]) || is_digit(text[end]) || (text[end] == '_' && !number)))
            end++;
        size_t length = end - at;
        if (end < count && text[end] == ':' && length == strlen(CATEGORY) &&
            memcmp(text + at, CATEGORY, length) == 0)
            end = line_end(text, end, count);
        else if (!number)
            result = emit_identifier(&walk, text, at, end);
        else if (length >= NUMBER_SHORTEST && length <= NUMBER_LONGEST)
            result = emit_word(&walk, text, at, end);
    }
    return result;
}
