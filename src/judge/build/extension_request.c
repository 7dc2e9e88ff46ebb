#include "judge/build/extension_request.h"

#include "base/array.h"

#include <ctype.h>
#include <string.h>

#define TEXT_BYTES ((size_t)2 << 20) /* all files of one extension */
#define FLAGS_BYTES 4096
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Names become file names and macro values: letters, digits, underscores. */
static bool plain_name(const char *name)
{
    size_t length = strspn(name, PLAIN);
    return length > 0 && length < 100 && name[length] == '\0' && !isdigit((unsigned char)name[0]);
}

static bool plain_file_name(const char *name)
{
    size_t length = strspn(name, PLAIN ".-");
    return length > 0 && length < 100 && name[length] == '\0' && name[0] != '.' && name[0] != '-';
}

static enum extension_language language_of(const char *name)
{
    static const struct {
        const char *ending;
        enum extension_language language;
    } endings[] = {{".cu", EXTENSION_CUDA},
                   {".cpp", EXTENSION_CXX},
                   {".cc", EXTENSION_CXX},
                   {".cxx", EXTENSION_CXX},
                   {".c", EXTENSION_CXX}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < COUNT(endings); i++)
        if (strcmp(dot, endings[i].ending) == 0)
            return endings[i].language;
    return EXTENSION_HEADER;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool extension_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return true;
    return false;
}

