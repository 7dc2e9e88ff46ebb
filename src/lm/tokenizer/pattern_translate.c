#include "lm/tokenizer/pattern.h"

#include "base/array.h"
#include "base/limits.h"

#include <stdint.h>
#include <string.h>

/* Characters of Unicode 15 to 16 by general category: Oniguruma 6.9.10 knows them, PCRE2 10.42 does
 * not. A newer PCRE2 gets the categories that it lacks written out. */
static const struct addition {
    uint32_t first, last;
    char category[3];
} additions[] = {
    {0x897, 0x897, "Mn"},     {0xCF3, 0xCF3, "Mc"},     {0xECE, 0xECE, "Mn"},
    {0x1B4E, 0x1B4F, "Po"},   {0x1B7F, 0x1B7F, "Po"},   {0x1C89, 0x1C89, "Lu"},
    {0x1C8A, 0x1C8A, "Ll"},   {0x2427, 0x2429, "So"},   {0x2FFC, 0x2FFF, "So"},
    {0x31E4, 0x31E5, "So"},   {0x31EF, 0x31EF, "So"},   {0xA7CB, 0xA7CC, "Lu"},
    {0xA7CD, 0xA7CD, "Ll"},   {0xA7DA, 0xA7DA, "Lu"},   {0xA7DB, 0xA7DB, "Ll"},
    {0xA7DC, 0xA7DC, "Lu"},   {0x105C0, 0x105F3, "Lo"}, {0x10D40, 0x10D49, "Nd"},
    {0x10D4A, 0x10D4D, "Lo"}, {0x10D4E, 0x10D4E, "Lm"}, {0x10D4F, 0x10D4F, "Lo"},
    {0x10D50, 0x10D65, "Lu"}, {0x10D69, 0x10D6D, "Mn"}, {0x10D6E, 0x10D6E, "Pd"},
    {0x10D6F, 0x10D6F, "Lm"}, {0x10D70, 0x10D85, "Ll"}, {0x10D8E, 0x10D8F, "Sm"},
    {0x10EC2, 0x10EC4, "Lo"}, {0x10EFC, 0x10EFF, "Mn"}, {0x1123F, 0x11240, "Lo"},
    {0x11241, 0x11241, "Mn"}, {0x11380, 0x11389, "Lo"}, {0x1138B, 0x1138B, "Lo"},
    {0x1138E, 0x1138E, "Lo"}, {0x11390, 0x113B5, "Lo"}, {0x113B7, 0x113B7, "Lo"},
    {0x113B8, 0x113BA, "Mc"}, {0x113BB, 0x113C0, "Mn"}, {0x113C2, 0x113C2, "Mc"},
    {0x113C5, 0x113C5, "Mc"}, {0x113C7, 0x113CA, "Mc"}, {0x113CC, 0x113CD, "Mc"},
    {0x113CE, 0x113CE, "Mn"}, {0x113CF, 0x113CF, "Mc"}, {0x113D0, 0x113D0, "Mn"},
    {0x113D1, 0x113D1, "Lo"}, {0x113D2, 0x113D2, "Mn"}, {0x113D3, 0x113D3, "Lo"},
    {0x113D4, 0x113D5, "Po"}, {0x113D7, 0x113D8, "Po"}, {0x113E1, 0x113E2, "Mn"},
    {0x116D0, 0x116E3, "Nd"}, {0x11B00, 0x11B09, "Po"}, {0x11BC0, 0x11BE0, "Lo"},
    {0x11BE1, 0x11BE1, "Po"}, {0x11BF0, 0x11BF9, "Nd"}, {0x11F00, 0x11F01, "Mn"},
    {0x11F02, 0x11F02, "Lo"}, {0x11F03, 0x11F03, "Mc"}, {0x11F04, 0x11F10, "Lo"},
    {0x11F12, 0x11F33, "Lo"}, {0x11F34, 0x11F35, "Mc"}, {0x11F36, 0x11F3A, "Mn"},
    {0x11F3E, 0x11F3F, "Mc"}, {0x11F40, 0x11F40, "Mn"}, {0x11F41, 0x11F41, "Mc"},
    {0x11F42, 0x11F42, "Mn"}, {0x11F43, 0x11F4F, "Po"}, {0x11F50, 0x11F59, "Nd"},
    {0x11F5A, 0x11F5A, "Mn"}, {0x1342F, 0x1342F, "Lo"}, {0x13440, 0x13440, "Mn"},
    {0x13441, 0x13446, "Lo"}, {0x13447, 0x13455, "Mn"}, {0x13460, 0x143FA, "Lo"},
    {0x16100, 0x1611D, "Lo"}, {0x1611E, 0x16129, "Mn"}, {0x1612A, 0x1612C, "Mc"},
    {0x1612D, 0x1612F, "Mn"}, {0x16130, 0x16139, "Nd"}, {0x16D40, 0x16D42, "Lm"},
    {0x16D43, 0x16D6A, "Lo"}, {0x16D6B, 0x16D6C, "Lm"}, {0x16D6D, 0x16D6F, "Po"},
    {0x16D70, 0x16D79, "Nd"}, {0x18CFF, 0x18CFF, "Lo"}, {0x1B132, 0x1B132, "Lo"},
    {0x1B155, 0x1B155, "Lo"}, {0x1CC00, 0x1CCEF, "So"}, {0x1CCF0, 0x1CCF9, "Nd"},
    {0x1CD00, 0x1CEB3, "So"}, {0x1D2C0, 0x1D2D3, "No"}, {0x1DF25, 0x1DF2A, "Ll"},
    {0x1E030, 0x1E06D, "Lm"}, {0x1E08F, 0x1E08F, "Mn"}, {0x1E4D0, 0x1E4EA, "Lo"},
    {0x1E4EB, 0x1E4EB, "Lm"}, {0x1E4EC, 0x1E4EF, "Mn"}, {0x1E4F0, 0x1E4F9, "Nd"},
    {0x1E5D0, 0x1E5ED, "Lo"}, {0x1E5EE, 0x1E5EF, "Mn"}, {0x1E5F0, 0x1E5F0, "Lo"},
    {0x1E5F1, 0x1E5FA, "Nd"}, {0x1E5FF, 0x1E5FF, "Po"}, {0x1F6DC, 0x1F6DC, "So"},
    {0x1F774, 0x1F776, "So"}, {0x1F77B, 0x1F77F, "So"}, {0x1F7D9, 0x1F7D9, "So"},
    {0x1F8B2, 0x1F8BB, "So"}, {0x1F8C0, 0x1F8C1, "So"}, {0x1FA75, 0x1FA77, "So"},
    {0x1FA87, 0x1FA89, "So"}, {0x1FA8F, 0x1FA8F, "So"}, {0x1FAAD, 0x1FAAF, "So"},
    {0x1FABB, 0x1FABF, "So"}, {0x1FAC6, 0x1FAC6, "So"}, {0x1FACE, 0x1FACF, "So"},
    {0x1FADA, 0x1FADC, "So"}, {0x1FADF, 0x1FADF, "So"}, {0x1FAE8, 0x1FAE9, "So"},
    {0x1FAF7, 0x1FAF8, "So"}, {0x1FBCB, 0x1FBEF, "So"}, {0x2B739, 0x2B739, "Lo"},
    {0x2EBF0, 0x2EE5D, "Lo"}, {0x31350, 0x323AF, "Lo"},
};
/* The same for scripts. */
static const struct addition han[] = {{0x2B739, 0x2B739, ""},
                                      {0x2EBF0, 0x2EE5D, ""},
                                      {0x31350, 0x323AF, ""}};

