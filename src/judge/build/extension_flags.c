/* extension_flags: which words of a candidate reach a compiler or a linker.
 * Declared in extension_request.h. */
#include "judge/build/extension_request.h"

#include <string.h>

enum action {
    REFUSE,   /* it reads, writes, loads or runs something */
    PASS,     /* on, as it is */
    STANDARD, /* of the language: kept apart */
    DROP,     /* without a word: the result here is the same */
    COMPILER, /* a list for the host compiler, by commas: each of its own */
};

/* The words of an action; the first one that fits counts. A '*' at its end: whatever follows; a
 * '~': the next word belongs to it. */
struct rule {
    enum action action;
    const char *words;
};

/* For g++. What changes how it translates is passed on, known here or not: -f and -m options, but
 * for those that load a plugin, write beside the object (dumps, profiles, notes, traces, modules),
 * read a profile or choose a program. Nothing has a path in it (is_harmless). What is neither named
 * here nor begins so is refused: -include, -B, -specs, -wrapper, -o, -x, -M, -Wp, @file. Headers
 * come with the request, and CUDA's and PyTorch's are found anyway; -lineinfo is nvcc's, on the
 * wrong list. */
static const struct rule cxx_rules[] = {
    {STANDARD, "-std=*"},
    {REFUSE,
     "-fplugin* -fdump* -fprofile* -fauto-profile* -fbranch-probabilities* -ftest-coverage* "
     "-fcoverage* -fcallgraph-info* -fstack-usage* -fopt-info* -fsave-optimization-record* "
     "-fcompare-debug* -fmodule* -fuse-ld=* -ftime-trace* -fpch* -fdiagnostics-add-output* "
     "-fdiagnostics-set-output* -fcdtor* -fdirectives-only* -fpreprocessed* -fsyntax-only* "
     "-fworking-directory* -fwpa* -fltrans* -fresolution* -frepo* -fvtable-verify* "
     "-fsanitize-* -Wp,* -Wa,*"},
    {PASS, "-O* -g -pthread -march=* -mtune=* -mavx* -msse* -mfma -mf16c -mbmi* -mpopcnt "
           "-mprefer-vector-width=* -fopenmp -fopenmp-simd -ffast-math -fassociative-math "
           "-freciprocal-math -ffinite-math-only -ffp-contract=* -fno-* -funroll-* "
           "-fpeel-loops -ftree-* -fivopts -finline-* -fomit-frame-pointer -fstrict-aliasing "
           "-fprefetch-loop-arrays -fpermissive -fvisibility=* -D* -U* -D~ -DNDEBUG --param=* "
           "--param~"},
    {DROP,
     "-g* -lineinfo -w -v -W* -pedantic* -pipe -ansi -fPIC -fpic -fPIE -fpie -shared -static-* "
     "-flto* -fno-lto -ffat-lto-objects -fdiagnostics-* -fmessage-length=* -frandom-seed* -I* "
     "-I~ -isystem~ -L*"},
    {PASS, "-f* -m*"},
    {0},
};

/* For nvcc, which has no such families: each option is named. There is one architecture: the GPU's.
 * Libraries are linked anyway, or named among the linker's; -f and -m options are the host
 * compiler's, on the wrong list. */
static const struct rule cuda_rules[] = {
    {STANDARD, "-std=* --std=*"},
    {PASS, "-O* --use_fast_math -use_fast_math --expt-* -expt-* --extended-lambda "
           "-extended-lambda -lineinfo --generate-line-info -g -G -maxrregcount=* "
           "--maxrregcount=* -maxrregcount~ --maxrregcount~ --fmad=* -fmad=* --ftz=* -ftz=* "
           "--prec-div=* -prec-div=* --prec-sqrt=* -prec-sqrt=* --extra-device-vectorization "
           "-extra-device-vectorization -Xptxas=* -Xptxas~ --ptxas-options=* --ptxas-options~ "
           "--default-stream=* --default-stream~ -default-stream=* -restrict --restrict "
           "-ftemplate-* --ftemplate-* -dopt=* --dopt=* -D* -U* -D~"},
    {COMPILER, "-Xcompiler=* -Xcompiler~ --compiler-options=* --compiler-options~"},
    {DROP, "-fPIC -fpermissive -w -v --verbose -W* --resource-usage -res-usage -Xcudafe~ "
           "-Xcudafe=* -diag-suppress~ -diag-suppress=* --diag-suppress~ --diag-suppress=* "
           "--disable-warnings -allow-unsupported-compiler --allow-unsupported-compiler "
           "-arch=* -arch~ --gpu-architecture=* --gpu-architecture~ -code=* -gencode=* "
           "-gencode~ --generate-code=* --generate-code~ --threads=* --threads~ -t=* -t~ "
           "--split-compile=* -shared --shared -rdc=false -cudart=* --cudart=* -l* -L* -I* -I~ "
           "-isystem~ --forward-unknown-* -forward-unknown-* -pedantic* -pipe -dlto --dlto "
           "--extra-warnings -extra-warnings -f* -m*"},
    {0},
};

/* PyTorch's own libraries are in the process already. */
static const struct rule link_rules[] = {
    {PASS, "-lcublas -lcublasLt -lcufft -lcurand -lcusparse -lcusolver -lnvrtc -lcuda -lcudnn "
           "-lm -lpthread -ldl -lrt -lgomp -fopenmp -pthread"},
    {DROP, "-lcudart -lcudart_static -lcudadevrt -lstdc++ -lc10* -ltorch* -L* -L~ -O* -shared "
           "-Wl,--no-as-needed -Wl,--as-needed -Wl,-rpath* -flto* -s -g* -Wl,-s -Wl,-z,* -Wl,-O* "
           "-Wl,--gc-sections -Wl,--strip-* -Wl,--hash-style=* -Wl,--no-undefined "
           "-Wl,--enable-new-dtags -static-libgcc -static-libstdc++ -fPIC -march=* -mtune=*"},
    {0},
};

static bool fits(const char *pattern, size_t length, const char *word)
{
    char last = pattern[length - 1];
    size_t fixed = length - (last == '*' || last == '~');
    return strncmp(word, pattern, fixed) == 0 && (last == '*' || word[fixed] == '\0');
}

/* *pair: the next word belongs to this one. */
static const struct rule *find_rule(const struct rule *rules, const char *word, bool *pair)
{
    for (; rules->words; rules++)
        for (const char *at = rules->words; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            *pair = at[length - 1] == '~';
            if (fits(at, length, word))
                return rules;
            at += length;
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
        bool pair;
        const struct rule *rule = find_rule(cxx_rules, word, &pair);
        if (!rule || pair || rule->action == REFUSE)
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
    case REFUSE:
        return refuse_flag(whole, err);
    case STANDARD:
        flags->standard = arena_printf(&request->arena, "-std%s", strchr(word, '='));
        return 0;
    case COMPILER: {
        char *list = value ? value : strchr(word, '=');
        return list ? add_for_compiler(request, flags, list + !value, err)
                    : refuse_flag(whole, err);
    }
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
        bool pair;
        const struct rule *rule = find_rule(rules, word, &pair);
        char *value = rule && pair ? strtok_r(NULL, blanks, &rest) : NULL;
        if (!rule)
            return refuse_flag(word, err);
        result = add_word(request, flags, rule, word, value, err);
        word = strtok_r(NULL, blanks, &rest);
    }
    return result;
}
