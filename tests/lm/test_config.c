/* config.json and adapter_config.json: what is taken, what is refused and why. That Transformers
 * and PEFT mean the same is shown by tests/lm/transformers_checks.py. */
#include "../support/scratch.h"
#include "../support/test.h"
#include "base/json.h"
#include "lm/weights/adapter.h"
#include "lm/weights/config.h"

#include <math.h>

#define SIZES                                                                                      \
    "\"vocab_size\":100,\"hidden_size\":64,\"intermediate_size\":96,\"num_hidden_layers\":2,"      \
    "\"num_attention_heads\":4"
#define QWEN2 "{\"model_type\":\"qwen2\"," SIZES ",\"num_key_value_heads\":2"
#define QWEN3 "{\"model_type\":\"qwen3\"," SIZES ",\"num_key_value_heads\":2"
#define LLAMA "{\"model_type\":\"llama\"," SIZES

static int read_config(const char *text, struct lm_config *config, struct err *err)
{
    json_t *document = support_json(text);
    int result = lm_config_parse(config, document, err);
    json_decref(document);
    return result;
}

static struct lm_config config_of(const char *text)
{
    struct lm_config config;
    struct err err;
    assert_ok(read_config(text, &config, &err), &err);
    return config;
}

static const struct {
    const char *text, *wanted; /* part of the sentence; NULL: taken */
} documents[] = {
    {QWEN2 "}", NULL},
    {QWEN3 "}", NULL},
    {LLAMA "}", NULL},
    {LLAMA ",\"num_key_value_heads\":null,\"head_dim\":null}", NULL},
    {QWEN3 ",\"use_sliding_window\":false,\"sliding_window\":4096}", NULL},
    {QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":2}", NULL},
    {QWEN2 ",\"use_sliding_window\":true,\"sliding_window\":null,\"max_window_layers\":1}", NULL},
    {QWEN2 ",\"layer_types\":[\"full_attention\",\"full_attention\"]}", NULL},
    {LLAMA ",\"rope_scaling\":{}}", NULL},
    {LLAMA ",\"rope_scaling\":{\"type\":\"default\"}}", NULL},
    {LLAMA ",\"quantization_config\":null}", NULL},
    {LLAMA ",\"bos_token_id\":128000,\"pad_token_id\":-1}", NULL},

    {"[]", "must be an object"},
    {"{}", "'model_type' is missing"},
    {"{\"model_type\":\"qwen3_moe\"}", "'model_type' is 'qwen3_moe'; the engine knows"},
    {"{\"model_type\":3}", "'model_type' must be a string"},
    {"{\"model_type\":\"llama\"}", "'vocab_size' is missing"},
    {LLAMA ",\"max_position_embeddings\":0}", "'max_position_embeddings' is 0"},
    {LLAMA ",\"max_position_embeddings\":-5}", "'max_position_embeddings' is -5; 1 to"},
    {LLAMA ",\"max_position_embeddings\":1e3}", "must be an integer"},
    {LLAMA ",\"max_position_embeddings\":9223372036854775807}", "1 to 16777216 is possible"},
    {LLAMA ",\"num_key_value_heads\":3}", "no multiple of 'num_key_value_heads' 3"},
    {LLAMA ",\"num_key_value_heads\":8}", "no multiple of 'num_key_value_heads' 8"},
    {LLAMA ",\"head_dim\":15}", "'head_dim' must be even"},
    {LLAMA ",\"head_dim\":2048}", "'head_dim' is 2048; 1 to 1024"},
    {LLAMA ",\"hidden_act\":\"gelu\"}", "'hidden_act' is 'gelu'; the engine knows silu"},
    {LLAMA ",\"rms_norm_eps\":0}", "'rms_norm_eps' is 0"},
    {LLAMA ",\"rms_norm_eps\":\"x\"}", "'rms_norm_eps' must be a number"},
    {LLAMA ",\"initializer_range\":-1}", "'initializer_range' is -1"},
    {LLAMA ",\"tie_word_embeddings\":1}", "'tie_word_embeddings' must be true or false"},
    {LLAMA ",\"quantization_config\":{\"quant_method\":\"gptq\"}}", "no quantised weights"},
    {LLAMA ",\"partial_rotary_factor\":0.5}", "'partial_rotary_factor' is 0.5"},
    {QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":1}",
     "'use_sliding_window' is on (windows of 4096 from layer 1 on)"},
    {QWEN3 ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]}",
     "'layer_types' has 'sliding_attention' for layer 1"},
    {LLAMA ",\"layer_types\":[1]}", "'layer_types' has 'no name' for layer 0"},
    {LLAMA ",\"rope_theta\":1}", "'rope_theta' is 1; it must be above 1"},
    {LLAMA ",\"rope_theta\":-5}", "'rope_theta' is -5"},
    {LLAMA ",\"rope_scaling\":3}", "'rope_scaling' must be an object"},
    {LLAMA ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}", "type is 'dynamic'; the"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"longrope\"}}", "type is 'longrope'"},
    {LLAMA ",\"rope_parameters\":{\"rope_type\":\"mrope\"}}", "type is 'mrope'"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":7}}", "'rope_type' must be a string"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"linear\"}}", "'factor' is missing"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0.5}}", "'factor' is 0.5"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8}}",
     "'low_freq_factor' is mis"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,"
           "\"high_freq_factor\":4}}",
     "'low_freq_factor' 4 must be above 0 and below 'high_freq_factor' 4"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"beta_fast\":1,"
           "\"beta_slow\":2}}",
     "'beta_slow' 2 must be"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"mscale\":-1}}", "not -1"},
    {LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,"
           "\"original_max_position_embeddings\":0}}",
     "'original_max_position_embeddings' is 0"},
    {LLAMA ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\"}}}",
     "parameters for 'full_attention' alone"},
    {LLAMA ",\"rope_parameters\":{\"partial_rotary_factor\":0.25}}", "'partial_rotary_factor' is"},
    {LLAMA ",\"eos_token_id\":\"</s>\"}", "'eos_token_id' must be a token or a list"},
    {LLAMA ",\"eos_token_id\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "more than 16"},
    {LLAMA ",\"bos_token_id\":4294967296}", "'bos_token_id' is 4294967296, which no token has"},
    {LLAMA ",\"hidden_act\":\"a\\u001b[2J\\nb\"}", "'hidden_act' is 'a?[2J?b'"},
};