static const char *const categories[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn",
                                         "Mc", "Me", "N",  "Nd", "Nl", "No", "P", "Pc",
                                         "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm",
                                         "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp"};

struct translation {
    const char *text;
    size_t count, at;
    bool inside; /* a class */
    struct buf *out;
    struct err *err;
};

static int refuse(const struct translation *t, size_t length, const char *why)
{
    size_t left = t->count - t->at;
    return err_set(t->err, ERR_INPUT, "'%.*s' in a pattern %s",
                   (int)(length < left ? length : left), t->text + t->at, why);
}

static bool follows(const struct translation *t, const char *what)
{
    size_t length = strlen(what);
    return t->count - t->at >= length && memcmp(t->text + t->at, what, length) == 0;
}

static void copy(struct translation *t, size_t length)
{
    buf_append(t->out, t->text + t->at, length);
    t->at += length;
}

static void put_additions(struct translation *t, const struct addition *rows, size_t count,
                          const char *category)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(rows[i].category, category, strlen(category)) == 0)
            buf_printf(t->out, "\\x{%X}-\\x{%X}", rows[i].first, rows[i].last);
}

/* A property of PCRE2 and the characters that it lacks. */
static int put_property(struct translation *t, const char *name, const char *category,
                        bool negative, size_t length)
{
    bool script = strncmp(name, "sc:", 3) == 0;
    if (negative && t->inside)
        return refuse(t, length, "is not known inside [ ]");
    if (!t->inside)
        buf_puts(t->out, negative ? "[^" : "[");
    buf_printf(t->out, "\\p{%s}", name);
    if (script)
        put_additions(t, han, COUNT(han), "");
    else if (category)
        put_additions(t, additions, COUNT(additions), category);
    if (!t->inside)
        buf_puts(t->out, "]");
    t->at += length;
    return 0;
}

