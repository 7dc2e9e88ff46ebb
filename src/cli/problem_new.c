/* problem_new: a problem to start from, which passes `problem check` as it is. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"

#include <string.h>

/* %s: the name. */
static const char native_yaml[] =
    "name: %s              # the directory's name\n"
    "summary: Subtracts from each row of a matrix its mean.   # one sentence\n"
    "category: normalization  # a kind of problem: docs/guide/problems.md lists them\n"
    "signature: void solution(const float *x, float *y, size_t rows, size_t cols)\n"
    "arguments:               # every parameter of the signature, in its order\n"
    "  # role: in, out, inout, size or scalar; type: f32, f64, f16, i32, ...; fill: what it holds\n"
    "  x:    {role: in,  type: f32, shape: [rows, cols], fill: normal}\n"
    "  y:    {role: out, type: f32, shape: [rows, cols]}\n"
    "  rows: {role: size}\n"
    "  cols: {role: size}\n"
    "# How far a result may be off: relative to the root mean square of the expected output.\n"
    "tolerance: {relative: 1.0e-5, scale: rms}\n"
    "# Sizes that are checked: the smallest, odd ones, and a few that are large.\n"
    "check: [{rows: 1, cols: 2}, {rows: 3, cols: 17}, {rows: 64, cols: 1000}]\n"
    "# Ranges of the sizes that a candidate cannot know beforehand.\n"
    "draw:  {rows: [1, 40], cols: [2, 500]}\n"
    "# Sizes that are timed: a call should take at least 0.1 ms.\n"
    "time:  [{rows: 512, cols: 1024}]\n"
    "# What a call must at least compute and move: the roofline.\n"
    "work:  {flops: 2*rows*cols, bytes: 8*rows*cols}\n";

static const char native_reference[] =
    "/* The reference: as clear as possible, and nothing else. Candidates define the same "
    "function.\n"
    " * It is also compiled in double precision, which says what is exact: write `float`, and "
    "take\n"
    " * functions of <tgmath.h>. reference.cu beside it is the same for a GPU. */\n"
    "#include <stddef.h>\n"
    "\n"
    "void solution(const float *x, float *y, size_t rows, size_t cols)\n"
    "{\n"
    "    for (size_t row = 0; row < rows; row++) {\n"
    "        const float *in = x + row * cols;\n"
    "        float *out = y + row * cols;\n"
    "        double sum = 0;\n"
    "        for (size_t col = 0; col < cols; col++)\n"
    "            sum += in[col];\n"
    "        for (size_t col = 0; col < cols; col++)\n"
    "            out[col] = in[col] - (float)(sum / (double)cols);\n"
    "    }\n"
    "}\n";

static const char torch_module[] =
    "\"\"\"Subtracts from each row of a matrix its mean, and scales what is left.\"\"\"\n"
    "\n"
    "import torch\n"
    "from torch import nn\n"
    "\n"
    "\n"
    "# The reference. A candidate defines ModelNew with the same arguments, and the same weights.\n"
    "class Model(nn.Module):\n"
    "    def __init__(self, width):\n"
    "        super().__init__()\n"
    "        self.scale = nn.Parameter(torch.randn(width))\n"
    "\n"
    "    def forward(self, x):\n"
    "        return (x - x.mean(dim=1, keepdim=True)) * self.scale\n"
    "\n"
    "\n"
    "# Called for every trial: the inputs of forward, anew each time.\n"
    "def get_inputs():\n"
    "    return [torch.randn(256, 1024)]\n"
    "\n"
    "\n"
    "# The arguments of __init__.\n"
    "def get_init_inputs():\n"
    "    return [1024]\n";

/* It would otherwise need quotes in the yaml, or be no name for a problem. */
static int check_name(const char *name, struct err *err)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-");
    if (length == 0 || name[length] != '\0' || length >= LIMIT_NAME_BYTES)
        return err_set(err, ERR_INPUT, "'%.100s': a problem's name has letters, digits, _ and -",
                       name);
    return 0;
}

static int write_one(struct cli_call *call, const char *path, const char *text, struct err *err)
{
    if (file_exists(path))
        return err_set(err, ERR_INPUT, "%s: there is such a file already", path);
    int result = file_write_atomic(path, text, strlen(text), 0644, err);
    if (result == 0)
        buf_printf(&call->out, "made %s\n", path);
    return result;
}

static int write_native(struct cli_call *call, const char *directory, struct err *err)
{
    const char *slash = strrchr(directory, '/');
    const char *name = slash ? slash + 1 : directory;
    int result = check_name(name, err);
    if (result < 0)
        return result;
    if (file_exists(directory))
        return err_set(err, ERR_INPUT, "%s: there is such a file already", directory);
    result = file_make_directories(directory, 0777, err);
    if (result < 0)
        return result;
    char *yaml_path = mem_printf("%s/problem.yaml", directory);
    char *source_path = mem_printf("%s/reference.c", directory);
    char *yaml = mem_printf(native_yaml, name);
    result = write_one(call, yaml_path, yaml, err);
    if (result == 0)
        result = write_one(call, source_path, native_reference, err);
    mem_free(yaml);
    mem_free(source_path);
    mem_free(yaml_path);
    return result;
}

static int problem_new_run(struct cli_call *call, void *context, struct err *err)
{
    char *path = mem_strdup(call->words.items[0]);
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    int result = text_ends_with(path, ".py") ? write_one(call, path, torch_module, err)
                                             : write_native(call, path, err);
    if (result == 0)
        buf_printf(&call->out, "next: warpgym problem check %s%s\n", strchr(path, '/') ? "" : "./",
                   path);
    mem_free(path);
    return result;
}

int problem_new_main(struct cli_call *call)
{
    const struct cli_option options[] = {OPTION_END};
    return cli_run(call, options, problem_new_run, NULL);
}
