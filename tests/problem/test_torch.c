/* What the text of a torch module must hold, and what is read from it. */
#include "../support/test.h"
#include "problem/torch.h"

#include <stdio.h>

#define REST "def get_inputs():\n    pass\ndef get_init_inputs():\n    pass\n"

TEST(summary)
{
    static const struct {
        const char *text, *summary;
    } rows[] = {
        {"class Model(nn.Module):\n    pass\n" REST, ""},
        {"class Model:\n    \"\"\"\n    One.\n    Two.\n    \"\"\"\n" REST, "One."},
        {"class Model(nn.Module):\n    \"\"\"One.  \"\"\"\n" REST, "One."},
        {"class Model(nn.Module):\n    '''One.\n    '''\n" REST, "One."},
        {"class Model(nn.Module):\n    r\"\"\"One.\"\"\"\n" REST, "One."},
        {"class Model(nn.Module):\n    \"One.\"\n" REST, "One."},
        {"class Model(Base[a:b]):  # why\n    # note\n    \"One.\"\n" REST, "One."},
        {"class Model(Base(a)):  # why\n    # note\n    \"One.\"\n" REST, "One."},
        {"\"\"\"The module.\"\"\"\nclass Model:\n    \"\"\"One.\"\"\"\n" REST, "The module."},
        {"# text\n\n\"\"\"\nThe module.\n\"\"\"\nclass Model:\n    pass\n" REST, "The module."},
        {"import x\nSOURCE = \"\"\"\nno summary\n\"\"\"\nclass Model:\n    \"One.\"\n" REST,
         "One."},
        {"class Model:\r\n    \"\"\"\r\n    One.\r\n    \"\"\"\r\n" REST, "One."},
        {"class Model:\n    \"\"\" \"\"\"\n" REST, ""},
        {"class Model:\n    \"\"\"\n    never closed\n" REST, ""},
        {"class Other: pass\nclass Model: \"One.\"\n" REST, "One."},
        {"class Model(nn.Module", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem = {0};
        int result = torch_parse(&problem, "x.py", rows[i].text, strlen(rows[i].text), NULL);
        if (!rows[i].summary) {
            assert_int_equal(result, ERR_INPUT);
        } else {
            assert_int_equal(result, 0);
            assert_string_equal(problem.summary, rows[i].summary);
            assert_int_equal(problem.format, PROBLEM_TORCH);
            assert_true(problem.tolerance.relative == 1e-4);
            assert_int_equal(problem.tolerance.scale, SCALE_RMS);
        }
        problem_deinit(&problem);
    }
}

TEST(category)
{
    static const struct {
        const char *text, *category;
    } rows[] = {
        {"\"\"\"One.\n\nCategory: matmul\n\"\"\"\nclass Model: pass\n" REST, "matmul"},
        {"# One.\n#  Category:  loss \r\nclass Model: pass\n" REST, "loss"},
        {"# One.\n'''\nCategory: sparse'''\nclass Model: pass\n" REST, "sparse"},
        {"import x\n# Category: nothing\nclass Model: pass\n" REST, ""},
        {"\"\"\"One.\"\"\"\nclass Model:\n    \"\"\"\n    Category: nothing\n    \"\"\"\n" REST,
         ""},
        {"class Model: pass\n" REST, ""},
        {"\"\"\"\nCategory: matmol\n\"\"\"\nclass Model: pass\n" REST, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem = {0};
        struct err err = {0};
        int result = torch_parse(&problem, "x.py", rows[i].text, strlen(rows[i].text), &err);
        if (rows[i].category) {
            assert_int_equal(result, 0);
            assert_string_equal(problem.category, rows[i].category);
        } else {
            assert_int_equal(result, ERR_INPUT);
            assert_string_equal(err.text,
                                "x.py: unknown category 'matmol'; did you mean 'matmul'?");
        }
        problem_deinit(&problem);
    }
}

/* Another class than Model, in a text that somebody sent. */
TEST(entry_point)
{
    static const char net[] = "class Net:\n    \"One.\"\n" REST;
    struct problem problem = {0}, other = {0};
    struct err err = {0};
    assert_int_equal(torch_from_text(&problem, "Net", net, strlen(net), &err), 0);
    assert_string_equal(problem.entry_point, "Net");
    assert_string_equal(problem.summary, "One.");
    assert_string_equal(problem.reference_text, net);
    assert_int_equal(torch_from_text(&other, "Model", net, strlen(net), &err), ERR_INPUT);
    assert_string_equal(err.text, "reference: class Model is missing: a torch problem defines "
                                  "class Model, get_inputs and get_init_inputs");
    problem_deinit(&other);
    /* Both classes: which of them is meant makes another problem. */
    static const char both[] = "class Net: pass\nclass Model: pass\n" REST;
    struct problem one = {0};
    assert_int_equal(torch_from_text(&one, "Net", both, strlen(both), &err), 0);
    assert_int_equal(torch_from_text(&other, "Model", both, strlen(both), &err), 0);
    assert_string_not_equal(one.hash, other.hash);
    problem_deinit(&one);
    problem_deinit(&other);
    problem_deinit(&problem);
}

TEST(missing)
{
    static const struct {
        const char *text, *missing;
    } rows[] = {
        {"import torch\n", "class Model, get_inputs and get_init_inputs are missing"},
        {"class Model:\n    pass\n", "get_inputs and get_init_inputs are missing"},
        {"class Model:\n    pass\ndef get_inputs(): pass\n", "get_init_inputs is missing"},
        {"class Model:\n    pass\ndef get_init_inputs(): pass\n", "get_inputs is missing"},
        {REST, "class Model is missing"},
        {"class ModelNew:\n    pass\n" REST, "class Model is missing"},
        {"class Outer:\n    class Model:\n        pass\n" REST, "class Model is missing"},
        {"classModel = 1\n" REST, "class Model is missing"},
        {"class Model:\n  pass\ndef get_inputs_2(): pass\ndef my_get_init_inputs(): pass\n",
         "get_inputs and get_init_inputs are missing"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem = {0};
        struct err err = {0};
        assert_int_equal(torch_parse(&problem, "a/x.py", rows[i].text, strlen(rows[i].text), &err),
                         ERR_INPUT);
        char wanted[256];
        snprintf(wanted, sizeof wanted,
                 "a/x.py: %s: a torch problem defines class Model, get_inputs and get_init_inputs",
                 rows[i].missing);
        assert_string_equal(err.text, wanted);
        problem_deinit(&problem);
    }
    struct problem problem = {0};
    struct err err = {0};
    assert_int_equal(torch_parse(&problem, "x.py", "a\0b", 3, &err), ERR_INPUT);
    assert_string_equal(err.text, "x.py:1: holds a NUL byte; a source is text");
}

TEST(long_summary)
{
    char text[1024];
    for (int shift = 0; shift < 2; shift++) {
        size_t used = (size_t)snprintf(text, sizeof text, "class Model:\n    \"%s",
                                       shift ? "a" : "");
        for (int i = 0; i < 150; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "\xC3\xA4");
        snprintf(text + used, sizeof text - used, "\"\n" REST);
        struct problem problem = {0};
        assert_int_equal(torch_parse(&problem, "x.py", text, strlen(text), NULL), 0);
        assert_int_equal(strlen(problem.summary), shift ? 199 : 200);
        problem_deinit(&problem);
    }
}

TEST(id)
{
    static const struct {
        const char *path, *id;
    } rows[] = {
        {"relu.py", "relu"},
        {"./relu.py", "relu"},
        {"problems/torch/relu.py", "torch/relu"},
        {"torch/relu.py", "torch/relu"},
        {"/torch/relu.py", "torch/relu"},
        {"/relu.py", "relu"},
        {"KernelBench/level1/23_Softmax.py", "level1/23"},
        {"level12/7_x.py", "level12/7"},
        {"level1/Softmax.py", "Softmax"},
        {"level/23_Softmax.py", "23_Softmax"},
        {"levels1/23_Softmax.py", "23_Softmax"},
        {"level1x/23_Softmax.py", "23_Softmax"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena arena = {0};
        assert_string_equal(torch_id(&arena, rows[i].path), rows[i].id);
        arena_deinit(&arena);
    }
}
