/* model: the parameters of a decoder-only transformer, in a backend's memory.
 *
 * A model is a list of parameters in a fixed order; each knows its name in a Hugging Face
 * checkpoint, its shape, where its value lies and, if it is trained, where its gradient lies.
 * Passes (lm/model/pass.h) compute with it, the optimiser (lm/train/optimizer.h) changes it,
 * samplers (lm/sample/sampler.h) read it.
 *
 * Order of parameters: embedding; for each layer norms, q, k, v, o (weight, bias, norm), gate, up,
 * down, each followed by its adapter's A and B; final norm; head, unless it is tied.
 *
 * Ownership: the model owns its parameters and their gradients; the backend must outlive it.
 * Threads: one at a time changes it; the caller excludes concurrent readers.
 */
#pragma once

#include "lm/ops/backend.h"
#include "lm/weights/adapter.h"
#include "lm/weights/config.h"

#define LM_PARAMETER_NAME_MAX 96

struct lm_parameter {
    char name[LM_PARAMETER_NAME_MAX]; /* "model.layers.0.self_attn.q_proj.weight"; of an adapter
                                         "model.layers.0.self_attn.q_proj.lora_A.weight" */
    size_t rows, columns;             /* a vector is 1 row */
    bool vector;                      /* one dimension in the file; has no weight decay */
    bool adapter;
    void *value;    /* [rows, columns] */
    void *gradient; /* the same, or NULL: frozen */
};

/* y = x·Wᵀ + b, and with an adapter + scale·(x·Aᵀ)·Bᵀ. Absent ones are NULL. */
struct lm_projection {
    struct lm_parameter *weight, *bias;
    struct lm_parameter *a, *b; /* [rank, in], [out, rank] */
};

struct lm_layer {
    struct lm_parameter *attention_norm, *mlp_norm;
    struct lm_parameter *q_norm, *k_norm; /* or NULL */
    struct lm_projection projections[LM_LORA_TARGET_COUNT];
};

struct lm_model {
    struct lm_config config;
    struct lm_lora lora;
    struct lm_backend *backend;
    struct lm_parameter *parameters;
    size_t parameter_count;
    void *values, *gradients; /* blocks in the backend's memory that hold those of all parameters */
    size_t gradient_bytes;
    struct lm_parameter *embedding, *final_norm, *head; /* head is embedding where it is tied */
    struct lm_layer *layers;
    size_t positions;      /* longest sequence */
    float *cosine, *sine;  /* [positions, head_width / 2], in the backend's memory */
    unsigned dropped_bits; /* of a twin's mantissas: lm_model_twin_round */
    uint64_t version;      /* goes up with every change of the weights; samplers look at it */
};

/* What is trained. */
#define LM_MANTISSA_BITS 23 /* of an f32, beside the leading one */

enum lm_training { LM_FROZEN, LM_TRAIN_ALL, LM_TRAIN_ADAPTER };

struct lm_model_options {
    enum lm_training training; /* gradients are made for these parameters */
    struct lm_lora lora;       /* a fresh adapter (A random, B zero) where rank > 0 */
    const char *adapter;       /* directory of an adapter to load instead, or NULL */
    uint64_t seed;             /* of what is fresh */
    size_t positions; /* longest sequence, of which rope tables are made; 0: the config's */
};

/* DIRECTORY holds config.json and safetensors. A parameter that is not there, is there twice, or
 * has another shape is an error with its name; tensors that the model does not know are an error
 * too, except rotary tables and a head that is tied. */
NODISCARD int lm_model_open(struct lm_model **out, const char *directory,
                            struct lm_backend *backend, const struct lm_model_options *options,
                            struct err *err);
/* Fresh weights, normal with the config's deviation (norms 1, biases 0); the same for a seed on
 * every machine. */
NODISCARD int lm_model_fresh(struct lm_model **out, const struct lm_config *config,
                             struct lm_backend *backend, const struct lm_model_options *options,
                             struct err *err);
void lm_model_close(struct lm_model *model);

/* A frozen model for samplers, beside one that is trained: it has its own copy of what is trained,
 * and reads the rest where it lies. `backend` is of the same kind, and another thread may drive it.
 * The original must outlive it. */
NODISCARD int lm_model_twin(struct lm_model **out, const struct lm_model *model,
                            struct lm_backend *backend, struct err *err);
/* Copies the trained parameters again; the caller excludes training of the original and reads of
 * the copy. */
void lm_model_twin_update(struct lm_model *twin, const struct lm_model *model);
/* From the next update on the copy is rounded to so many bits of the mantissa, to the nearest, ties
 * to even: 3 are those of an fp8 (E4M3), 7 those of a bf16, LM_MANTISSA_BITS all. f32 only. */
void lm_model_twin_round(struct lm_model *twin, unsigned bits);

/* Another model on the weights of `base`, with an adapter of its own (options->lora, fresh; rank 0:
 * none), which is trained or frozen: many share one base. An adapter of `base` is left out.
 * `backend` is of the same kind, and another thread may drive it. `base` must outlive it and is not
 * trained meanwhile. */
NODISCARD int lm_model_attach(struct lm_model **out, const struct lm_model *base,
                              struct lm_backend *backend, const struct lm_model_options *options,
                              struct err *err);

/* Elements of all parameters, of those that are trained. */
uint64_t lm_model_count(const struct lm_model *model);
uint64_t lm_model_trained(const struct lm_model *model);
/* NULL: no such name. */
struct lm_parameter *lm_model_find(const struct lm_model *model, const char *name);

/* Whether all of them are tokens of the model, `per_row` to a row; `what` says what they are. */
NODISCARD int lm_model_check_ids(const struct lm_model *model, const int32_t *ids, size_t count,
                                 size_t per_row, const char *what, struct err *err);

void lm_model_zero_gradients(struct lm_model *model);

/* Writes DIRECTORY/config.json and model.safetensors in `dtype`; with `merge` each adapter is added
 * into its weight (in the file only), without it a model with an adapter is written as its base. */
NODISCARD int lm_model_save(struct lm_model *model, const char *directory, enum lm_dtype dtype,
                            bool merge, struct err *err);
/* Writes DIRECTORY/adapter_config.json and adapter_model.safetensors, as PEFT reads them. */
NODISCARD int lm_model_save_adapter(struct lm_model *model, const char *directory, struct err *err);
/* Reads values into the model as it stands, in place: the whole model (its base, where it has an
 * adapter) or the adapter alone, with its alpha. All of it is checked before the first value
 * changes. */
NODISCARD int lm_model_load(struct lm_model *model, const char *directory, struct err *err);
NODISCARD int lm_model_load_adapter(struct lm_model *model, const char *directory, struct err *err);
