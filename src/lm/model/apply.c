#include "lm/model/apply.h"

struct lm_linear lm_linear_of(const struct lm_parameter *weight, size_t rows, const void *x,
                              void *y)
{
    return (struct lm_linear){.rows = rows,
                              .in = weight->columns,
                              .out = weight->rows,
                              .scale = 1,
                              .x = x,
                              .weight = weight->value,
                              .y = y,
                              .dweight = weight->gradient};
}

struct lm_rmsnorm lm_norm_of(const struct lm_model *model, const struct lm_parameter *weight,
                             size_t rows, const void *x, void *y)
{
    return (struct lm_rmsnorm){.rows = rows,
                               .width = weight->columns,
                               .epsilon = model->config.norm_epsilon,
                               .x = x,
                               .weight = weight->value,
                               .y = y,
                               .dweight = weight->gradient};
}

void lm_project(const struct lm_model *model, const struct lm_projection *projection, size_t rows,
                const void *x, const void *addend, void *low, void *y)
{
    struct lm_backend *backend = model->backend;
    struct lm_linear base = lm_linear_of(projection->weight, rows, x, y);
    base.bias = projection->bias ? projection->bias->value : NULL;
    base.addend = addend;
    if (y)
        backend->ops->linear.forward(backend, &base);
    if (!projection->a)
        return;
    struct lm_linear down = lm_linear_of(projection->a, rows, x, low);
    struct lm_linear up = lm_linear_of(projection->b, rows, low, y);
    up.scale = (float)lm_lora_scale(&model->lora);
    up.addend = y;
    backend->ops->linear.forward(backend, &down);
    if (y)
        backend->ops->linear.forward(backend, &up);
}