static bool starts_threads(const char *text)
{
    static const char *const words[] = {"thread",         "jthread", "async",
                                        "pthread_create", "omp",     "parallel_for",
                                        "parallel_reduce"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (extension_has_word(text, words[i]))
            return true;
    return false;
}

static int add_file(struct extension_request *request, const json_t *item, size_t *bytes,
                    struct err *err)
{
    struct extension_file *file = &request->files[request->count];
    if (request->count == EXTENSION_FILES)
        return err_set(err, ERR_LIMIT, "an extension has at most %d files", EXTENSION_FILES);
    int result = json_get_string(item, "name", &file->name, err);
    if (result == 0)
        result = json_get_string(item, "text", &file->text, err);
    if (result < 0)
        return result;
    if (!plain_file_name(file->name))
        return err_set(err, ERR_INPUT,
                       "\"%.60s\": files of an extension have plain names, without folders",
                       file->name);
    for (size_t i = 0; i < request->count; i++)
        if (strcmp(request->files[i].name, file->name) == 0)
            return err_set(err, ERR_INPUT, "two files of the extension are called %s", file->name);
    *bytes += strlen(file->text);
    if (*bytes > TEXT_BYTES)
        return err_set(err, ERR_LIMIT, "the extension's sources are longer than they may be");
    file->language = language_of(file->name);
    request->cuda |= file->language == EXTENSION_CUDA;
    request->threads |= starts_threads(file->text);
    request->count++;
    return 0;
}

static int add_files(struct extension_request *request, const json_t *object, struct err *err)
{
    json_t *files = NULL;
    json_t *item;
    size_t index;
    size_t bytes = 0;
    int result = json_get_array(object, "files", &files, err);
    json_array_foreach(files, index, item)
    {
        if (result == 0)
            result = add_file(request, item, &bytes, err);
    }
    return result;
}

/* All words of a list in one text: PyTorch's loader puts them into one command line, too. */
static int add_flags(struct extension_request *request, const json_t *object, const char *key,
                     struct extension_flags *flags, struct err *err)
{
    json_t *list = NULL;
    json_t *item;
    size_t index;
    struct buf text;
    buf_init(&text, FLAGS_BYTES);
    int result = json_find_array(object, key, &list, err);
    json_array_foreach(list, index, item)
    {
        if (!json_is_string(item))
            result = err_set(err, ERR_INPUT, "%s of an extension are strings", key);
        else
            buf_printf(&text, "%s ", json_string_value(item));
    }
    if (result == 0 && text.cut)
        result = err_set(err, ERR_LIMIT, "%s of an extension are longer than they may be", key);
    if (result == 0 && text.len)
        result = extension_flags_add(request, flags, text.data, err);
    buf_deinit(&text);
    return result;
}

int extension_request_init(struct extension_request *request, const json_t *object, struct err *err)
{
    *request = (struct extension_request){.headers = true};
    int result = json_get_string(object, "name", &request->name, err);
    if (result == 0 && !plain_name(request->name))
        result = err_set(err, ERR_INPUT, "an extension's name is letters, digits and underscores");
    if (result == 0)
        result = json_find_bool(object, "headers", &request->headers, err);
    if (result == 0)
        result = json_find_bool(object, "cuda", &request->cuda, err);
    if (result == 0)
        result = add_files(request, object, err);
    if (result == 0)
        result = add_flags(request, object, "cflags", &request->cxx, err);
    if (result == 0)
        result = add_flags(request, object, "cuda_cflags", &request->cuda_flags, err);
    if (result == 0)
        result = add_flags(request, object, "ldflags", &request->link, err);
    return result;
}

void extension_request_deinit(struct extension_request *request)
{
    arena_deinit(&request->arena);
}

/* A header, and words that need it. What the slim headers include themselves is not here. */
static const struct {
    const char *header;
    bool cuda;
    const char *words[16];
} known_headers[] = {
    {"string", false, {"string", "to_string", "stoi", "stof", "getline", NULL}},
    {"string_view", false, {"string_view", NULL}},
    {"sstream", false, {"stringstream", "ostringstream", "istringstream", NULL}},
    {"iostream", false, {"cout", "cerr", "endl", "clog", NULL}},
    {"iomanip", false, {"setprecision", "setw", NULL}},
    {"algorithm", false,
     .words = {"max", "min", "sort", "clamp", "copy", "fill", "fill_n", "transform", "max_element",
               "min_element", "nth_element", "partial_sort", "reverse", "any_of", "for_each",
               NULL}},
    {"numeric", false, {"accumulate", "iota", "inner_product", "partial_sum", "gcd", NULL}},
    {"functional", false, {"function", "greater", "multiplies", "plus", "hash", "bind", NULL}},
    {"memory", false, {"unique_ptr", "shared_ptr", "make_unique", "make_shared", "align", NULL}},
    {"map", false, {"map", "multimap", NULL}},
    {"unordered_map", false, {"unordered_map", NULL}},
    {"unordered_set", false, {"unordered_set", NULL}},
    {"set", false, {"set", NULL}},
    {"array", false, {"array", NULL}},
    {"deque", false, {"deque", NULL}},
    {"limits", false, {"numeric_limits", NULL}},
    {"cmath", false,
     .words = {"std", "sqrt", "sqrtf", "exp", "expf", "log", "logf", "pow", "powf", "fabs", "fabsf",
               "tanhf", "fmaxf", "INFINITY", "M_PI", NULL}},
    {"cfloat", false, {"FLT_MAX", "FLT_MIN", "DBL_MAX", "FLT_EPSILON", NULL}},
    {"climits", false, {"INT_MAX", "INT_MIN", "LONG_MAX", "UINT_MAX", NULL}},
    {"cstring", false, {"memcpy", "memset", "memmove", "strlen", "strcmp", NULL}},
    {"cstdio", false, {"printf", "fprintf", "stderr", "snprintf", "FILE", NULL}},
    {"cstdlib", false, {"malloc", "free", "abort", "exit", "getenv", "abs", NULL}},
    {"cassert", false, {"assert", NULL}},
    {"stdexcept", false,
     .words = {"runtime_error", "invalid_argument", "logic_error", "out_of_range", "domain_error",
               "length_error", "overflow_error", NULL}},
    {"mutex", false, {"mutex", "lock_guard", "once_flag", "call_once", "unique_lock", NULL}},
    {"thread", false, {"thread", NULL}},
    {"atomic", false, {"atomic", "memory_order_relaxed", NULL}},
    {"chrono", false, {"chrono", NULL}},
    {"random", false, {"mt19937", "random_device", NULL}},
    {"cuda_fp16.h", true,
     .words = {"half", "__half", "half2", "__half2", "__float2half", "__half2float", "__hadd",
               "__hmul", "__hfma", "__hadd2", "__hfma2", "__float2half_rn", "__float22half2_rn",
               "__half22float2", NULL}},
    {"cuda_bf16.h", true,
     .words = {"__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162", "__float2bfloat16",
               "__bfloat162float", "__float2bfloat16_rn", "__floats2bfloat162_rn", NULL}},
    {"cublas_v2.h", true,
     .words = {"cublasHandle_t", "cublasCreate", "cublasSgemm", "cublasGemmEx", "cublasHgemm",
               "getCurrentCUDABlasHandle", "cublasGemmStridedBatchedEx",
               "cublasSgemmStridedBatched", NULL}},
};

size_t extension_headers(const struct extension_file *file, const char **headers, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT(known_headers); i++) {
        bool wanted = false;
        for (const char *const *word = known_headers[i].words; *word && !wanted; word++)
            wanted = extension_has_word(file->text, *word);
        if (wanted && count < most && (!known_headers[i].cuda || file->language == EXTENSION_CUDA))
            headers[count++] = known_headers[i].header;
    }
    return count;
}