/* At \p or \P. */
static int property(struct translation *t)
{
    const char *open = t->text + t->at + 2, *end = t->text + t->count;
    const char *close = open < end && *open == '{' ? memchr(open, '}', (size_t)(end - open)) : NULL;
    if (!close || close - open > 8)
        return refuse(t, 8, "is not known: \\p{L}, \\p{Nd} and such are");
    bool negative = t->text[t->at + 1] == 'P';
    size_t length = (size_t)(close + 1 - (t->text + t->at));
    const char *name = open + 1;
    if (*name == '^') {
        negative = !negative;
        name++;
    }
    size_t bytes = (size_t)(close - name);
    if (bytes == 3 && memcmp(name, "Han", 3) == 0)
        return put_property(t, "sc:Han", NULL, negative, length);
    for (size_t i = 0; i < COUNT(categories); i++)
        if (strlen(categories[i]) == bytes && memcmp(categories[i], name, bytes) == 0)
            return put_property(t, categories[i], categories[i], negative, length);
    return refuse(t, length, "is a property that is not known");
}

/* \x41, \x{1F600}, A: the number, written as PCRE2 reads it. */
static int number(struct translation *t)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    bool braced = t->text[t->at + 1] == 'x' && t->count - t->at > 2 && t->text[t->at + 2] == '{';
    size_t most = braced ? 6 : t->text[t->at + 1] == 'u' ? 4 : 2;
    size_t first = t->at + (braced ? 3 : 2), found = 0;
    while (first + found < t->count && found < most && t->text[first + found] &&
           strchr(digits, t->text[first + found]))
        found++;
    bool closed = !braced || (first + found < t->count && t->text[first + found] == '}');
    /* Above 7F the two digits are a byte for Oniguruma and a character for PCRE2. */
    bool byte = most == 2 && found == 2 && t->text[first] > '7';
    if (found == 0 || (!braced && found < most) || !closed || byte)
        return refuse(t, 6, "is not known: write \\x{…}");
    buf_printf(t->out, "\\x{%.*s}", (int)found, t->text + first);
    t->at = first + found + braced;
    return 0;
}

static int escape(struct translation *t)
{
    if (t->count - t->at < 2)
        return refuse(t, 1, "is its end");
    char next = t->text[t->at + 1];
    bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
                  (next >= '0' && next <= '9');
    switch (next) {
    case 's':
    case 'S': /* PCRE2's own takes U+180E for a space */
        return put_property(t, "White_Space", NULL, next == 'S', 2);
    case 'd':
    case 'D':
        return put_property(t, "Nd", "Nd", next == 'D', 2);
    case 'p':
    case 'P':
        return property(t);
    case 'x':
    case 'u':
        return number(t);
    case 'v':
        buf_puts(t->out, "\\x{B}");
        t->at += 2;
        return 0;
    default:
        if (letter && !strchr("rntfae", next))
            return refuse(t, 2, "is not known");
        if ((unsigned char)next >= 0x80)
            t->at++; /* a backslash before what needs none */
        else
            copy(t, 2);
        return 0;
    }
}

static int group(struct translation *t)
{
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    for (size_t i = 0; i < COUNT(known); i++)
        if (follows(t, known[i])) {
            copy(t, strlen(known[i]));
            return 0;
        }
    if (follows(t, "(?i)") && t->at == 0) {
        copy(t, 4);
        return 0;
    }
    if (follows(t, "(?") || follows(t, "(*"))
        return refuse(t, 4, "is not known");
    copy(t, 1);
    return 0;
}

static int plain(struct translation *t)
{
    if (follows(t, "{,"))
        return refuse(t, 2, "is not known: write {0,");
    if (follows(t, "}+") || follows(t, "}?"))
        return refuse(t, 2, "is not known");
    if (t->text[t->at] == '(')
        return group(t);
    if (t->text[t->at] == '[') {
        t->inside = true;
        copy(t, follows(t, "[^") ? 2 : 1);
        if (follows(t, "]"))
            return refuse(t, 1, "right behind [ is not known: write \\]");
        return 0;
    }
    copy(t, 1);
    return 0;
}

static int in_class(struct translation *t)
{
    if (follows(t, "["))
        return refuse(t, 1, "inside [ ] is not known: write \\[");
    if (follows(t, "&&"))
        return refuse(t, 2, "inside [ ] is not known");
    if (follows(t, "]"))
        t->inside = false;
    copy(t, 1);
    return 0;
}

int pattern_translate(const char *text, size_t count, struct buf *out, struct err *err)
{
    struct translation t = {.text = text, .count = count, .out = out, .err = err};
    int result = 0;
    while (result == 0 && t.at < count)
        result = text[t.at] == '\\' ? escape(&t) : t.inside ? in_class(&t) : plain(&t);
    if (result == 0 && out->cut)
        result = err_set(err, ERR_LIMIT, "a pattern of more than %zu bytes, written out",
                         LIMIT_PATTERN_PCRE_BYTES);
    return result;
}
