/* extension_flags: which words of a candidate reach a compiler or a linker.
 * Declared in extension_request.h. */
#include "judge/build/extension_request.h"

#include <string.h>

enum action {
    PASS,     /* on, as it is */
    STANDARD, /* of the language: kept apart */
    DROP,     /* without a word: the result here is the same */
    COMPILER, /* a list for the host compiler, by commas: each of its own */
};

struct rule {
    const char *text; /* a '*' at its end: whatever follows; a blank: the next word belongs to it */
    enum action action;
};

/* For g++. Nothing with a path in it, nothing that loads, dumps or profiles. */
static const struct rule cxx_rules[] = {
    {"-O*", PASS},
    {"-std=*", STANDARD},
    {"-g", PASS},
    {"-g0", DROP},
    {"-lineinfo", DROP}, /* nvcc's, on the wrong list */
    {"-w", DROP},
    {"-v", DROP},
    {"-Wl,*", DROP}, /* means nothing to a compiler */
    {"-Wno-*", DROP},
    {"-Wall", DROP},
    {"-Wextra", DROP},
    {"-Werror", DROP},
    {"-pthread", PASS},
    {"-fPIC", DROP},
    {"-fpic", DROP},
    {"-shared", DROP},
    {"-march=*", PASS},
    {"-mtune=*", PASS},
    {"-mavx*", PASS},
    {"-msse*", PASS},
    {"-mfma", PASS},
    {"-mf16c", PASS},
    {"-mbmi*", PASS},
    {"-mpopcnt", PASS},
    {"-mprefer-vector-width=*", PASS},
    {"-fopenmp", PASS},
    {"-fopenmp-simd", PASS},
    {"-ffast-math", PASS},
    {"-fassociative-math", PASS},
    {"-freciprocal-math", PASS},
    {"-ffinite-math-only", PASS},
    {"-ffp-contract=*", PASS},
    {"-fno-*", PASS},
    {"-funroll-*", PASS},
    {"-fpeel-loops", PASS},
    {"-ftree-*", PASS},
    {"-fivopts", PASS},
    {"-finline-*", PASS},
    {"-fomit-frame-pointer", PASS},
    {"-fstrict-aliasing", PASS},
    {"-fprefetch-loop-arrays", PASS},
    {"-fpermissive", PASS},
    {"-fvisibility=*", PASS},
    {"-flto*", DROP},
    {"-D*", PASS},
    {"-U*", PASS},
    {"-D ", PASS},
    {"-I*", DROP}, /* headers come with the request; CUDA's and PyTorch's are found anyway */
    {"-I ", DROP},
    {"-isystem ", DROP},
    {"-DNDEBUG", PASS},
    {NULL, DROP},
};

static const struct rule cuda_rules[] = {
    {"-O*", PASS},
    {"-std=*", STANDARD},
    {"--std=*", STANDARD},
    {"--use_fast_math", PASS},
    {"-use_fast_math", PASS},
    {"--expt-*", PASS},
    {"-expt-*", PASS},
    {"--extended-lambda", PASS},
    {"-extended-lambda", PASS},
    {"-lineinfo", PASS},
    {"--generate-line-info", PASS},
    {"-g", PASS},
    {"-G", PASS},
    {"-maxrregcount=*", PASS},
    {"--maxrregcount=*", PASS},
    {"-maxrregcount ", PASS},
    {"--maxrregcount ", PASS},
    {"--fmad=*", PASS},
    {"-fmad=*", PASS},
    {"--ftz=*", PASS},
    {"-ftz=*", PASS},
    {"--prec-div=*", PASS},
    {"-prec-div=*", PASS},
    {"--prec-sqrt=*", PASS},
    {"-prec-sqrt=*", PASS},
    {"--extra-device-vectorization", PASS},
    {"-extra-device-vectorization", PASS},
    {"-Xptxas=*", PASS},
    {"-Xptxas ", PASS},
    {"--ptxas-options=*", PASS},
    {"--ptxas-options ", PASS},
    {"--default-stream=*", PASS},
    {"--default-stream ", PASS},
    {"-default-stream=*", PASS},
    {"-restrict", PASS},
    {"--restrict", PASS},
    {"-D*", PASS},
    {"-U*", PASS},
    {"-D ", PASS},
    {"-Xcompiler=*", COMPILER},
    {"-Xcompiler ", COMPILER},
    {"--compiler-options=*", COMPILER},
    {"--compiler-options ", COMPILER},
    {"-fPIC", DROP},
    {"-fpermissive", DROP},
    {"-w", DROP},
    {"-v", DROP},
    {"--verbose", DROP},
    {"-W*", DROP},
    {"--resource-usage", DROP},
    {"-res-usage", DROP},
    {"-Xcudafe ", DROP}, /* which warnings are shown */
    {"-Xcudafe=*", DROP},
    {"-diag-suppress ", DROP},
    {"-diag-suppress=*", DROP},
    {"--diag-suppress ", DROP},
    {"--diag-suppress=*", DROP},
    {"--disable-warnings", DROP},
    {"-allow-unsupported-compiler", DROP},
    {"--allow-unsupported-compiler", DROP},
    {"-arch=*", DROP}, /* there is one architecture: the GPU's */
    {"-arch ", DROP},
    {"--gpu-architecture=*", DROP},
    {"--gpu-architecture ", DROP},
    {"-code=*", DROP},
    {"-gencode=*", DROP},
    {"-gencode ", DROP},
    {"--generate-code=*", DROP},
    {"--generate-code ", DROP},
    {"--threads=*", DROP},
    {"--threads ", DROP},
    {"-t=*", DROP},
    {"-t ", DROP},
    {"--split-compile=*", DROP},
    {"-shared", DROP},
    {"--shared", DROP},
    {"-rdc=false", DROP},
    {"-cudart=*", DROP},
    {"--cudart=*", DROP},
    {"-l*", DROP}, /* linked anyway, or named among the linker's */
    {"-L*", DROP},
    {"-I*", DROP},
    {"-I ", DROP},
    {"-isystem ", DROP},
    {NULL, DROP},
};

