/* What models answer, and what enemies would. */
#include "gym/answer/parse.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"

#define C_CODE "void solution(float *x) { x[0] = 1; }"
#define CPP_CODE "extern \"C\" void solution(float *x) { std::fill_n(x, 1, 1.f); }"
#define PY_CODE                                                                                    \
    "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x"
#define CU_CODE "// launch: f grid=(1) block=(32)\n__global__ void f(float *x) { x[0] = 1; }"

enum { CUT = 1, FORMAT = 2, OPEN = 4 };

static const struct {
    const char *name, *language, *text;
    const char *thought, *code; /* code NULL: none */
    enum parse_found found;
    int flags;
} rows[] = {
    {"nothing", "c", "", "", NULL, PARSE_NONE, 0},
    {"prose", "c", "I cannot do that.", "", NULL, PARSE_NONE, 0},
    {"layout that is asked for", "python",
     "<think>\n- tile it\n</think>\n<KERNEL>\n```python\n" PY_CODE "\n```\n</KERNEL>", "- tile it",
     PY_CODE, PARSE_TAG, FORMAT},
    {"tag without fence", "c", "<KERNEL>" C_CODE "</KERNEL>", "", C_CODE, PARSE_TAG, FORMAT},
    {"tag and fence on one line", "c", "<KERNEL>```c\n" C_CODE "\n```</KERNEL>", "", C_CODE,
     PARSE_TAG, FORMAT},
    {"fence around tag", "c", "```c\n<KERNEL>\n" C_CODE "\n</KERNEL>\n```", "", C_CODE, PARSE_TAG,
     FORMAT},
    {"tag in any case", "c", "<Kernel>\n" C_CODE "\n</kERNEL>", "", C_CODE, PARSE_TAG, FORMAT},
    {"last tag", "c", "<KERNEL>int old;</KERNEL> no: <KERNEL>" C_CODE "</KERNEL>", "", C_CODE,
     PARSE_TAG, FORMAT},
    {"empty last tag", "c", "<KERNEL>\n" C_CODE "\n</KERNEL>\nAll in <KERNEL></KERNEL>.", "",
     C_CODE, PARSE_TAG, FORMAT},
    {"tag that is named before", "c",
     "Between <KERNEL> and its end:\n<KERNEL>\n" C_CODE "\n</KERNEL>", "", C_CODE, PARSE_TAG,
     FORMAT},
    {"template argument that looks like a tag", "cuda",
     "<KERNEL>\n__global__ void f(){}\nvoid g(){ run<kernel>(1); }\n</KERNEL>", "",
     "__global__ void f(){}\nvoid g(){ run<kernel>(1); }", PARSE_TAG, FORMAT},
    {"template argument without tags", "cuda",
     "```cuda\n__global__ void f(){}\nvoid g(){ run<kernel>(1); }\n```", "",
     "__global__ void f(){}\nvoid g(){ run<kernel>(1); }", PARSE_FENCE, FORMAT},
    {"no end tag", "c", "<KERNEL>\nvoid solution(float *x) {", "", "void solution(float *x) {",
     PARSE_TAG, CUT | FORMAT},
    {"no end tag, whole fence", "c", "<KERNEL>\n```c\n" C_CODE "\n```\n", "", C_CODE, PARSE_FENCE,
     FORMAT},
    {"no end at all", "c", "<KERNEL>\n```c\nvoid solution(float *x) {\n  x", "",
     "void solution(float *x) {\n  x", PARSE_FENCE, CUT | FORMAT},
    {"fence without end within tags", "c", "<KERNEL>\n```c\n" C_CODE "\n</KERNEL>", "", C_CODE,
     PARSE_TAG, FORMAT},
    {"end tag alone", "c", "</KERNEL>\n```c\n" C_CODE "\n```", "", C_CODE, PARSE_FENCE, FORMAT},
    {"two fences in a tag", "c", "<KERNEL>\n```text\nplan\n```\n```c\n" C_CODE "\n```\n</KERNEL>",
     "", C_CODE, PARSE_TAG, FORMAT},

    {"thinking in any words", "c", "<THOUGHT>a</think>b<Thinking>c</THOUGHT>```c\n" C_CODE "\n```",
     "a\nc", C_CODE, PARSE_FENCE, FORMAT},
    {"closer without opener", "c", "so I will\n</think>\n```c\n" C_CODE "\n```", "so I will",
     C_CODE, PARSE_FENCE, FORMAT},
    {"begun by the prompt", "c", "so I will\n</THINKING>\n" C_CODE, "so I will", C_CODE, PARSE_BARE,
     FORMAT | OPEN},
    {"begun by the prompt and by the answer", "c", "<think>so</think>\n" C_CODE, "<think>so",
     C_CODE, PARSE_BARE, FORMAT | OPEN},
    {"begun by the prompt, no end", "c", "```c\n" C_CODE "\n```", "```c\n" C_CODE "\n```", NULL,
     PARSE_NONE, OPEN},
    {"thinking without end", "c", "<think>\n```c\n" C_CODE "\n```", "```c\n" C_CODE "\n```", NULL,
     PARSE_NONE, 0},
    {"code before thinking without end", "c", "```c\n" C_CODE "\n```\n<think>better", "better",
     C_CODE, PARSE_FENCE, FORMAT},
    {"code before thinking", "c", "```c\n" C_CODE "\n```\n<think>better</think>\nYes.", "better",
     NULL, PARSE_NONE, 0},
    {"tag in thinking", "c",
     "<think>as in <KERNEL>int no;</KERNEL></think><KERNEL>" C_CODE "</KERNEL>",
     "as in <KERNEL>int no;</KERNEL>", C_CODE, PARSE_TAG, FORMAT},
    {"tag that begins in thinking", "c", "<think><KERNEL></think>```c\n" C_CODE "\n```</KERNEL>",
     "<KERNEL>", C_CODE, PARSE_FENCE, FORMAT},
    {"thinking within thinking", "c", "<think>a<think>b</think>c</think>\n" C_CODE, "a<think>b\nc",
     C_CODE, PARSE_BARE, FORMAT},
    {"an end too many", "c", "<think>a</think>\n```c\nint old;\n```\n</think>\n" C_CODE,
     "a\n```c\nint old;\n```", C_CODE, PARSE_BARE, FORMAT},

    {"last fence", "c", "```c\nvoid solution(){}\n```\nor\n```c\n" C_CODE "\n```\nDone.", "",
     C_CODE, PARSE_FENCE, FORMAT},
    {"label before place", "c", "```c\n" C_CODE "\n```\n```\nvoid solution(int n);\n```", "",
     C_CODE, PARSE_FENCE, FORMAT},
    {"entry point before label", "python",
     "```\n" PY_CODE "\n```\nUse it:\n```python\nmodel = ModelNew()\n```", "", PY_CODE, PARSE_FENCE,
     FORMAT},
    {"usage behind it", "python", "```python\n" PY_CODE "\n```\n```python\nprint(1)\n```", "",
     PY_CODE, PARSE_FENCE, FORMAT},
    {"relative before none", "c", "```cpp\n" C_CODE "\n```\n```\nvoid solution(\n```", "", C_CODE,
     PARSE_FENCE, FORMAT},
    {"no entry point anywhere", "c", "```sh\nmake\n```\n```c\nint a;\n```\n```\n1\n```", "",
     "int a;", PARSE_FENCE, 0},
    {"only a foreign one", "c", "```json\n{}\n```", "", "{}", PARSE_FENCE, 0},
    {"empty ones", "c", "```c\n\n```\n```c\n" C_CODE "\n```\n```c\n```", "", C_CODE, PARSE_FENCE,
     FORMAT},
    {"C++", "cuda", "```c++\n" CU_CODE "\n```", "", CU_CODE, PARSE_FENCE, FORMAT},
    {"C++ as such", "cpp", "```cpp\n" CPP_CODE "\n```\n```c\nvoid solution(\n```", "", CPP_CODE,
     PARSE_FENCE, FORMAT},
    {"C before CUDA's kernels alone", "cpp",
     "```cuda\n" CU_CODE "\n```\n```c\n" C_CODE "\n```\n```cuda\n" CU_CODE "\n```", "", C_CODE,
     PARSE_FENCE, FORMAT},
    {"CUDA in a C++ block", "cuda", "```cpp\n" CU_CODE "\n```\n```text\nvoid solution(\n```", "",
     CU_CODE, PARSE_FENCE, FORMAT},
    {"bare C++", "cpp", "So:\n#include <vector>\n" CPP_CODE, "", "#include <vector>\n" CPP_CODE,
     PARSE_BARE, FORMAT},
    {"CUDA", "cuda", "```CUDA\n" CU_CODE "\n```\n```cpp\n__global__ x\n```", "", CU_CODE,
     PARSE_FENCE, FORMAT},
    {"cu", "cuda", "```cu\n" CU_CODE "\n```\n```c\n__global__ x\n```", "", CU_CODE, PARSE_FENCE,
     FORMAT},
    {"py", "triton", "```py\n" PY_CODE "\n```\n```text\nclass ANew\n```", "", PY_CODE, PARSE_FENCE,
     FORMAT},
    {"python3", "triton", "```python3\n" PY_CODE "\n```\n```\nclass ANew\n```", "", PY_CODE,
     PARSE_FENCE, FORMAT},
    {"triton", "triton", "```Triton\n" PY_CODE "\n```\n```\nclass ANew\n```", "", PY_CODE,
     PARSE_FENCE, FORMAT},
    {"attributes", "python", "```{.python #code}\n" PY_CODE "\n```", "", PY_CODE, PARSE_FENCE,
     FORMAT},
    {"file name", "c", "```c:softmax.c\n" C_CODE "\n```\n```h title\nvoid solution(\n```", "",
     "void solution(", PARSE_FENCE, FORMAT},
    {"python for torch-cuda", "torch-cuda",
     "```cuda\n__global__ void f(){}\n```\n```python\n" PY_CODE "\n```", "", PY_CODE, PARSE_FENCE,
     FORMAT},
    {"language of somebody else", "opencl", "```opencl\n__kernel\n```\n```\nlog\n```", "",
     "__kernel", PARSE_FENCE, FORMAT},
    {"no language", NULL, "```x\na\n```", "", "a", PARSE_FENCE, FORMAT},

    {"tildes", "c", "~~~c\n" C_CODE "\n~~~", "", C_CODE, PARSE_FENCE, FORMAT},
    {"tildes hold marks", "c", "~~~c\n" C_CODE "\n```\n/* */\n~~~", "", C_CODE "\n```\n/* */",
     PARSE_FENCE, FORMAT},
    {"longer holds shorter", "python", "````python\n" PY_CODE "\n```\nx\n```\n````", "",
     PY_CODE "\n```\nx\n```", PARSE_FENCE, FORMAT},
    {"longer holds one that never ends", "python", "````python\n" PY_CODE "\n```c\n````", "",
     PY_CODE "\n```c", PARSE_FENCE, FORMAT},
    {"longer may close", "c", "```c\n" C_CODE "\n`````\nbye", "", C_CODE, PARSE_FENCE, FORMAT},
    {"all of it in Markdown", "c", "```markdown\nHere:\n```c\n" C_CODE "\n```\nDone\n```", "",
     C_CODE, PARSE_FENCE, FORMAT},
    {"labelled one in a text of the code", "python",
     "```python\n\"\"\"\n```c\nint x;\n```\n\"\"\"\n" PY_CODE "\n```", "",
     "\"\"\"\n```c\nint x;\n```\n\"\"\"\n" PY_CODE, PARSE_FENCE, FORMAT},
    {"marks in a text of the code", "python",
     "```python\nS = \"```\"\nT = '''\n        ```\n        x\n        ```\n'''\n" PY_CODE "\n```",
     "", "S = \"```\"\nT = '''\n        ```\n        x\n        ```\n'''\n" PY_CODE, PARSE_FENCE,
     FORMAT},
    {"begun twice", "c", "```c\nvoid solution(float *x) {\nAgain:\n```c\n" C_CODE "\n```", "",
     C_CODE, PARSE_FENCE, FORMAT},
    {"stray fence before", "c", "```\nAnswer:\n```c\n" C_CODE "\n```", "", C_CODE, PARSE_FENCE,
     FORMAT},
    {"in a list", "python",
     "1. So:\n\n    ```python\n    import a\n    class ANew:\n        b\n    ```\n", "",
     "import a\nclass ANew:\n    b", PARSE_FENCE, FORMAT},
    {"in a list, end at the margin", "c", "1. So:\n    ```c\n    " C_CODE "\n```\nend", "", C_CODE,
     PARSE_FENCE, FORMAT},
    {"behind a sentence", "c", "Here it is: ```c\n" C_CODE "\n```\nDone.", "", C_CODE, PARSE_FENCE,
     FORMAT},
    {"closed behind the code", "c", "```c\n" C_CODE "```\n", "", C_CODE, PARSE_FENCE, FORMAT},
    {"closed with a word for the end", "c", "```c\n" C_CODE "\n```<|im_end|>\n", "", C_CODE,
     PARSE_FENCE, FORMAT},
    {"code within a line", "c", "Use ```c``` or `x`.\n", "", NULL, PARSE_NONE, 0},
    {"two marks", "c", "``\nvoid\n``", "", NULL, PARSE_NONE, 0},
    {"fence without end", "c", "```c\nvoid solution(", "", "void solution(", PARSE_FENCE,
     CUT | FORMAT},
    {"whole before cut", "c", "```c\n" C_CODE "\n```\n```c\nvoid solution(", "", C_CODE,
     PARSE_FENCE, FORMAT},

    {"CR LF", "c", "<think>a\r\nb</think>\r\n```c\r\nvoid solution(\r\nint n);\r\n```\r\n", "a\nb",
     "void solution(\nint n);", PARSE_FENCE, FORMAT},
    {"CR alone", "c", "```c\nvoid solution(\rint n);\n```", "", "void solution(\rint n);",
     PARSE_FENCE, FORMAT},
    {"not UTF-8", "c", "<think>\xFF</think>\n```c\n// \xC3(\xF0\x9F\n" C_CODE "\n```",
     UTF8_REPLACEMENT, "// " UTF8_REPLACEMENT "(" UTF8_REPLACEMENT UTF8_REPLACEMENT "\n" C_CODE,
     PARSE_FENCE, FORMAT},
    {"UTF-8", "c", "```c\n// \xC3\xA4\xE2\x82\xAC\n" C_CODE "\n```", "",
     "// \xC3\xA4\xE2\x82\xAC\n" C_CODE, PARSE_FENCE, FORMAT},

    {"bare C", "c", "Sure, using it:\n#include <math.h>\n" C_CODE "\n", "",
     "#include <math.h>\n" C_CODE, PARSE_BARE, FORMAT},
    {"bare CUDA", "cuda", "Here you are.\n" CU_CODE, "", CU_CODE, PARSE_BARE, FORMAT},
    {"bare Python", "python", "from the top\nclass of its own\n@\n" PY_CODE, "", PY_CODE,
     PARSE_BARE, FORMAT},
    {"bare, decorated", "triton", "Well.\n@triton.jit\ndef f(): pass\n" PY_CODE, "",
     "@triton.jit\ndef f(): pass\n" PY_CODE, PARSE_BARE, FORMAT},
    {"bare, no entry point", "python", "import torch\nprint(1)\n", "", NULL, PARSE_NONE, 0},
    {"bare, words that look like code", "c", "double buffering helps\nvoid solution is called", "",
     NULL, PARSE_NONE, 0},
    {"bare in a foreign language", "python", C_CODE, "", NULL, PARSE_NONE, 0},

    {"marker", "python", "Plan.\n# Kernel Implementation\n" PY_CODE "\n# End\nBye.", "", PY_CODE,
     PARSE_BARE, FORMAT},
    {"marker without end", "python", "Plan.\n# Your implementation:\nx = 1\n" PY_CODE, "",
     "x = 1\n" PY_CODE, PARSE_BARE, FORMAT},
    {"third marker", "c", "# Generated kernel:\n" C_CODE, "", C_CODE, PARSE_BARE, FORMAT},
    {"fence before marker", "python", "# Kernel Implementation\n```python\n" PY_CODE "\n```\n# End",
     "", PY_CODE, PARSE_FENCE, FORMAT},
    {"marker as a comment", "python", "import torch\n# Your implementation:\n" PY_CODE "\n# End",
     "", "import torch\n# Your implementation:\n" PY_CODE "\n# End", PARSE_BARE, FORMAT},

    {"no function of that name", "c", "```c\nvoid my_solution(int n);\nint solution(void);\n```",
     "", "void my_solution(int n);\nint solution(void);", PARSE_FENCE, 0},
    {"function across lines", "c", "```c\nvoid\nsolution  (int n)\n{}\n```", "",
     "void\nsolution  (int n)\n{}", PARSE_FENCE, FORMAT},
    {"class of another name", "python", "```python\nclass NetNew : pass\n```", "",
     "class NetNew : pass", PARSE_FENCE, FORMAT},
    {"no such class", "python", "```python\nclass Model: pass\nsubclass ANew\n```", "",
     "class Model: pass\nsubclass ANew", PARSE_FENCE, 0},
};

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct parse_options options = {rows[i].language, (rows[i].flags & OPEN) != 0};
        struct parsed parsed;
        parse_answer(rows[i].text, strlen(rows[i].text), &options, &parsed);
        const char *code = parsed.code ? parsed.code : "(none)";
        const char *wanted = rows[i].code ? rows[i].code : "(none)";
        if (strcmp(code, wanted) != 0 || strcmp(parsed.thought, rows[i].thought) != 0)
            fail_msg("%s: thought `%s`, code `%s`", rows[i].name, parsed.thought, code);
        if (parsed.found != rows[i].found || parsed.truncated != ((rows[i].flags & CUT) != 0) ||
            parsed.format_ok != ((rows[i].flags & FORMAT) != 0))
            fail_msg("%s: found %d, truncated %d, format %d", rows[i].name, parsed.found,
                     parsed.truncated, parsed.format_ok);
        assert_int_equal(parsed.thought_chars, characters(parsed.thought));
        assert_int_equal(parsed.code_chars, parsed.code ? characters(parsed.code) : 0);
        parse_deinit(&parsed);
    }
}

