/* Models to disk and back, adapters too; what a checkpoint may not be; and fresh values. */
#include "../support/scratch.h"
#include "../support/small_model.h"
#include "../support/test.h"
#include "base/json.h"
#include "base/mem.h"
#include "lm/model/pass.h"
#include "lm/model/value.h"
#include "lm/weights/safetensors.h"

#include <math.h>
#include <stdio.h>

#define ROWS 6
#define CHECKSUM 0x23f32f80457e9317 /* of the small model's values, seed 7 */

static struct lm_backend *backend;

FIXTURE(begin)
{
    backend = small_backend("reference");
    return scratch_begin(state);
}

FIXTURE(end)
{
    lm_backend_close(backend);
    return 0;
}

TEST_EACH(begin, end);

static void assert_same_values(const struct lm_model *one, const struct lm_model *other, bool same)
{
    assert_int_equal(one->parameter_count, other->parameter_count);
    bool found = true;
    for (size_t i = 0; i < one->parameter_count; i++) {
        const struct lm_parameter *p = &one->parameters[i], *q = &other->parameters[i];
        assert_string_equal(p->name, q->name);
        float *a = small_values(one, p), *b = small_values(other, q);
        found = found && memcmp(a, b, p->rows * p->columns * sizeof *a) == 0;
        mem_free(a);
        mem_free(b);
    }
    assert_true(found == same);
}

static struct lm_model *reopened(const char *directory, const char *adapter)
{
    struct lm_model_options options = {.adapter = adapter};
    struct lm_model *model;
    struct err err;
    assert_ok(lm_model_open(&model, directory, backend, &options, &err), &err);
    return model;
}

static void logits_of(struct lm_model *model, float *logits)
{
    static const int32_t tokens[ROWS] = {3, 1, 4, 1, 5, 9}, starts[] = {0, ROWS};
    struct lm_batch batch = {.rows = ROWS, .sequences = 1, .tokens = tokens, .starts = starts};
    struct lm_pass_options options = {.rows = ROWS};
    struct lm_pass *pass;
    struct err err;
    assert_ok(lm_pass_open(&pass, model, &options, &err), &err);
    assert_ok(lm_pass_logits(pass, &batch, logits, &err), &err);
    lm_pass_close(pass);
}

static uint64_t checksum(const struct lm_model *model)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        float *values = small_values(model, p);
        for (size_t at = 0; at < p->rows * p->columns; at++) {
            uint32_t bits;
            memcpy(&bits, &values[at], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3;
        }
        mem_free(values);
    }
    return hash;
}

TEST(fresh_is_the_same_everywhere)
{
    struct lm_config config = small_config();
    struct lm_model *one = small_fresh(backend, &config, LM_FROZEN, 3);
    struct lm_model *other = small_fresh(backend, &config, LM_TRAIN_ALL, 3);
    struct lm_model_options options = {.seed = 8, .lora = one->lora};
    struct lm_model *another;
    struct err err;
    assert_ok(lm_model_fresh(&another, &config, backend, &options, &err), &err);
    assert_same_values(one, other, true);
    assert_same_values(one, another, false);
    /* Of seed 7, wherever this runs. */
    assert_int_equal(checksum(one), CHECKSUM);
    lm_model_close(one);
    lm_model_close(other);
    lm_model_close(another);
}

TEST(fresh_values)
{
    struct lm_config config = small_config();
    config.vocab = 4000;
    config.qkv_bias = config.output_bias = true;
    struct lm_model *model = small_fresh(backend, &config, LM_FROZEN, 5);
    for (size_t i = 0; i < model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        size_t count = p->rows * p->columns;
        float *values = small_values(model, p);
        bool bias = strstr(p->name, ".bias"), b = strstr(p->name, "lora_B");
        for (size_t at = 0; at < count; at++) {
            if (p->vector || b)
                assert_true(values[at] == (bias || b ? 0 : 1));
            else if (p->adapter)
                assert_true(fabs((double)values[at]) <= 1 / sqrt((double)p->columns));
            else
                assert_true(fabs((double)values[at]) < 6 * 0.3);
        }
        mem_free(values);
    }
    /* Mean, deviation, and the share within one deviation. */
    double sum = 0, squares = 0, within = 0, count = 4000.0 * 12;
    float *values = small_values(model, model->embedding);
    for (size_t at = 0; at < 4000 * 12; at++) {
        sum += (double)values[at];
        squares += (double)values[at] * (double)values[at];
        within += fabs((double)values[at]) < 0.3;
    }
    assert_true(fabs(sum / count) < 4 * 0.3 / sqrt(count));
    assert_true(fabs(sqrt(squares / count) - 0.3) < 4 * 0.3 / sqrt(2 * count));
    assert_true(fabs(within / count - 0.6827) < 4 * 0.47 / sqrt(count));
    mem_free(values);
    lm_model_close(model);
}