TEST(documents)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct lm_config config;
        struct err err = {0};
        int result = read_config(documents[i].text, &config, &err);
        if (!documents[i].wanted ? result < 0
                                 : result == 0 || !strstr(err.text, documents[i].wanted))
            fail_msg("%s: '%s'", documents[i].text, err.text);
    }
}

TEST(defaults)
{
    struct lm_config config = config_of(QWEN3 ",\"eos_token_id\":[5,6,5]}");
    assert_int_equal(config.head_width, 128);
    assert_true(config.qk_norm && !config.qkv_bias && !config.output_bias && !config.tied);
    assert_int_equal(config.stop_count, 2);
    assert_int_equal(config.begin_token, -1);
    config = config_of(QWEN2 ",\"rope_theta\":1000000,\"tie_word_embeddings\":true}");
    assert_int_equal(config.head_width, 16);
    assert_true(config.qkv_bias && !config.output_bias && config.tied);
    assert_true(config.rope.theta == 1e6 && config.rope.kind == LM_ROPE_DEFAULT);
    assert_int_equal(config.stop_count, 0);
    config = config_of(LLAMA ",\"attention_bias\":true,\"mlp_bias\":true}");
    assert_true(config.qkv_bias && config.output_bias && config.mlp_bias && !config.qk_norm);
    assert_true(config.kv_heads == 4 && config.begin_token == 1 && config.stop_tokens[0] == 2);
    config = config_of(LLAMA ",\"bos_token_id\":null,\"eos_token_id\":null}");
    assert_true(config.begin_token == -1 && config.stop_count == 0);
}

/* Both styles of the same rope, and both of writing its type. */
TEST(rope_styles)
{
#define YARN                                                                                       \
    "\"factor\":4,\"beta_fast\":16,\"mscale\":1.5,\"mscale_all_dim\":0.5,\"truncate\":false,"      \
    "\"original_max_position_embeddings\":512"
    static const char *const styles[] = {
        QWEN2 ",\"rope_theta\":5e5,\"rope_scaling\":{\"type\":\"yarn\"," YARN "}}",
        QWEN2 ",\"rope_theta\":5e5,\"rope_scaling\":{\"rope_type\":\"yarn\"," YARN "}}",
        QWEN2 ",\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":5e5," YARN "}}",
        QWEN2 ",\"rope_theta\":1e3,\"rope_scaling\":null,\"rope_parameters\":{\"rope_type\":"
              "\"yarn\",\"rope_theta\":5e5," YARN "}}",
    };
    struct lm_config first = {0};
    for (size_t i = 0; i < COUNT(styles); i++) {
        struct lm_config config = config_of(styles[i]);
        const struct lm_rope_config *rope = &config.rope;
        assert_true(rope->kind == LM_ROPE_YARN && rope->theta == 5e5 && rope->factor == 4 &&
                    rope->beta_fast == 16 && rope->beta_slow == 1 && rope->mscale == 1.5 &&
                    rope->mscale_all_dim == 0.5 && !rope->truncate &&
                    rope->original_positions == 512 && rope->attention_factor == 0);
        first = i == 0 ? config : first;
        assert_memory_equal(&config.rope, &first.rope, sizeof first.rope);
    }
}