/* PyTorch's own libraries are in the process already. */
static const struct rule link_rules[] = {
    {"-lcublas", PASS},
    {"-lcublasLt", PASS},
    {"-lcufft", PASS},
    {"-lcurand", PASS},
    {"-lcusparse", PASS},
    {"-lcusolver", PASS},
    {"-lnvrtc", PASS},
    {"-lcuda", PASS},
    {"-lcudart", DROP},
    {"-lcudart_static", DROP},
    {"-lcudadevrt", DROP},
    {"-lcudnn", PASS},
    {"-lm", PASS},
    {"-lpthread", PASS},
    {"-ldl", PASS},
    {"-lrt", PASS},
    {"-lgomp", PASS},
    {"-lstdc++", DROP},
    {"-lc10*", DROP},
    {"-ltorch*", DROP},
    {"-L*", DROP},
    {"-L ", DROP},
    {"-fopenmp", PASS},
    {"-pthread", PASS},
    {"-O*", DROP},
    {"-shared", DROP},
    {"-Wl,--no-as-needed", DROP},
    {"-Wl,--as-needed", DROP},
    {"-Wl,-rpath*", DROP},
    {"-flto*", DROP},
    {NULL, DROP},
};

static const struct rule *find_rule(const struct rule *rules, const char *word)
{
    for (; rules->text; rules++) {
        size_t length = strlen(rules->text);
        char last = rules->text[length - 1];
        if (last == '*' ? strncmp(word, rules->text, length - 1) == 0
            : last == ' '
                ? strlen(word) == length - 1 && strncmp(word, rules->text, length - 1) == 0
                : strcmp(word, rules->text) == 0)
            return rules;
    }
    return NULL;
}

/* Words of a tool hold no path and no other file's name, and no second word for a shell. */
static bool is_harmless(const char *word)
{
    return strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "_-+=.,:()<>*") == strlen(word);
}

static int keep_flag(struct extension_flags *flags, const char *word, struct err *err)
{
    if (flags->count == EXTENSION_FLAGS)
        return err_set(err, ERR_LIMIT, "an extension has at most %d flags of a kind",
                       EXTENSION_FLAGS);
    flags->words[flags->count++] = word;
    return 0;
}

static int refuse_flag(const char *word, struct err *err)
{
    return err_set(err, ERR_INPUT,
                   "the compiler flag \"%.80s\" is not available to extensions here", word);
}

/* -Xcompiler=-O3,-fopenmp: each part as a flag of g++, passed on by nvcc. */
static int add_for_compiler(struct extension_request *request, struct extension_flags *flags,
                            char *list, struct err *err)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const struct rule *rule = find_rule(cxx_rules, word);
        if (!rule || strchr(rule->text, ' '))
            return refuse_flag(word, err);
        if (rule->action != PASS)
            continue;
        int result = keep_flag(flags, arena_printf(&request->arena, "-Xcompiler=%s", word), err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_word(struct extension_request *request, struct extension_flags *flags,
                    const struct rule *rule, char *word, char *value, struct err *err)
{
    const char *whole = value ? arena_printf(&request->arena, "%s %s", word, value) : word;
    if (rule->action != DROP && (!is_harmless(word) || (value && !is_harmless(value))))
        return refuse_flag(whole, err);
    switch (rule->action) {
    case STANDARD:
        flags->standard = arena_printf(&request->arena, "-std%s", strchr(word, '='));
        return 0;
    case COMPILER:
        return add_for_compiler(request, flags, value ? value : strchr(word, '=') + 1, err);
    case PASS: {
        int result = keep_flag(flags, word, err);
        return result == 0 && value ? keep_flag(flags, value, err) : result;
    }
    case DROP:
        break;
    }
    return 0;
}

int extension_flags_add(struct extension_request *request, struct extension_flags *flags,
                        const char *text, struct err *err)
{
    const struct rule *rules = flags == &request->cxx          ? cxx_rules
                               : flags == &request->cuda_flags ? cuda_rules
                                                               : link_rules;
    static const char blanks[] = " \t\n'\""; /* a shell's quotes go with its blanks */
    char *copy = arena_strdup(&request->arena, text);
    char *rest = NULL;
    char *word = strtok_r(copy, blanks, &rest);
    int result = 0;
    while (result == 0 && word) {
        const struct rule *rule = find_rule(rules, word);
        bool pair = rule && rule->text[strlen(rule->text) - 1] == ' ';
        char *value = pair ? strtok_r(NULL, blanks, &rest) : NULL;
        if (!rule)
            return refuse_flag(word, err);
        result = add_word(request, flags, rule, word, value, err);
        word = strtok_r(NULL, blanks, &rest);
    }
    return result;
}