TEST(options)
{
    struct lm_config config = small_config();
    const struct {
        struct lm_model_options options;
        int code;
        const char *error;
    } rows[] = {
        {{.training = LM_TRAIN_ADAPTER},
         ERR_INPUT,
         "there is no adapter to train: give it a rank, or train all weights"},
        {{.lora = {.rank = 5000, .targets = 1}},
         ERR_LIMIT,
         "an adapter of rank 5000; 4096 is the most"},
        {{.lora = {.rank = 2}}, ERR_INPUT, "an adapter that sits on no known layer"},
        {{.lora = {.rank = 2, .targets = 1U << LM_LORA_TARGET_COUNT}},
         ERR_INPUT,
         "an adapter that sits on no known layer"},
        {{.adapter = "somewhere"},
         ERR_INPUT,
         "an adapter from a file needs the model that it was made for, not a fresh one"},
    };
    struct lm_model *model;
    struct err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(lm_model_fresh(&model, &config, backend, &rows[i].options, &err),
                         rows[i].code);
        assert_string_equal(err.text, rows[i].error);
        assert_null(model);
    }
    for (size_t positions = 0; positions < 64; positions += 20) {
        struct lm_model_options options = {.positions = positions};
        assert_ok(lm_model_fresh(&model, &config, backend, &options, &err), &err);
        assert_int_equal(model->positions, positions == 20 ? 20 : SMALL_POSITIONS);
        lm_model_close(model);
    }
}

/* What servers of such models need beside the shape. */
static void check_torch_dtype(const char *directory, const char *expected)
{
    char path[512];
    json_t *config = NULL;
    struct err err;
    snprintf(path, sizeof path, "%s/config.json", directory);
    assert_ok(json_file_read(path, 4096, &config, &err), &err);
    assert_string_equal(json_text_at(config, "torch_dtype"), expected);
    json_decref(config);
}

TEST(round_trip)
{
    for (int tied = 0; tied < 2; tied++) {
        struct lm_config config = small_config();
        config.tied = tied;
        config.qkv_bias = config.output_bias = tied;
        struct lm_model *model = small_fresh(backend, &config, LM_FROZEN, 0);
        const char *directory = scratch_path(tied ? "tied" : "plain");
        struct err err;
        small_disturb(model);
        assert_ok(lm_model_save(model, directory, LM_F32, false, &err), &err);
        struct lm_model *back = reopened(directory, NULL);
        assert_same_values(model, back, true);
        assert_int_equal(back->config.tied, tied);
        assert_int_equal(back->config.head_width, config.head_width);
        lm_model_close(back);
        check_torch_dtype(directory, "float32");

        directory = scratch_path(tied ? "tied16" : "plain16");
        assert_ok(lm_model_save(model, directory, LM_BF16, false, &err), &err);
        back = reopened(directory, NULL);
        float *exact = small_values(model, model->embedding);
        float *rounded = small_values(back, back->embedding);
        for (size_t i = 0; i < config.vocab * config.width; i++)
            assert_true(rounded[i] == lm_bf16_to(lm_bf16_from(exact[i])));
        mem_free(exact);
        mem_free(rounded);
        lm_model_close(back);
        lm_model_close(model);
        check_torch_dtype(directory, "bfloat16");
    }
}

