/* Which words of a request reach ptxas, and in which form. */
#include "../support/test.h"
#include "judge/build/triton.h"

static const struct {
    const char *words[3];
    const char *passed; /* NULL: refused */
    size_t used;
} options[] = {
    {{"-lineinfo"}, "-lineinfo", 1},
    {{"-v"}, "-v", 1},
    {{"-O3"}, "-O3", 1},
    {{"--fmad=false"}, "--fmad=false", 1},
    {{"--fmad", "true", "-v"}, "--fmad=true", 2},
    {{"--opt-level", "0"}, "--opt-level=0", 2},
    {{"--regAllocOptLevel=2"}, "--regAllocOptLevel=2", 1},
    {{"--maxrregcount=128"}, "--maxrregcount=128", 1},
    {{"--def-load-cache=cg"}, "--def-load-cache=cg", 1},
    {{"--gpu-name=sm_90"}, "--gpu-name=sm_90", 1},
    {{"--gpu-name=sm_90a"}, "--gpu-name=sm_90a", 1},
    {{"--gpu-name=sm_100f"}, "--gpu-name=sm_100f", 1},
    {{"-arch", "sm_120a"}, "-arch=sm_120a", 2},

    {{""}, NULL, 0},
    {{"-"}, NULL, 0},
    {{"--"}, NULL, 0},
    {{"="}, NULL, 0},
    {{"-o"}, NULL, 0},
    {{"-o=/etc/passwd"}, NULL, 0},
    {{"--output-file=/tmp/x"}, NULL, 0},
    {{"--options-file=/etc/passwd"}, NULL, 0},
    {{"-optf", "/etc/passwd"}, NULL, 0},
    {{"--input-as-string", "x"}, NULL, 0},
    {{"/etc/passwd"}, NULL, 0},
    {{"--verbose=true"}, NULL, 0},
    {{"-line"}, NULL, 0},
    {{"-lineinfo "}, NULL, 0},
    {{"--fmad"}, NULL, 0},
    {{"--fmad="}, NULL, 0},
    {{"--fmad=maybe"}, NULL, 0},
    {{"--opt-level", "3;rm"}, NULL, 0},
    {{"--opt-level=-1"}, NULL, 0},
    {{"--maxrregcount=1234567"}, NULL, 0},
    {{"--gpu-name=sm_9"}, NULL, 0},
    {{"--gpu-name=sm_1000"}, NULL, 0},
    {{"--gpu-name=sm_90x"}, NULL, 0},
    {{"--gpu-name=sm_90aa"}, NULL, 0},
    {{"--gpu-name=compute_90"}, NULL, 0},
    {{"--gpu-name=sm_90a,sm_80"}, NULL, 0},
};

TEST(options_are_passed_on_or_refused)
{
    for (size_t i = 0; i < COUNT(options); i++) {
        char out[64] = "";
        struct err err = {0};
        size_t count = 0;
        size_t at = 0;
        while (count < 3 && options[i].words[count])
            count++;
        int result = triton_build_option(options[i].words, count, &at, out, sizeof out, &err);
        if (result != (options[i].passed ? 0 : ERR_INPUT))
            fail_msg("'%s': %d %s", options[i].words[0], result, err.text);
        if (!options[i].passed) {
            assert_non_null(strstr(err.text, "ptxas is not given"));
            continue;
        }
        assert_string_equal(out, options[i].passed);
        assert_int_equal(at, options[i].used);
    }
}
