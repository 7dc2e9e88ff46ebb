/* lm/tokenizer by itself: what it takes and refuses, its fast paths against the plain ones. Against
 * the `tokenizers` library: tests/lm/tokenizer_checks.py. */
#include "lm/tokenizer/tokenizer.h"

#include "../support/test.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/utf8.h"
#include "lm/tokenizer/bpe.h"
#include "lm/tokenizer/byte_unicode.h"
#include "lm/tokenizer/normalize.h"
#include "lm/tokenizer/pattern.h"

#include <pthread.h>
#include <utf8proc.h>

#define WORDS                                                                                      \
    "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "                                           \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+"

/* A small file: 256 bytes (ids 0 to 255), "ab" "abc" " a" "aa" "aaaa" "whole" (256 to 261; nothing
 * merges to the last), and added ones. */
static const char split_words[] =
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" WORDS
    "\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\","
    "\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}]}";
static const char added[] =
    "[{\"id\":262,\"content\":\"<|end|>\",\"special\":true,\"normalized\":false},"
    "{\"id\":263,\"content\":\"<tool>\",\"special\":false,\"normalized\":false}]";

struct file {
    const char *pre_tokenizer, *added, *normalizer, *post_processor, *model; /* NULL: as above */
};

static void write_file(const struct file *file, struct buf *out)
{
    buf_init(out, (size_t)1 << 20);
    buf_printf(out,
               "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":%s,"
               "\"normalizer\":%s,\"pre_tokenizer\":%s,\"post_processor\":%s,"
               "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",%s\"vocab\":{",
               file->added ? file->added : added, file->normalizer ? file->normalizer : "null",
               file->pre_tokenizer ? file->pre_tokenizer : split_words,
               file->post_processor ? file->post_processor : "null",
               file->model ? file->model : "");
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[2];
        size_t count = byte_unicode_write((uint8_t)byte, letter);
        bool escaped = byte == '"' || byte == '\\';
        buf_printf(out, "\"%s%.*s\":%u,", escaped ? "\\" : "", (int)count, letter, byte);
    }
    buf_puts(out, "\"ab\":256,\"abc\":257,\"\u0120a\":258,\"aa\":259,\"aaaa\":260,\"whole\":261},"
                  "\"merges\":[\"a b\",[\"ab\",\"c\"],\"\u0120 a\",\"a a\",\"aa aa\"]}}");
}

static int parse(const struct file *file, struct tokenizer **tokenizer, struct err *err)
{
    struct buf text;
    write_file(file, &text);
    int result = tokenizer_parse(tokenizer, "t.json", text.data, text.len, err);
    buf_deinit(&text);
    return result;
}

static struct tokenizer *open_file(const struct file *file)
{
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    assert_ok(parse(file, &tokenizer, &err), &err);
    return tokenizer;
}

static void encode(struct tokenizer *tokenizer, const char *text, size_t count, bool special,
                   bool begin, struct tokens *out)
{
    struct err err = {0};
    struct tokenizer_encoding how = {special, begin};
    assert_ok(tokenizer_encode(tokenizer, text, count, &how, out, &err), &err);
}

static void assert_encodes(struct tokenizer *tokenizer, const char *text, bool special, bool begin,
                           const int32_t *ids, size_t count)
{
    struct tokens tokens = {0};
    encode(tokenizer, text, strlen(text), special, begin, &tokens);
    assert_int_equal(tokens.count, count);
    assert_memory_equal(tokens.ids, ids, count * sizeof *ids);
    tokens_deinit(&tokens);
}

static void assert_comes_back(struct tokenizer *tokenizer, const char *text, size_t count)
{
    struct tokens tokens = {0};
    struct buf out;
    buf_init(&out, (size_t)1 << 24);
    encode(tokenizer, text, count, true, false, &tokens);
    assert_int_equal(tokenizer_decode(tokenizer, tokens.ids, tokens.count, false, &out, NULL), 0);
    assert_int_equal(out.len, count);
    assert_memory_equal(out.data, text, count);
    tokens_deinit(&tokens);
    buf_deinit(&out);
}

