/* Safetensors: what comes back of what was written, and files of strangers, each refused in one
 * sentence. */
#include "../support/judging.h"
#include "../support/scratch.h"
#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/weights/safetensors.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_EACH(scratch_begin, NULL);

/* A file with this header, of the length that is said, and `data` bytes of zeros behind it. */
static void write_file(const char *name, uint64_t said, const char *header, size_t length,
                       size_t data)
{
    char *bytes = mem_alloc(sizeof said + length + data);
    memcpy(bytes, &said, sizeof said);
    memcpy(bytes + sizeof said, header, length);
    scratch_write(name, bytes, sizeof said + length + data);
    mem_free(bytes);
}

/* `name` is a file of the directory, or "." for itself. */
static void expect(const char *what, const char *name, const char *wanted)
{
    struct safetensors *set = NULL;
    struct err err = {0};
    const char *path = scratch_path(name);
    int result = safetensors_open(&set, path, &err);
    if (!wanted && result < 0)
        fail_msg("%s: %s", what, err.text);
    if (wanted && (result == 0 || set || !strstr(err.text, wanted)))
        fail_msg("%s: '%s' is not in '%s'", what, wanted, result == 0 ? "(taken)" : err.text);
    if (wanted && (strchr(err.text, '\n') || err.text[strlen(err.text) - 1] == '.'))
        fail_msg("%s: no sentence: '%s'", what, err.text);
    safetensors_close(set);
}