/* What is written reads back as the same, and by a hand-made change is refused. */
TEST(round_trip)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct lm_config config, again;
        struct err err = {0};
        if (read_config(documents[i].text, &config, &err) < 0)
            continue;
        json_t *document = lm_config_json(&config);
        if (lm_config_parse(&again, document, &err) < 0)
            fail_msg("%s: %s", documents[i].text, err.text);
        json_t *twice = lm_config_json(&again);
        assert_true(json_equal(document, twice));
        assert_true(again.norm_epsilon == config.norm_epsilon && again.width == config.width &&
                    again.kv_heads == config.kv_heads && again.rope.kind == config.rope.kind);
        json_decref(document);
        json_decref(twice);
        config.rope.theta = (double)NAN;
        assert_int_equal(lm_config_check(&config, &err), ERR_INPUT);
        config = again;
        config.qk_norm = !config.qk_norm;
        assert_int_equal(lm_config_check(&config, &err), ERR_INPUT);
    }
}

TEST_WITH(directory, scratch_begin, NULL)
{
    static const char text[] = QWEN3 ",\"eos_token_id\":7}";
    static const char generation[] = "{\"eos_token_id\":[7,8],\"temperature\":0.6}";
    const char *directory = scratch_path("");
    struct lm_config config;
    struct err err = {0};
    assert_int_equal(lm_config_read(&config, directory, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "config.json: no such file"));
    scratch_write("config.json", text, strlen(text));
    assert_ok(lm_config_read(&config, directory, &err), &err);
    assert_int_equal(config.stop_count, 1);
    scratch_write("generation_config.json", generation, strlen(generation));
    assert_ok(lm_config_read(&config, directory, &err), &err);
    assert_true(config.stop_count == 2 && config.stop_tokens[1] == 8);
    scratch_write("generation_config.json", "{", 1);
    assert_int_equal(lm_config_read(&config, directory, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "generation_config.json:1:1: not JSON"));
    scratch_write("config.json", "{}", 2);
    assert_int_equal(lm_config_read(&config, directory, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "config.json: 'model_type' is missing"));
}

/* Counted by hand: the embedding 100·64, a layer's q, o 64·64 each, k, v 64·32 each, three of
 * 64·96, two norms; the last norm; the head. */
TEST(parameters)
{
    const uint64_t layer = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64;
    const struct {
        const char *text;
        uint64_t wanted;
    } models[] = {
        {QWEN2 "}", 2 * 6400 + 64 + 2 * (layer + 64 + 32 + 32)},
        {QWEN2 ",\"tie_word_embeddings\":true}", 6400 + 64 + 2 * (layer + 64 + 32 + 32)},
        {QWEN3 ",\"head_dim\":16}", 2 * 6400 + 64 + 2 * (layer + 2 * 16)},
        {QWEN3 ",\"head_dim\":16,\"attention_bias\":true}",
         2 * 6400 + 64 + 2 * (layer + 2 * 16 + 64 + 32 + 32 + 64)},
        {LLAMA ",\"num_key_value_heads\":2,\"mlp_bias\":true}",
         2 * 6400 + 64 + 2 * (layer + 96 + 96 + 64)},
    };
    for (size_t i = 0; i < COUNT(models); i++) {
        struct lm_config config = config_of(models[i].text);
        assert_int_equal(lm_config_parameters(&config), models[i].wanted);
    }
}

#define ADAPTER "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":16"
#define Q ",\"target_modules\":[\"q_proj\"]"