TEST(byte_unicode)
{
    bool seen[0x200] = {false};
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t letter = byte_unicode_of((uint8_t)byte);
        assert_true(letter < 0x144 && !seen[letter]);
        seen[letter] = true;
        assert_int_equal(byte_unicode_byte(letter), byte);
        char text[2], back[2];
        size_t count = byte_unicode_write((uint8_t)byte, text);
        assert_int_equal(byte_unicode_bytes(text, count, back), 1);
        assert_int_equal((uint8_t)back[0], byte);
    }
    assert_int_equal(byte_unicode_of(' '), 0x120);
    assert_int_equal(byte_unicode_of('\n'), 0x10A);
    char back[8];
    static const char *const others[] = {" ", "\n", "\u00A0", "\u0144", "\u00AD", "\u4E2D"};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_int_equal(byte_unicode_bytes(others[i], strlen(others[i]), back), -1);
}

/* The same merges, whatever way they are found. */
TEST(merging_fast_and_plain)
{
    struct bpe_work work = {0};
    uint64_t seed = 1;
    for (int table = 0; table < 200; table++) {
        struct bpe bpe;
        bpe_init(&bpe, 64, seed);
        for (uint32_t rank = 0; rank < 64; rank++)
            bpe_put(&bpe, (int32_t)(random_next(&seed) % (4 + rank)),
                    (int32_t)(random_next(&seed) % (4 + rank)),
                    (struct bpe_merge_to){rank, (int32_t)(4 + rank)});
        for (int word = 0; word < 40; word++) {
            int32_t fast[300], plain[300];
            size_t count = random_next(&seed) % (word % 2 ? 60 : 300);
            for (size_t i = 0; i < count; i++)
                fast[i] = plain[i] = (int32_t)(random_next(&seed) % 4);
            size_t expected = bpe_merge_plain(&bpe, plain, count);
            assert_int_equal(bpe_merge(&bpe, &work, fast, count), expected);
            assert_memory_equal(fast, plain, expected * sizeof *fast);
        }
        bpe_deinit(&bpe);
    }
    bpe_work_deinit(&work);
}

/* NFC leaves these alone, behind whatever character. */
TEST(inert)
{
    static const int32_t before[] = {'e', 0x1100, 0xAC00, 0x30AB, 0x915, 0x9C7, 0x301, 0x11099};
    size_t found = 0;
    for (int32_t character = 1; character < 0x110000; character++) {
        if (!normalizer_inert("NFC", character) || !utf8proc_codepoint_valid(character))
            continue;
        found++;
        assert_int_equal(utf8proc_get_property(character)->combining_class, 0);
        for (size_t i = 0; i < COUNT(before); i++) {
            utf8proc_uint8_t text[12], *normal = NULL;
            utf8proc_ssize_t count = utf8proc_encode_char(before[i], text);
            count += utf8proc_encode_char(character, text + count);
            text[count] = '\0';
            normal = utf8proc_NFC(text);
            assert_string_equal((const char *)normal, (const char *)text);
            mem_free(normal);
        }
    }
    assert_true(found > 80000);
    assert_false(normalizer_inert("NFC", 0x301));
    assert_true(normalizer_inert("NFKD", 'a'));
    assert_false(normalizer_inert("NFKD", 0xE9));
}

/* What the forms make of a text, one after the other. */
static void assert_normal(const char *const *forms, size_t count, const char *text,
                          const void *wanted)
{
    struct normalizer normalizer = {0};
    struct buf buffers[2];
    size_t length = strlen(text);
    for (size_t i = 0; i < 2; i++)
        buf_init(&buffers[i], 1 << 22);
    for (size_t i = 0; i < count; i++)
        assert_true(normalizer_add(&normalizer, forms[i]));
    const char *normal = normalizer_apply(&normalizer, text, &length, buffers);
    assert_non_null(normal);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(normal, wanted, length);
    for (size_t i = 0; i < 2; i++)
        buf_deinit(&buffers[i]);
}

static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};

