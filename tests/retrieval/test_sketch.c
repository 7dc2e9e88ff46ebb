/* One program in many disguises is one; programs that compute something else are not. */
#include "../support/test.h"
#include "retrieval/sketch.h"

#include <stdio.h>

#define CONV                                                                                       \
    "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n"                             \
    "    \"\"\"Convolution, ReLU, bias.\"\"\"\n"                                                   \
    "    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):\n"                \
    "        super(Model, self).__init__()\n"                                                      \
    "        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)\n"                      \
    "        self.bias = nn.Parameter(torch.randn(bias_shape))\n\n"                                \
    "    def forward(self, x):\n        x = self.conv(x)\n        x = torch.relu(x)\n"             \
    "        x = x + self.bias\n        return x\n\n"                                              \
    "batch_size = 128\n\ndef get_inputs():\n    return [torch.randn(batch_size, 3, 32, 32)]\n\n"   \
    "def get_init_inputs():\n    return [3, 16, 3, (16, 1, 1)]\n"

#define SMALL(body)                                                                                \
    "import torch\nfrom torch import nn\nclass Model(nn.Module):\n"                                \
    "    def forward(self, x):\n        return " body "\n"

#define SOFTMAX_C                                                                                  \
    "#include <math.h>\nvoid solution(const float *x, float *y, size_t rows, size_t cols)\n{\n"    \
    "    for (size_t row = 0; row < rows; row++) {\n        float most = x[row * cols];\n"         \
    "        for (size_t col = 1; col < cols; col++)\n"                                            \
    "            most = fmaxf(most, x[row * cols + col]);\n        double sum = 0;\n"              \
    "        for (size_t col = 0; col < cols; col++) {\n"                                          \
    "            y[row * cols + col] = expf(x[row * cols + col] - most);\n"                        \
    "            sum += y[row * cols + col];\n        }\n"                                         \
    "        for (size_t col = 0; col < cols; col++)\n            y[row * cols + col] /= sum;\n"   \
    "    }\n}\n"

static const struct {
    const char *what, *a, *b;
    bool near;
} rows[] = {
    {"itself", CONV, CONV, true},
    {"other names, layout, annotations, comments, sizes, no input makers", CONV,
     "# the same thing\nfrom torch import nn\nimport torch as th\nBATCH = 4\n\n"
     "class Net(nn.Module):\n    def __init__(\n        self, c_in: int, c_out: int, k: int,\n"
     "        shape: tuple[int, ...],\n    ) -> None:\n        super().__init__()\n"
     "        self.layer = nn.Conv2d(c_in, c_out, k)  # a layer\n"
     "        self.offset = nn.Parameter(th.randn(shape))\n\n"
     "    def forward(self, inp: th.Tensor) -> th.Tensor:\n        '''Does it.'''\n"
     "        inp = self.layer(inp)\n        # now the rest\n        inp = th.relu(inp)\n"
     "        inp = inp + self.offset\n        return inp\n",
     true},
    {"as one expression", CONV,
     "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
     "class Model(nn.Module):\n    def __init__(self, a, b, k, s):\n        super().__init__()\n"
     "        self.conv = nn.Conv2d(a, b, k)\n        self.bias = nn.Parameter(torch.randn(s))\n"
     "    def forward(self, x):\n        return F.relu(self.conv(x)) + self.bias\n",
     true},
    {"another activation in a small module", SMALL("torch.relu(x)"), SMALL("torch.sigmoid(x)"),
     false},
    {"another place of the same function", SMALL("torch.relu(x)"),
     SMALL("torch.nn.functional.relu(x)"), true},
    {"a small module and a large one", SMALL("torch.relu(x)"), CONV, false},
    {"softmax and its sum", SMALL("torch.softmax(x, dim=1)"), SMALL("torch.logsumexp(x, dim=1)"),
     false},
    {"C: other names, types, layout and braces", SOFTMAX_C,
     "/* Rows, one by one. */\n#include <stddef.h>\n#include <math.h>\n"
     "void solution(const float *restrict in, float *restrict out, size_t n, size_t m){\n"
     "for (int i=0;i<n;i++){float top=in[i*m]; // the largest\n"
     "for (int j=1;j<m;j++){top=fmaxf(top,in[i*m+j]);}\ndouble total=0;\n"
     "for (int j=0;j<m;j++){out[i*m+j]=expf(in[i*m+j]-top);total+=out[i*m+j];}\n"
     "for (int j=0;j<m;j++){out[i*m+j]/=total;}}}\n",
     true},
    {"C: another computation", SOFTMAX_C,
     "void solution(const float *x, float *y, size_t rows, size_t cols)\n{\n"
     "    for (size_t i = 0; i < rows; i++)\n        for (size_t j = 0; j < cols; j++)\n"
     "            y[j * rows + i] = x[i * cols + j];\n}\n",
     false},
    {"nothing", "", "", false},
    {"nothing but comments", "// a\n", "// a\n", false},
};