TEST(nul_bytes)
{
    static const char text[] = "<think>\0</think>\n```c\nvoid solution(\0);\n```\0```";
    struct parse_options options = {.language = "c"};
    struct parsed parsed;
    parse_answer(text, sizeof text - 1, &options, &parsed);
    assert_string_equal(parsed.thought, UTF8_REPLACEMENT);
    assert_string_equal(parsed.code, "void solution(" UTF8_REPLACEMENT ");\n```" UTF8_REPLACEMENT);
    assert_int_equal(parsed.found, PARSE_FENCE);
    parse_deinit(&parsed);
    parse_answer(NULL, 0, &options, &parsed);
    assert_string_equal(parsed.thought, "");
    assert_null(parsed.code);
    parse_deinit(&parsed);
}

/* What an answer of the largest size is made of, again and again: a parser that looks back at
 * what was read already would take hours for one of these. */
static const struct {
    const char *language, *before, *again, *behind;
} floods[] = {
    {"c", "", "```\n", ""},
    {"c", "", "```c\n", ""},
    {"c", "", "```c\nx\n```\n", ""},
    {"c", "", "~~~\n```\n", ""},
    {"c", "", "x ```c\n", ""},
    {"c", "```c\n", "`", ""},
    {"c", "", "<think>", ""},
    {"c", "", "</think>", "```c\nx\n```"},
    {"c", "", "<think></think>", ""},
    {"c", "", "<KERNEL>", ""},
    {"c", "", "<KERNEL>\n", "</KERNEL>"},
    {"c", "", "<KERNEL>x</KERNEL>", ""},
    {"c", "<KERNEL>", "</KERNEL>", ""},
    {"c", "", "<", ""},
    {"c", "", " ", "x"},
    {"c", "", "\n", "x"},
    {"c", "```c\n", " ", "\n```"},
    {"c", "", " <kernel> ", ""},
    {"c", "", "solution ", ""},
    {"c", "```c\n", "solution(\n", "```\n"},
    {"python", "```python\n", "class ", ""},
    {"python", "```python\n", "class", ""},
    {"python", "", "from \n", "def forward"},
    {"c", "void solution(\n", "# End\n", ""},
    {"c", "```c\n", "\xFF", "\n```"},
    {"c", "```c\n", "\r\n", "x\n```"},
    {"c", "```c\n", "    x\n", "   x\n```"},
    {"c", "", "  ", "\n```c\nx"},
};