static utf8proc_uint8_t *other_form(size_t form, const char *text)
{
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text;
    return form == 0   ? utf8proc_NFC(bytes)
           : form == 1 ? utf8proc_NFD(bytes)
           : form == 2 ? utf8proc_NFKC(bytes)
                       : utf8proc_NFKD(bytes);
}

/* Random heaps of marks, Hangul and what decomposes, against the library's own normaliser. */
TEST(marks)
{
    static const char *const pieces[] = {"a",          "\u00e9", "\u0301", "\u0323",
                                         "\u0327",     "\u0345", "\u1e69", "\u05b0",
                                         "\u1100",     "\u1161", "\u11a8", "\uac00",
                                         "\U0001d15e", "\ufdfa", "\u4e00", " "};
    uint64_t drawn = 0;
    for (size_t round = 0; round < 4000; round++) {
        const size_t form = round % COUNT(forms);
        struct buf text;
        buf_init(&text, 1 << 20);
        for (size_t i = 0; i < 1 + round % 40; i++)
            buf_puts(&text, pieces[random_mix(++drawn * RANDOM_GOLDEN) % COUNT(pieces)]);
        utf8proc_uint8_t *wanted = other_form(form, text.data);
        assert_normal(&forms[form], 1, text.data, wanted);
        mem_free(wanted);
        buf_deinit(&text);
    }
}

/* In time that grows with their number, not with its square: this would take an hour. */
TEST(many_marks)
{
    const size_t marks = 500000;
    struct buf text, wanted;
    buf_init(&text, 4 * marks);
    buf_init(&wanted, 4 * marks);
    for (size_t i = 0; i < marks; i++) {
        buf_puts(&text, i % 2 ? "\u0323" : "\u0301"); /* below, above: the first go first */
        buf_puts(&wanted, i < marks / 2 ? "\u0323" : "\u0301");
    }
    assert_normal(forms, 1, text.data, wanted.data);
    buf_deinit(&text);
    buf_deinit(&wanted);
}