TEST(adapters)
{
    struct lm_model *model = small_fresh(backend, NULL, LM_TRAIN_ADAPTER, 3);
    const char *base = scratch_path("base"), *merged = scratch_path("merged");
    const char *adapter = scratch_path("adapter");
    float wanted[ROWS * SMALL_VOCAB], got[ROWS * SMALL_VOCAB];
    struct err err;
    small_disturb(model);
    logits_of(model, wanted);
    assert_ok(lm_model_save(model, base, LM_F32, false, &err), &err);
    assert_ok(lm_model_save(model, merged, LM_F32, true, &err), &err);
    assert_ok(lm_model_save_adapter(model, adapter, &err), &err);

    struct lm_model *back = reopened(base, adapter);
    assert_same_values(model, back, true);
    logits_of(back, got);
    assert_memory_equal(wanted, got, sizeof wanted);
    lm_model_close(back);

    back = reopened(merged, NULL);
    logits_of(back, got);
    for (size_t i = 0; i < ROWS * SMALL_VOCAB; i++)
        assert_true(fabs((double)(wanted[i] - got[i])) < 1e-4);
    lm_model_close(back);

    back = reopened(base, NULL);
    logits_of(back, got);
    assert_memory_not_equal(wanted, got, sizeof wanted);
    assert_int_equal(lm_model_save_adapter(back, adapter, &err), ERR_INPUT);
    lm_model_close(back);
    lm_model_close(model);
}

TEST(in_place)
{
    struct lm_config config = small_config();
    struct lm_model *from = small_fresh(backend, &config, LM_FROZEN, 3);
    struct lm_model *to = small_fresh(backend, &config, LM_TRAIN_ALL, 3);
    struct lm_model *narrow = small_fresh(backend, &config, LM_TRAIN_ALL, 2);
    const char *base = scratch_path("base"), *adapter = scratch_path("adapter");
    uint64_t version = to->version;
    struct err err;
    small_disturb(from);
    from->lora.alpha = 11;
    assert_ok(lm_model_save(from, base, LM_F32, false, &err), &err);
    assert_ok(lm_model_save_adapter(from, adapter, &err), &err);
    assert_ok(lm_model_load(to, base, &err), &err);
    assert_true(to->version > version);
    assert_same_values(from, to, false);
    version = to->version;
    assert_ok(lm_model_load_adapter(to, adapter, &err), &err);
    assert_true(to->version > version);
    assert_same_values(from, to, true);
    assert_true(to->lora.alpha == 11);
    assert_int_equal(lm_model_load_adapter(narrow, adapter, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "the adapter has rank 3"));
    lm_model_close(from);
    lm_model_close(to);
    lm_model_close(narrow);
}

/* A checkpoint of the small model with one thing changed about one tensor, or one more. */
static const struct change {
    const char *name; /* of the tensor that is changed; of one more, where the model has none */
    size_t dimensions;
    uint64_t shape[LM_TENSOR_DIMENSIONS]; /* dimensions 0: the tensor is left out */
    const char *error;                    /* behind the path; NULL: it is fine */
} changes[] = {
    {"model.norm.weight", 0, {0}, "tensor 'model.norm.weight' is missing"},
    {"lm_head.weight", 0, {0}, "tensor 'lm_head.weight' is missing"},
    {"model.layers.2.mlp.up_proj.weight", 2, .shape = {20, 13},
     "'model.layers.2.mlp.up_proj.weight' has shape [20, 13]; config.json asks for [20, 12]"},
    {"model.layers.2.mlp.up_proj.weight", 2, .shape = {12, 20},
     "'model.layers.2.mlp.up_proj.weight' has shape [12, 20]; config.json asks for [20, 12]"},
    {"model.layers.2.mlp.up_proj.weight", 1, .shape = {240},
     "'model.layers.2.mlp.up_proj.weight' has shape [240]; config.json asks for [20, 12]"},
    {"model.norm.weight", 2, .shape = {1, 12},
     "'model.norm.weight' has shape [1, 12]; config.json asks for [12]"},
    {"model.layers.3.mlp.up_proj.weight", 2, .shape = {20, 12},
     "'model.layers.3.mlp.up_proj.weight' is no tensor of this model"},
    {"model.layers.0.self_attn.q_proj.bias", 1, .shape = {24},
     "'model.layers.0.self_attn.q_proj.bias' is no tensor of this model"},
    {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", 2, .shape = {3, 12},
     "'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight' is no tensor of this model"},
    {"model.layers.0.self_attn.q_proj.lora_A.weight", 2, .shape = {3, 12},
     "'model.layers.0.self_attn.q_proj.lora_A.weight' is no tensor of this model"},
    {"model.layers.0.self_attn.rotary_emb.inv_freq", 1, {3}, NULL},
    {"model.rotary_emb.inv_freq", 1, {3}, NULL},
};