#define A(offsets) "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}"
#define B(offsets) "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets)                                                                 \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct {
    const char *what, *header;
    size_t data;
    const char *wanted; /* NULL: taken */
} headers[] = {
    {"nothing in it", "{}", 0, NULL},
    {"two tensors", "{" A("[0,8]") "," B("[8,16]") "}", 16, NULL},
    {"in another order", "{" A("[8,16]") "," B("[0,8]") "}", 16, NULL},
    {"blanks behind", "{" A("[0,8]") "}     ", 8, NULL},
    {"metadata", "{\"__metadata__\":{\"format\":\"pt\"}," A("[0,8]") "}", 8, NULL},
    {"a scalar", ONE("F32", "[]", "[0,4]"), 4, NULL},
    {"no elements", ONE("F32", "[0,7]", "[0,0]"), 0, NULL},
    {"integers", ONE("I64", "[2]", "[0,16]"), 16, NULL},

    {"100 GB claimed", ONE("F32", "[25000000000]", "[0,100000000000]"), 8,
     "tensor 'a': it ends at byte 100000000000 of the data; the file holds 8"},
    {"cut", "{" A("[0,8]") "," B("[8,16]") "}", 15, "the file holds 15 (is it cut?)"},
    {"overlap", "{" A("[0,8]") "," B("[4,12]") "}", 12, "tensors 'a' and 'b' overlap"},
    {"the same bytes", "{" A("[0,8]") "," B("[0,8]") "}", 8, "overlap"},
    {"a hole", "{" A("[0,8]") "," B("[12,20]") "}", 20, "4 bytes before tensor 'b'"},
    {"a hole at the start", "{" A("[8,16]") "}", 16, "8 bytes before tensor 'a'"},
    {"bytes at the end", "{" A("[0,8]") "}", 9, "1 bytes at the end belong to no tensor"},
    {"bytes of no tensor", "{}", 5, "5 bytes at the end"},
    {"offsets backwards", "{" A("[8,0]") "}", 8, "the second not before the first"},
    {"offsets negative", "{" A("[-8,0]") "}", 8, "'data_offsets' must be"},
    {"three offsets", "{" A("[0,8,8]") "}", 8, "'data_offsets' must be"},
    {"one offset", "{" A("[8]") "}", 8, "'data_offsets' must be"},
    {"offsets no numbers", "{" A("[0,8.0]") "}", 8, "'data_offsets' must be"},
    {"offsets no list", "{" A("8") "}", 8, "'data_offsets' must be an array"},
    {"offsets beyond 2^63", "{" A("[0,9223372036854775808]") "}", 8, "too big integer"},
    {"shape and bytes differ", ONE("F32", "[3]", "[0,8]"), 8,
     "its shape and type make 12 bytes, its offsets 8"},
    {"shape negative", ONE("F32", "[-2]", "[0,8]"), 8, "dimension 0 of its shape is no size"},
    {"both negative", ONE("F32", "[-2,-1]", "[0,8]"), 8, "dimension 0 of its shape is no size"},
    {"shape no number", ONE("F32", "[2.0]", "[0,8]"), 8, "dimension 0 of its shape is no size"},
    {"shape text", ONE("F32", "[2,\"1\"]", "[0,8]"), 8, "dimension 1 of its shape is no size"},
    {"shape no list", ONE("F32", "2", "[0,8]"), 8, "'shape' must be an array"},
    {"product beyond 2^64", ONE("F32", "[4294967296,4294967296,1]", "[0,0]"), 0,
     "its shape has more than 2^64 elements"},
    {"product just below", ONE("F32", "[4294967296,4294967295]", "[0,0]"), 0,
     "its shape has more than 2^64 bytes"},
    {"product around to 2", ONE("F32", "[9223372036854775807,2,2]", "[0,8]"), 8,
     "its shape has more than 2^64 elements"},
    {"too many dimensions", ONE("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, "9 dimensions"},
    {"unknown type", ONE("Q4", "[2]", "[0,8]"), 8, "its type 'Q4' is not known"},
    {"no type", "{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "'dtype' is missing"},
    {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "'shape' is missing"},
    {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "'data_offsets' is missing"},
    {"another key", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8,
     "unknown key 'x'"},
    {"no object", "{\"a\":[0,8]}", 8, "tensor 'a': it must be an object"},
    {"a list", "[]", 0, "header: must be an object"},
    {"not JSON", "{\"a\":", 0, "not JSON"},
    {"twice", "{" A("[0,8]") "," A("[0,8]") "}", 8, "duplicate object key near '\"a\"'"},
    {"not UTF-8", "{\"\xFF\":1}", 0, "not JSON: unable to decode byte 0xff"},
    {"a control character", "{\"a\\u001b[2J\":1}", 0, "empty or holds a control character"},
    {"a C1 control", "{\"a\\u009b2J\":1}", 0, "empty or holds a control character"},
    {"NUL in a name", "{\"a\\u0000\":1}", 0, "not JSON"},
    {"no name", "{\"\":1}", 0, "empty or holds a control character"},
    {"metadata a list", "{\"__metadata__\":[]}", 0, "'__metadata__' must be an object"},
    {"metadata numbers", "{\"__metadata__\":{\"a\":1}}", 0, "'a' of '__metadata__' must be a"},
    {"a header of blanks", "        ", 0, "not JSON"},
};

TEST(headers)
{
    int open = judging_descriptors();
    for (size_t i = 0; i < COUNT(headers); i++) {
        size_t length = strlen(headers[i].header);
        write_file("x.safetensors", length, headers[i].header, length, headers[i].data);
        expect(headers[i].what, "x.safetensors", headers[i].wanted);
    }
    assert_int_equal(judging_descriptors(), open);
}

TEST(lengths)
{
    scratch_write("x", "1234567", 7);
    expect("seven bytes", "x", "7 bytes are no safetensors file");
    scratch_write("x", "", 0);
    expect("empty", "x", "0 bytes are no safetensors file");
    write_file("x", 3, "{}", 2, 0);
    expect("longer than the file", "x", "says that its header has 3 bytes, and has 10 in all");
    write_file("x", UINT64_MAX, "{}", 2, 0);
    expect("2^64 - 1", "x", "says that its header has 18446744073709551615 bytes");
    write_file("x", UINT64_MAX - 7, "{}", 2, 0);
    expect("around", "x", "says that its header has");
    write_file("x", 0, "", 0, 0);
    expect("no header", "x", "not JSON");

    char *deep = mem_alloc(100000);
    memset(deep, '[', 100000);
    write_file("x", 100000, deep, 100000, 0);
    expect("deep", "x", "nested deeper than");
    mem_free(deep);

    /* Sparse: 101 MB of header that must not be read into memory. */
    uint64_t length = (uint64_t)101 << 20;
    write_file("x", length, "{", 1, 0);
    const char *path = scratch_path("x");
    assert_int_equal(truncate(path, (off_t)length + 8), 0);
    expect("header of 101 MB", "x", "a header of 105906176 bytes is longer than 16777216");

    char *name = mem_alloc(1024);
    int count = snprintf(name, 1024, "{\"%0600d\":1}", 0);
    write_file("x", (uint64_t)count, name, (size_t)count, 0);
    expect("a long name", "x", "the name of a tensor is longer than 512 bytes");
    mem_free(name);
    expect("not there", "y.safetensors", "y.safetensors: no such file");
    const char *fifo = scratch_path("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    expect("a pipe", "fifo", "is no regular file");
}

static const struct {
    const char *what, *map, *wanted;
} indices[] = {
    {"both", "{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}", NULL},
    {"up and out", "{\"a\":\"../1.safetensors\"}", "the file of tensor 'a' is '../1.safetensors'"},
    {"absolute", "{\"a\":\"/etc/1.safetensors\"}", "beside the index"},
    {"hidden", "{\"a\":\".safetensors\"}", "beside the index"},
    {"another kind", "{\"a\":\"config.json\"}", "beside the index"},
    {"no text", "{\"a\":1}", "is 'no text'"},
    {"a control character", "{\"a\":\"1\\n.safetensors\"}", "beside the index"},
    {"not there", "{\"a\":\"1.safetensors\",\"b\":\"3.safetensors\"}",
     "3.safetensors: no such file"},
    {"no tensor", "{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"c\":\"2.safetensors\"}",
     "tensor 'c' should be in 2.safetensors, and is not there"},
    {"exchanged", "{\"a\":\"2.safetensors\",\"b\":\"1.safetensors\"}",
     "tensor 'a' should be in 2.safetensors, and is in 1.safetensors"},
    {"not listed", "{\"a\":\"1.safetensors\",\"d\":\"4.safetensors\"}",
     "says nothing about tensor 'e', which is in 4.safetensors"},
    {"in two files", "{\"a\":\"1.safetensors\",\"b\":\"5.safetensors\"}", "tensor 'a' is in "},
    {"no map", "[]", "'weight_map' must be an object"},
};

TEST(index)
{
    static const char both[] = "{" A("[0,8]") "," B("[8,16]") "}";
    static const char others[] = "{\"d\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"e\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}";
    expect("an empty directory", ".",
           "holds neither model.safetensors nor model.safetensors.index");
    write_file("1.safetensors", strlen("{" A("[0,8]") "}"), "{" A("[0,8]") "}",
               strlen("{" A("[0,8]") "}"), 8);
    write_file("2.safetensors", strlen("{" B("[0,8]") "}"), "{" B("[0,8]") "}",
               strlen("{" B("[0,8]") "}"), 8);
    write_file("4.safetensors", strlen(others), others, strlen(others), 16);
    write_file("5.safetensors", strlen(both), both, strlen(both), 16);
    for (size_t i = 0; i < COUNT(indices); i++) {
        char *text = mem_printf("{\"metadata\":{\"total_size\":16},\"weight_map\":%s}",
                                indices[i].map);
        scratch_write("model.safetensors.index.json", text, strlen(text));
        mem_free(text);
        expect(indices[i].what, ".", indices[i].wanted);
    }
    scratch_write("model.safetensors.index.json", "{", 1);
    expect("not JSON", ".", "index.json:1:1: not JSON");
    write_file("model.safetensors", 2, "{}", 2, 0);
    expect("the single file goes first", ".", NULL);
}

static float value_of(size_t tensor, size_t i)
{
    return ldexpf((float)(i % 251) - 125, (int)(i % 13) - 6 - (int)tensor);
}

#define BIG 70001 /* more than one piece of reader and writer, and odd */

static const struct safetensors_declaration declared[] = {
    {"z", LM_F32, 2, {7, 10001}}, {"a.weight", LM_BF16, 1, {BIG}}, {"empty", LM_F16, 2, {0, 5}},
    {"scalar", LM_F16, 0, {0}},   {"m", LM_F16, 3, {1, 2, 3}},     {"none", LM_F32, 1, {0}},
};
#define DECLARED COUNT(declared)

static uint64_t elements(const struct safetensors_declaration *tensor)
{
    uint64_t count = 1;
    for (size_t i = 0; i < tensor->dimensions; i++)
        count *= tensor->shape[i];
    return count;
}

/* All values one behind the other, handed over in pieces of `piece`. */
static int write_declared(const char *path, size_t piece, size_t leave_out, struct err *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    struct safetensors_writer *writer = NULL;
    float *values = mem_alloc(3 * BIG * sizeof *values);
    size_t count = 0;
    for (size_t t = 0; t < DECLARED; t++)
        for (size_t i = 0; i < elements(&declared[t]); i++)
            values[count++] = value_of(t, i);
    count -= leave_out;
    int result = safetensors_writer_open(&writer, path, declared, DECLARED, metadata, err);
    for (size_t at = 0; at < count && result == 0; at += piece)
        result = safetensors_writer_put(writer, values + at,
                                        at + piece > count ? count - at : piece, err);
    result = safetensors_writer_end(writer, result, err);
    mem_free(values);
    return result;
}

static float rounded(enum lm_dtype dtype, float value)
{
    return dtype == LM_F32    ? value
           : dtype == LM_BF16 ? lm_bf16_to(lm_bf16_from(value))
                              : lm_f16_to(lm_f16_from(value));
}

static void check_tensor(const struct safetensors *set, size_t t)
{
    struct err err = {0};
    const struct lm_tensor *tensor = safetensors_find(set, declared[t].name);
    uint64_t count = elements(&declared[t]);
    assert_non_null(tensor);
    assert_int_equal(tensor->count, count);
    assert_int_equal(tensor->dtype, declared[t].dtype);
    assert_int_equal(tensor->dimensions, declared[t].dimensions);
    assert_memory_equal(tensor->shape, declared[t].shape,
                        declared[t].dimensions * sizeof *tensor->shape);
    float *values = mem_alloc((count + 1) * sizeof *values);
    assert_ok(lm_tensor_read(tensor, 0, count, values, &err), &err);
    for (size_t i = 0; i < count; i++)
        assert_true(values[i] == rounded(declared[t].dtype, value_of(t, i)));
    if (count > 2) {
        float inner[2];
        assert_int_equal(lm_tensor_read(tensor, count - 2, 2, inner, &err), 0);
        assert_memory_equal(inner, values + count - 2, sizeof inner);
    }
    assert_int_equal(lm_tensor_read(tensor, count, 1, values, &err), ERR_INTERNAL);
    assert_int_equal(lm_tensor_read(tensor, UINT64_MAX, 2, values, &err), ERR_INTERNAL);
    mem_free(values);
}

TEST(round_trip)
{
    static const size_t pieces[] = {1, 7, 4096, 65536, 3 * (size_t)BIG};
    static const char *const order[] = {"a.weight", "empty", "m", "none", "scalar", "z"};
    const char *path = scratch_path("written.safetensors");
    for (size_t p = 0; p < COUNT(pieces); p++) {
        struct safetensors *set = NULL;
        struct err err = {0};
        assert_ok(write_declared(path, pieces[p], 0, &err), &err);
        assert_ok(safetensors_open(&set, path, &err), &err);
        assert_int_equal(safetensors_count(set), DECLARED);
        for (size_t t = 0; t < DECLARED; t++) {
            assert_string_equal(safetensors_at(set, t)->name, order[t]);
            check_tensor(set, t);
        }
        assert_null(safetensors_find(set, "b"));
        safetensors_close(set);
    }
}

static int files(void)
{
    int count = 0;
    DIR *stream = opendir(scratch_path(""));
    const struct dirent *entry;
    assert_non_null(stream);
    while ((entry = readdir(stream)))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

/* The same tensors in several files: names in order, no file beyond the bytes but of one tensor. */
TEST(split)
{
    static const struct {
        uint64_t bytes;
        size_t files;
    } splits[] = {{1, 4}, {200000, 2}, {(uint64_t)1 << 40, 1}};
    for (size_t i = 0; i < COUNT(splits); i++) {
        struct safetensors *set = NULL;
        struct err err = {0};
        const char *path = scratch_path("model.safetensors"), *all = scratch_path("");
        assert_ok(write_declared(path, BIG, 0, &err), &err);
        assert_ok(safetensors_split(all, splits[i].bytes, &err), &err);
        assert_ok(safetensors_open(&set, all, &err), &err);
        assert_false(file_exists(path));
        assert_int_equal(safetensors_files(set), splits[i].files);
        for (size_t t = 0; t < DECLARED; t++)
            check_tensor(set, t);
        safetensors_close(set);
    }
}

/* What is not complete never has the name; what was there stays. */
TEST(unfinished)
{
    struct err err = {0};
    const char *path = scratch_path("old.safetensors");
    scratch_write("old.safetensors", "old", 3);
    assert_int_equal(write_declared(path, 1000, 1, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "data of tensor 4 is missing"));
    assert_string_equal(scratch_read("old.safetensors", NULL), "old");

    struct safetensors_writer *writer = NULL;
    float values[8] = {0};
    assert_int_equal(safetensors_writer_open(&writer, path, declared + 3, 1, NULL, &err), 0);
    int result = safetensors_writer_put(writer, values, 2, &err);
    assert_int_equal(safetensors_writer_end(writer, result, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "more data than was declared"));
    const struct safetensors_declaration twice[] = {declared[0], declared[0]};
    assert_int_equal(safetensors_writer_open(&writer, path, twice, 2, NULL, &err), ERR_INTERNAL);
    assert_null(writer);
    const struct safetensors_declaration huge = {"h", LM_F32, 2, {(uint64_t)1 << 62, 3}};
    assert_int_equal(safetensors_writer_open(&writer, path, &huge, 1, NULL, &err), ERR_INTERNAL);
    const char *nowhere = scratch_path("no/such/directory.safetensors");
    assert_int_equal(safetensors_writer_open(&writer, nowhere, declared, 1, NULL, &err), ERR_IO);
    assert_int_equal(files(), 1);
}

TEST(cut_while_open)
{
    struct safetensors *set = NULL;
    struct err err = {0};
    float values[4];
    const char *path = scratch_path("cut.safetensors");
    assert_ok(write_declared(path, BIG, 0, &err), &err);
    assert_ok(safetensors_open(&set, path, &err), &err);
    const struct lm_tensor *tensor = safetensors_find(set, "a.weight");
    assert_int_equal(truncate(path, (off_t)tensor->offset + 100), 0);
    assert_int_equal(lm_tensor_read(tensor, 0, 4, values, &err), 0);
    assert_int_equal(lm_tensor_read(tensor, BIG - 4, 4, values, &err), ERR_IO);
    assert_non_null(strstr(err.text, "it was longer when it was opened"));
    safetensors_close(set);
}

TEST(other_types)
{
    static const char header[] = ONE("I64", "[2]", "[0,16]");
    struct safetensors *set = NULL;
    struct err err = {0};
    float values[2];
    const char *path = scratch_path("i.safetensors");
    write_file("i.safetensors", strlen(header), header, strlen(header), 16);
    assert_int_equal(safetensors_open(&set, path, &err), 0);
    assert_int_equal(lm_tensor_read(safetensors_at(set, 0), 0, 2, values, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "tensor 'a' is I64; the engine reads F32, BF16 and F16"));
    safetensors_close(set);
}