TEST(normal_forms)
{
    static const struct {
        const char *form, *text, *normal;
    } rows[] = {
        {"NFC", "plain", "plain"},
        {"NFC", "cafe\u0301 \u212B e\u0323\u0302", "caf\u00E9 \u00C5 \u1EC7"},
        {"NFC", "\u1112\u1161\u11AB!\u0301", "\uD55C!\u0301"},
        {"NFC", "\u4E2D\u3046\u3099", "\u4E2D\u3094"},
        {"NFD", "caf\u00E9", "cafe\u0301"},
        {"NFKC", "\uFB01\u00BD", "fi1\u20442"},
        {"NFKD", "\u00E9\uFF21", "e\u0301A"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *const both[] = {"NFC", rows[i].form};
        assert_normal(both, 2, rows[i].text, rows[i].normal);
    }
    struct normalizer normalizer = {0};
    assert_false(normalizer_add(&normalizer, "Lowercase"));
}

static const struct {
    const char *pattern;
    bool known;
    const char *text, *match; /* NULL: none */
} patterns[] = {
    {"\\s+", true, "a\u180E \u3000b", " \u3000"},
    {"\\S", true, " \u180E", "\u180E"},
    {"[^\\s]", true, "\t\u2003x", "x"},
    {"\\p{L}+", true, "1\U0002EBF0\U00031350z", "\U0002EBF0\U00031350z"},
    {"[^\\p{L}]", true, "\U00031350.", "."},
    {"\\P{L}", true, "\U00031350.", "."},
    {"\\p{^N}", true, "1a", "a"},
    {"\\p{Lu}\\p{Ll}+", true, "aBcd", "Bcd"},
    {"\\p{Han}", true, "\u3002\u4E2D", "\u4E2D"},
    {"\\d{1,3}", true, "12345", "123"},
    {"(?i:'s|'t)", true, "it'S", "'S"},
    {"(?i)ab", true, "xAB", "AB"},
    {"x(?!\\S)", true, "xy x z", "x"},
    {"(?<=a)b", true, "b ab", "b"},
    {"\\x41|\\x{1F600}|\\u00e9", true, "zA", "A"},
    {"\\v", true, "\n\v", "\v"},
    {"$", true, "a\nb", ""},
    {"[\\]\\[]", true, "a]", "]"},
    {"a++b", true, "aaab", "aaab"},
    {"x", true, "y", NULL},
    {"\\w+", false, NULL, NULL},
    {"\\bx", false, NULL, NULL},
    {"\\h", false, NULL, NULL},
    {"(a)\\1", false, NULL, NULL},
    {"(?R)", false, NULL, NULL},
    {"(*ACCEPT)", false, NULL, NULL},
    {"(?<n>a)", false, NULL, NULL},
    {"(?#x)", false, NULL, NULL},
    {"a(?i)b", false, NULL, NULL},
    {"[[:alpha:]]", false, NULL, NULL},
    {"[a&&b]", false, NULL, NULL},
    {"[\\P{L}]", false, NULL, NULL},
    {"[]a]", false, NULL, NULL},
    {"\\p{Alphabetic}", false, NULL, NULL},
    {"\\pL", false, NULL, NULL},
    {"\\xE9", false, NULL, NULL},
    {"a{2}+", false, NULL, NULL},
    {"a{,2}", false, NULL, NULL},
    {"a\\", false, NULL, NULL},
    {"(", false, NULL, NULL},
    {"[a", false, NULL, NULL},
    {"a**", false, NULL, NULL},
    {"\\p{L", false, NULL, NULL},
    {"((((a{1,1000}){1,1000}){1,1000}){1,1000})", false, NULL, NULL},
};

TEST(patterns)
{
    struct pattern_search *search = pattern_search_new();
    for (size_t i = 0; i < COUNT(patterns); i++) {
        struct pattern *pattern = NULL;
        struct err err = {0};
        size_t start = 0, end = 0;
        int result = pattern_compile(&pattern, patterns[i].pattern, strlen(patterns[i].pattern),
                                     false, &err);
        if ((result == 0) != patterns[i].known)
            fail_msg("%s: %s", patterns[i].pattern, err.text);
        assert_true(result == 0 || err.text[0] != '\0');
        if (result < 0)
            continue;
        result = pattern_find(pattern, search, patterns[i].text, strlen(patterns[i].text), 0,
                              &start, &end, &err);
        if (result != (patterns[i].match != NULL))
            fail_msg("%s: %d", patterns[i].pattern, result);
        if (patterns[i].match) {
            assert_int_equal(end - start, strlen(patterns[i].match));
            assert_memory_equal(patterns[i].text + start, patterns[i].match, end - start);
        }
        pattern_free(pattern);
    }
    pattern_search_free(search);
}

#define TEMPLATE                                                                                   \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"B\",\"type_id\":0}}" \
    ","                                                                                            \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{\"B\":"          \
    "{\"id\":\"B\",\"ids\":[262],\"tokens\":[\"<|end|>\"]}}}"

TEST(encode)
{
    static const struct {
        const char *text;
        bool special, begin;
        size_t count;
        int32_t ids[8];
    } rows[] = {
        {"", true, false, 0, {0}},
        {"", true, true, 1, {262}},
        {"abc", true, false, 1, {257}},
        {"abc a", true, true, 3, {262, 257, 258}},
        {"aaaaa", true, false, 2, {260, 'a'}},
        {"aaab", true, false, 2, {259, 256}},
        {"whole", true, false, 5, {'w', 'h', 'o', 'l', 'e'}},
        {"ab<|end|>ab", true, false, 3, {256, 262, 256}},
        {"<|end|>", false, false, 7, {'<', '|', 'e', 'n', 'd', '|', '>'}},
        {"<tool>", false, false, 1, {263}},
        {"\xFF\xE4\xB8", true, false, 3, {0xFF, 0xE4, 0xB8}},
        {"ab\x80"
         "ab",
         true, false, 3, .ids = {256, 0x80, 256}},
    };
    struct tokenizer *tokenizer = open_file(&(struct file){.post_processor = TEMPLATE});
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_encodes(tokenizer, rows[i].text, rows[i].special, rows[i].begin, rows[i].ids,
                       rows[i].count);
    tokenizer_close(tokenizer);
}

/* A vocabulary that knows whole words, where ignore_merges is set. */
TEST(ignore_merges)
{
    struct tokenizer *tokenizer = open_file(&(struct file){.model = "\"ignore_merges\":true,"});
    assert_encodes(tokenizer, "whole", true, false, (const int32_t[]){261}, 1);
    tokenizer_close(tokenizer);
}

TEST(names_and_bytes)
{
    struct tokenizer *tokenizer = open_file(&(struct file){0});
    size_t count;
    assert_int_equal(tokenizer_size(tokenizer), 264);
    assert_int_equal(tokenizer_id(tokenizer, "<|end|>"), 262);
    assert_int_equal(tokenizer_id(tokenizer, " a"), 258);
    assert_int_equal(tokenizer_id(tokenizer, "nothing"), -1);
    assert_true(tokenizer_is_special(tokenizer, 262));
    assert_false(tokenizer_is_special(tokenizer, 263));
    assert_false(tokenizer_is_special(tokenizer, -1));
    assert_memory_equal(tokenizer_bytes(tokenizer, 258, &count), " a", 2);
    assert_int_equal(count, 2);
    tokenizer_bytes(tokenizer, 264, &count);
    assert_int_equal(count, 0);
    tokenizer_bytes(tokenizer, INT32_MIN, &count);
    assert_int_equal(count, 0);
    tokenizer_close(tokenizer);
}

/* Long words, and runs that a pattern goes through again and again. */
TEST(long_texts)
{
    static const char *const units[] = {"a",    " ", "\n", " \n", "\xE4\xB8\xAD",
                                        "\xFF", "-", "a ", "\t-"};
    struct tokenizer *tokenizer = open_file(&(struct file){.normalizer = "{\"type\":\"NFC\"}"});
    struct buf text;
    buf_init(&text, (size_t)1 << 21);
    for (size_t i = 0; i < COUNT(units); i++) {
        buf_reset(&text);
        while (text.len < (size_t)1 << 19)
            buf_puts(&text, units[i]);
        buf_puts(&text, "b");
        assert_comes_back(tokenizer, text.data, text.len);
    }
    buf_deinit(&text);
    tokenizer_close(tokenizer);
}

TEST(a_pattern_that_explodes)
{
    static const char explodes[] =
        "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
        "\"pattern\":{\"Regex\":\"(?:a|a|aa)+[bc]\"},\"behavior\":\"Isolated\"},"
        "{\"type\":\"ByteLevel\",\"use_regex\":false}]}";
    struct tokenizer *tokenizer = open_file(&(struct file){.pre_tokenizer = explodes});
    struct tokens tokens = {0};
    struct err err = {0};
    char text[200];
    memset(text, 'a', sizeof text);
    assert_int_equal(tokens_add(&tokens, 7, &err), 0);
    assert_int_equal(tokenizer_encode(tokenizer, text, sizeof text,
                                      &(struct tokenizer_encoding){false, false}, &tokens, &err),
                     ERR_LIMIT);
    assert_non_null(strstr(err.text, "takes too long"));
    assert_int_equal(tokens.count, 1); /* as before */
    tokens_deinit(&tokens);
    tokenizer_close(tokenizer);
}

TEST(stream)
{
    static const struct {
        const char *bytes, *text;
        size_t first; /* whole characters, written before the end */
    } rows[] = {
        {"a\xF0\x9F\x9A\x80"
         "b",
         "a\U0001F680b", 6},
        {"\xE4\xB8\xAD", "\u4E2D", 3},
        {"\xF0\x9F\x9A", "\uFFFD", 0},
        {"\xF0\x9F"
         "a",
         "\uFFFDa", 4},
        {"\xFF\xFE", "\uFFFD\uFFFD", 6},
        {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD", 9},
        {"\xF4\x90\x80", "\uFFFD\uFFFD\uFFFD", 9},
        {"\xE4\xE4\xB8\xAD", "\uFFFD\u4E2D", 6},
        {"\xC3", "\uFFFD", 0},
        {"\x80z", "\uFFFDz", 4},
    };
    struct tokenizer *tokenizer = open_file(&(struct file){0});
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tokenizer_stream stream = {0};
        struct buf out;
        buf_init(&out, 256);
        for (const char *byte = rows[i].bytes; *byte; byte++) {
            assert_int_equal(tokenizer_stream_put(tokenizer, &stream, (uint8_t)*byte, true, &out,
                                                  NULL),
                             0);
            assert_true(utf8_is_valid(out.data, out.len));
        }
        assert_int_equal(out.len, rows[i].first);
        assert_int_equal(tokenizer_stream_put(tokenizer, &stream, 262, true, &out, NULL), 0);
        assert_int_equal(tokenizer_stream_end(&stream, &out, NULL), 0);
        assert_string_equal(out.data, rows[i].text);
        buf_deinit(&out);
    }
    tokenizer_close(tokenizer);
}

TEST(refusals)
{
    static const struct {
        struct file file;
        const char *says;
    } rows[] = {
        {{.pre_tokenizer = "{\"type\":\"Metaspace\"}"},
         "pre_tokenizer: type 'Metaspace' is not known"},
        {{.pre_tokenizer = "null"}, "decoder: ByteLevel, but the pre_tokenizer is not"},
        {{.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},"
                           "{\"type\":\"Digits\"}]}"},
         "behind ByteLevel"},
        {{.pre_tokenizer = "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a)\\\\1\"},"
                           "\"behavior\":\"Isolated\"}"},
         "'\\1' in a pattern is not known"},
        {{.pre_tokenizer = "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},"
                           "\"behavior\":\"Odd\"}"},
         "behavior 'Odd' is not known"},
        {{.pre_tokenizer = "{\"type\":\"Split\",\"pattern\":{},\"behavior\":\"Isolated\"}"},
         "Regex or a String"},
        {{.pre_tokenizer = "{\"type\":\"ByteLevel\",\"lower\":true}"}, "'lower'"},
        {{.normalizer = "{\"type\":\"Lowercase\"}"}, "normalizer: type 'Lowercase' is not known"},
        {{.normalizer = "[]"}, "normalizer: not an object"},
        {{.post_processor = "{\"type\":\"BertProcessing\"}"},
         "post_processor: type 'BertProcessing'"},
        {{.post_processor = "{\"type\":\"TemplateProcessing\",\"single\":[]}"}, "no Sequence"},
        {{.post_processor = "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
                            "{\"id\":\"x\"}}],\"special_tokens\":{\"x\":{\"ids\":[9999999999]}}}"},
         "an id that is none"},
        {{.post_processor = "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
                            "{\"id\":\"x\"}}],\"special_tokens\":{\"x\":{\"ids\":[300]}}}"},
         "id 300 is no token's"},
        {{.model = "\"dropout\":0.1,"}, "model: 'dropout' is not known"},
        {{.model = "\"end_of_word_suffix\":\"</w>\","}, "model: 'end_of_word_suffix' is not known"},
        {{.model = "\"ignore_merges\":1,"}, "'ignore_merges' must be true or false"},
        {{.model = "\"extra\":1,"}, "'extra'"},
        {{.added = "[{\"id\":1000000000,\"content\":\"x\"}]"}, "must be a number from 0 to"},
        {{.added = "[{\"id\":-1,\"content\":\"x\"}]"}, "must be a number from 0 to"},
        {{.added = "[{\"id\":5,\"content\":\"new\"}]"}, "'new' has id 5, which is another token's"},
        {{.added = "[{\"id\":300,\"content\":\"ab\"}]"},
         "id 300 here and id 256 in the vocabulary"},
        {{.added = "[{\"id\":300,\"content\":\"x\"},{\"id\":301,\"content\":\"x\"}]"},
         "id 300 here"},
        {{.added = "[{\"id\":300,\"content\":\"new\"},{\"id\":300,\"content\":\"n2\"}]"},
         "'n2' has id 300"},
        {{.added = "[{\"id\":300}]"}, "'content' is missing"},
        {{.added = "[7]"}, "id of an added token"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tokenizer *tokenizer = NULL;
        struct err err = {0};
        if (parse(&rows[i].file, &tokenizer, &err) == 0)
            fail_msg("row %zu was taken: %s", i, rows[i].says);
        assert_null(tokenizer);
        if (strncmp(err.text, "t.json", 6) != 0 || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: '%s' lacks '%s'", i, err.text, rows[i].says);
    }
}

/* Documents that are refused before anything is built. */
TEST(hostile_documents)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"{}", "'model' is missing"},
        {"{\"model\":{}}", "'vocab' is missing"},
        {"{\"model\":{\"vocab\":{}}}", "the vocabulary is empty"},
        {"{\"model\":{\"vocab\":{\"a\":1e9}}}", "the id of 'a' must be a number"},
        {"{\"model\":{\"vocab\":{\"a\":1000000000}}}", "the id of 'a' must be a number"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"a\":1}}}", "duplicate"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
         "has id 0, which is another token's"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
         "merge 0 needs 'b', which is not in"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}",
         "merge 0 needs 'aa', which is not in"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "merge 0 is not two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}}", "merge 0 is not two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[7]}}", "merge 0 is not two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":0}}}", "'merges' is missing"},
        {"{\"model\":{\"vocab\":{\"\xFF\":0}}}", "not JSON"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":0}}}", "type 'Unigram' is not known"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}", "decoder: it must be ByteLevel"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"pre_tokenizer\":{\"type\":\"ByteLevel\"}"
         "}",
         "no token for the byte 0x00"},
        {"{\"model\":{\"unk_token\":\"u\",\"vocab\":{\"a\":0},\"merges\":[]}}",
         "unk_token 'u' is not in"},
        {"{\"other\":1}", "'other'"},
    };
    struct buf deep;
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (tokenizer_parse(&tokenizer, "t.json", rows[i].text, strlen(rows[i].text), &err) == 0)
            fail_msg("taken: %s", rows[i].text);
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s' lacks '%s'", err.text, rows[i].says);
    }
    buf_init(&deep, 4096);
    for (int i = 0; i < 2000; i++)
        buf_puts(&deep, "[");
    assert_int_equal(tokenizer_parse(&tokenizer, "t.json", deep.data, deep.len, &err), ERR_LIMIT);
    buf_deinit(&deep);
    assert_int_equal(tokenizer_open(&tokenizer, "tests/lm/nowhere", &err), ERR_MISSING);
}