static const struct {
    const char *text, *wanted;
    unsigned targets;
    double scale;
} adapters[] = {
    {ADAPTER Q "}", NULL, 1, 4},
    {ADAPTER Q ",\"use_rslora\":true}", NULL, 1, 8},
    {"{\"peft_type\":\"LORA\"" Q "}", NULL, 1, 1},
    {ADAPTER ",\"target_modules\":\"all-linear\"}", NULL, 0x7F, 4},
    {ADAPTER ",\"target_modules\":[\"self_attn.v_proj\",\"mlp.down_proj\"]}", NULL, 0x44, 4},
    {ADAPTER ",\"target_modules\":[\"model.layers.0.mlp.up_proj\",\"12.self_attn.k_proj\"]}", NULL,
     0x22, 4},
    {ADAPTER Q ",\"bias\":\"none\",\"rank_pattern\":{},\"modules_to_save\":null,\"use_dora\":false,"
               "\"loftq_config\":{},\"init_lora_weights\":\"gaussian\",\"task_type\":null,"
               "\"lora_dropout\":0.1}",
     NULL, 1, 4},

    {"[]", "must be an object", 0, 0},
    {"{}", "'peft_type' is missing", 0, 0},
    {"{\"peft_type\":\"IA3\"}", "'peft_type' is 'IA3'; the engine knows LORA", 0, 0},
    {ADAPTER "}", "'target_modules' must be a list of names", 0, 0},
    {ADAPTER ",\"target_modules\":[]}", "'target_modules' must be a list of names", 0, 0},
    {ADAPTER ",\"target_modules\":[1]}", "item 0 of 'target_modules' is no name", 0, 0},
    {ADAPTER ",\"target_modules\":[\"lm_head\"]}", "'target_modules' has 'lm_head'", 0, 0},
    {ADAPTER ",\"target_modules\":[\"a.layers.0.self_attn.q_proj\"]}", "has 'a.layers.0", 0, 0},
    {ADAPTER ",\"target_modules\":[\"layers.x.self_attn.q_proj\"]}", "has 'layers.x", 0, 0},
    {ADAPTER ",\"target_modules\":[\"self_attn.xq_proj\"]}", "has 'self_attn.xq_proj'", 0, 0},
    {ADAPTER ",\"target_modules\":[\".q_proj\"]}", "has '.q_proj'", 0, 0},
    {ADAPTER ",\"target_modules\":[\"\"]}", "has ''", 0, 0},
    {ADAPTER ",\"target_modules\":[\"mlp.q_proj\"]}", "'target_modules' has 'mlp.q_proj'", 0, 0},
    {ADAPTER ",\"target_modules\":\".*_proj\"}", "is the pattern '.*_proj'", 0, 0},
    {ADAPTER Q ",\"use_dora\":true}", "'use_dora' is set", 0, 0},
    {ADAPTER Q ",\"bias\":\"all\"}", "'bias' is 'all'; the engine knows none", 0, 0},
    {ADAPTER Q ",\"task_type\":\"SEQ_CLS\"}", "'task_type' is 'SEQ_CLS'", 0, 0},
    {ADAPTER Q ",\"rank_pattern\":{\"q_proj\":8}}", "'rank_pattern' is set", 0, 0},
    {ADAPTER Q ",\"alpha_pattern\":{\"q_proj\":8}}", "'alpha_pattern' is set", 0, 0},
    {ADAPTER Q ",\"modules_to_save\":[\"lm_head\"]}", "'modules_to_save' is set", 0, 0},
    {ADAPTER Q ",\"layers_to_transform\":0}", "'layers_to_transform' is set", 0, 0},
    {ADAPTER Q ",\"init_lora_weights\":\"pissa_niter_4\"}", "which changes the base model", 0, 0},
    {"{\"peft_type\":\"LORA\",\"r\":0" Q "}", "'r' is 0; 1 to 4096", 0, 0},
    {"{\"peft_type\":\"LORA\",\"r\":-1" Q "}", "'r' is -1", 0, 0},
    {"{\"peft_type\":\"LORA\",\"r\":100000" Q "}", "'r' is 100000", 0, 0},
    {"{\"peft_type\":\"LORA\",\"lora_alpha\":0" Q "}", "'lora_alpha' is 0", 0, 0},
    {ADAPTER Q ",\"use_rslora\":1}", "'use_rslora' must be true or false", 0, 0},
};

TEST(adapters)
{
    for (size_t i = 0; i < COUNT(adapters); i++) {
        struct lm_lora lora, again;
        struct err err = {0};
        json_t *document = support_json(adapters[i].text);
        int result = lm_adapter_parse(&lora, document, &err);
        json_decref(document);
        if (adapters[i].wanted && (result == 0 || !strstr(err.text, adapters[i].wanted)))
            fail_msg("%s: '%s'", adapters[i].text, err.text);
        if (adapters[i].wanted)
            continue;
        if (result < 0)
            fail_msg("%s: %s", adapters[i].text, err.text);
        assert_int_equal(lora.targets, adapters[i].targets);
        assert_true(lm_lora_scale(&lora) == adapters[i].scale);
        document = lm_adapter_json(&lora);
        if (lm_adapter_parse(&again, document, &err) < 0)
            fail_msg("%s: %s", adapters[i].text, err.text);
        json_decref(document);
        assert_true(again.rank == lora.rank && again.targets == lora.targets &&
                    again.alpha == lora.alpha && again.rank_stabilised == lora.rank_stabilised);
    }
    assert_true(lm_lora_scale(&(struct lm_lora){0}) == 0);
}
