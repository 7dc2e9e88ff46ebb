/* adapter: LoRA adapters as the PEFT library keeps them: adapter_config.json and
 * adapter_model.safetensors with tensors
 *   base_model.model.model.layers.N.self_attn.q_proj.lora_A.weight  [rank, in]
 *   base_model.model.model.layers.N.self_attn.q_proj.lora_B.weight  [out, rank]
 *
 * Only what the engine does is taken (peft_type LORA, no DoRA, no bias, one rank for all modules);
 * any other PEFT option is refused by name. rsLoRA's scale alpha/sqrt(rank) is known.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "lm/weights/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The linear layers of a block that an adapter may sit on. X(symbol, name) */
#define LM_LORA_TARGETS(X)                                                                         \
    X(LM_LORA_Q, "q_proj")                                                                         \
    X(LM_LORA_K, "k_proj")                                                                         \
    X(LM_LORA_V, "v_proj")                                                                         \
    X(LM_LORA_O, "o_proj")                                                                         \
    X(LM_LORA_GATE, "gate_proj")                                                                   \
    X(LM_LORA_UP, "up_proj")                                                                       \
    X(LM_LORA_DOWN, "down_proj")

enum lm_lora_target {
#define X(symbol, name) symbol,
    LM_LORA_TARGETS(X)
#undef X
        LM_LORA_TARGET_COUNT
};
const char *lm_lora_target_name(enum lm_lora_target target);

struct lm_lora {
    size_t rank; /* 0: no adapter */
    double alpha;
    bool rank_stabilised; /* rsLoRA: scale is alpha / sqrt(rank) instead of alpha / rank */
    uint32_t targets;     /* bit 1 << enum lm_lora_target */
    char base_model[256]; /* base_model_name_or_path, verbatim */
};

double lm_lora_scale(const struct lm_lora *lora);
/* Elements of A and B on all targets of all layers. */
uint64_t lm_lora_parameters(const struct lm_lora *lora, const struct lm_config *config);

/* DIRECTORY/adapter_config.json. target_modules may be "all-linear", and names may be whole paths
 * of modules: that every layer has one shows when the tensors are read. */
NODISCARD int lm_adapter_read(struct lm_lora *lora, const char *directory, struct err *err);
NODISCARD int lm_adapter_parse(struct lm_lora *lora, const json_t *document, struct err *err);
/* The caller's reference. */
json_t *lm_adapter_json(const struct lm_lora *lora);