/* A vocabulary without ByteLevel: characters, bytes for what it lacks, else the unknown token. */
TEST(characters)
{
    static const char file[] =
        "{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":"
        "\"Fuse\"}]},"
        "\"model\":{\"unk_token\":\"u\",\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{\"u\":"
        "0,\"中\":1,"
        "\"a\":2,\"a中\":3,\"<0xC3>\":4,\"<0xA9>\":5},\"merges\":[\"a 中\"]}}";
    static const char text[] = "a中éxya中z";
    static const int32_t expected[] = {3, 4, 5, 0, 3, 0};
    struct tokenizer *tokenizer = NULL;
    struct buf out;
    struct err err = {0};
    assert_ok(tokenizer_parse(&tokenizer, "t.json", file, sizeof file - 1, &err), &err);
    assert_encodes(tokenizer, text, false, false, expected, COUNT(expected));
    buf_init(&out, 64);
    assert_int_equal(tokenizer_decode(tokenizer, expected, 3, false, &out, &err), 0);
    assert_string_equal(out.data, "a中é");
    buf_deinit(&out);
    tokenizer_close(tokenizer);
}

static void *encode_much(void *argument)
{
    struct tokenizer *tokenizer = argument;
    char text[64];
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = "ab c"[random_next(&seed) % 4];
        assert_comes_back(tokenizer, text, sizeof text);
    }
    return NULL;
}

TEST(threads)
{
    struct tokenizer *tokenizer = open_file(&(struct file){0});
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, encode_much, tokenizer), 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    tokenizer_close(tokenizer);
}