TEST(pairs)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sketch a, b;
        sketch_of(rows[i].a, strlen(rows[i].a), &a);
        sketch_of(rows[i].b, strlen(rows[i].b), &b);
        if (sketch_is_near(&a, &b) != rows[i].near || sketch_is_near(&b, &a) != rows[i].near)
            fail_msg("%s: %.2f", rows[i].what, sketch_similarity(&a, &b));
    }
}

/* A source within a string of Python is read, too: two extensions that differ there differ. */
TEST(embedded)
{
    static const char head[] =
        "from torch.utils.cpp_extension import load_inline\nSOURCE = r\"\"\"\n";
    static const char tail[] = "\"\"\"\nmodule = load_inline(name='x', cuda_sources=SOURCE)\n";
    static const char other[] = "__global__ void scale(float *x, int n) {"
                                " int i = blockIdx.x * blockDim.x + threadIdx.x;"
                                " if (i < n) x[i] *= 2.0f; }\n";
    char one[4096], two[4096];
    struct sketch a, b;
    snprintf(one, sizeof one, "%s%s%s", head, SOFTMAX_C, tail);
    snprintf(two, sizeof two, "%s%s%s", head, other, tail);
    sketch_of(one, strlen(one), &a);
    sketch_of(two, strlen(two), &b);
    assert_true(a.count > 40);
    assert_false(sketch_is_near(&a, &b));
}

/* The plain way: all hashes of both sets, kept by a sketch that is large enough for them, against
 * what the smallest ones say. */
TEST(estimate)
{
    struct sketch a = {.all = false, .count = SKETCH_HASHES}, b = a;
    uint32_t hash = 1;
    /* Half of each are the other's: 1/3 of the union. */
    for (uint32_t i = 0, j = 0; i < SKETCH_HASHES || j < SKETCH_HASHES; hash += 3) {
        uint32_t turn = hash / 3 % 3;
        if (turn != 1 && i < SKETCH_HASHES)
            a.hashes[i++] = hash;
        if (turn != 0 && j < SKETCH_HASHES)
            b.hashes[j++] = hash;
    }
    double likeness = sketch_similarity(&a, &b);
    assert_true(likeness > 0.3 && likeness < 0.37);
    assert_true(sketch_similarity(&a, &a) == 1);
}

TEST(bytes)
{
    unsigned char bytes[SKETCH_BYTES];
    struct sketch sketch, again;
    sketch_of(CONV, strlen(CONV), &sketch);
    size_t count = sketch_write(&sketch, bytes);
    assert_int_equal(sketch_read(&again, bytes, count, NULL), 0);
    assert_memory_equal(&sketch, &again, sizeof sketch);
    assert_int_equal(sketch_read(&again, bytes, 7, NULL), ERR_PROTOCOL);
    assert_int_equal(sketch_read(&again, bytes, 13, NULL), ERR_PROTOCOL);
    assert_int_equal(sketch_read(&again, bytes, SKETCH_BYTES + 4, NULL), ERR_PROTOCOL);
}