static void write_changed(const struct lm_model *model, const struct change *change,
                          const char *file)
{
    struct safetensors_declaration rows[64];
    struct safetensors_writer *writer;
    size_t count = 0, values = 0;
    struct err err;
    for (size_t i = 0; i <= model->parameter_count; i++) {
        const struct lm_parameter *p = &model->parameters[i];
        bool more = i == model->parameter_count;
        if (more ? lm_model_find(model, change->name) && !strstr(change->name, "lora_")
                 : p->adapter)
            continue;
        struct safetensors_declaration row = {.name = more ? change->name : p->name,
                                              .dimensions = 2};
        if (!more && p->vector)
            row.dimensions = 1;
        row.shape[0] = more || p->vector ? p->columns : p->rows;
        row.shape[1] = more || p->vector ? 0 : p->columns;
        if (strcmp(row.name, change->name) == 0) {
            row.dimensions = change->dimensions;
            memcpy(row.shape, change->shape, sizeof row.shape);
        }
        if (row.dimensions == 0)
            continue;
        values += row.shape[0] * (row.dimensions > 1 ? row.shape[1] : 1);
        rows[count++] = row;
    }
    float *zeros = mem_alloc(values * sizeof *zeros);
    assert_ok(safetensors_writer_open(&writer, file, rows, count, NULL, &err), &err);
    int result = safetensors_writer_put(writer, zeros, values, &err);
    assert_ok(safetensors_writer_end(writer, result, &err), &err);
    mem_free(zeros);
}

TEST(changed_checkpoints)
{
    struct lm_model *model = small_fresh(backend, NULL, LM_FROZEN, 3);
    const char *directory = scratch_path("changed");
    struct lm_model_options options = {0};
    struct err err;
    assert_ok(lm_model_save(model, directory, LM_F32, false, &err), &err);
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct lm_model *opened;
        uint64_t before = checksum(model), version = model->version;
        write_changed(model, &changes[i], scratch_path("changed/model.safetensors"));
        int result = lm_model_open(&opened, directory, backend, &options, &err);
        if (!changes[i].error) {
            assert_ok(result, &err);
            lm_model_close(opened);
            continue;
        }
        assert_int_equal(result, ERR_INPUT);
        assert_null(opened);
        char *error = mem_printf("%s: %s", directory, changes[i].error);
        assert_string_equal(err.text, error);
        mem_free(error);
        assert_int_equal(lm_model_load(model, directory, &err), ERR_INPUT);
        assert_int_equal(checksum(model), before);
        assert_int_equal(model->version, version);
    }
    lm_model_close(model);
}

/* A head of its own in the file of a tied model belongs to no parameter. */
TEST(tied_head)
{
    struct lm_config config = small_config();
    const char *directory = scratch_path("head");
    struct change change = {"lm_head.weight", 2, {SMALL_VOCAB, 12}, NULL};
    struct err err;
    config.tied = true;
    struct lm_model *model = small_fresh(backend, &config, LM_FROZEN, 0);
    assert_ok(lm_model_save(model, directory, LM_F32, false, &err), &err);
    write_changed(model, &change, scratch_path("head/model.safetensors"));
    lm_model_close(reopened(directory, NULL));
    lm_model_close(model);
}

TEST(integers)
{
    static const char header[] =
        "{\"model.embed_tokens.weight\":{\"dtype\":\"I32\",\"shape\":[29,12],"
        "\"data_offsets\":[0,1392]}}        ";
    struct lm_model *model = small_fresh(backend, NULL, LM_FROZEN, 0);
    const char *directory = scratch_path("integers");
    uint64_t length = sizeof header - 1;
    char bytes[8 + sizeof header - 1 + 1392] = {0};
    struct err err;
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + 8, header, sizeof header - 1);
    scratch_write("integers/model.safetensors", bytes, sizeof bytes);
    assert_int_equal(lm_model_load(model, directory, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "'model.embed_tokens.weight' is of type I32; the engine reads "
                                     "F32, BF16 and F16"));
    lm_model_close(model);
}