TEST(floods)
{
    struct buf text;
    buf_init(&text, LIMIT_ANSWER_BYTES);
    for (size_t i = 0; i < COUNT(floods); i++) {
        size_t length = strlen(floods[i].again);
        buf_reset(&text);
        buf_puts(&text, floods[i].before);
        while (text.len + length + strlen(floods[i].behind) <= LIMIT_ANSWER_BYTES)
            buf_append(&text, floods[i].again, length);
        buf_puts(&text, floods[i].behind);
        struct parse_options options = {.language = floods[i].language};
        struct parsed parsed;
        parse_answer(text.data, text.len, &options, &parsed);
        assert_true(utf8_is_valid(parsed.thought, strlen(parsed.thought)));
        assert_int_equal(parsed.code == NULL, parsed.found == PARSE_NONE);
        parse_deinit(&parsed);
    }
    buf_deinit(&text);
}

/* A megabyte of honest code is taken as it is; what is beyond an answer's bound is not read. */
TEST(large)
{
    struct parse_options options = {.language = "c"};
    struct parsed parsed;
    struct buf text;
    buf_init(&text, 2 * LIMIT_ANSWER_BYTES);
    buf_puts(&text, "```c\n");
    while (text.len < (size_t)1 << 20)
        buf_puts(&text, "static int table[] = {1, 2, 3, 4, 5, 6, 7, 8};\n");
    buf_puts(&text, C_CODE);
    size_t length = text.len - 5;
    buf_puts(&text, "\n```\n");
    while (text.len < LIMIT_ANSWER_BYTES)
        buf_puts(&text, "and so on, ");
    buf_puts(&text, "\n```c\nvoid solution(int beyond) {}\n```\n");
    parse_answer(text.data, text.len, &options, &parsed);
    assert_int_equal(parsed.code_chars, length);
    assert_memory_equal(parsed.code, text.data + 5, length);
    assert_true(parsed.format_ok);
    parse_deinit(&parsed);
    buf_deinit(&text);
}
