/* Matrices: embedding, linear layers and the head's log-probabilities. */
#include "lm/reference/reference.h"

#include <math.h>
#include <string.h>

void reference_embed(struct lm_backend *backend, const struct lm_embed *op)
{
    const float *table = op->table;
    float *y = op->y;
    for (size_t row = 0; row < op->rows; row++)
        memcpy(y + row * op->width, table + (size_t)op->tokens[row] * op->width,
               op->width * sizeof *y);
}

void reference_embed_backward(struct lm_backend *backend, const struct lm_embed *op)
{
    const float *dy = op->dy;
    float *dtable = op->dtable;
    if (!dtable)
        return;
    for (size_t row = 0; row < op->rows; row++)
        for (size_t i = 0; i < op->width; i++)
            dtable[(size_t)op->tokens[row] * op->width + i] += dy[row * op->width + i];
}

void reference_linear(struct lm_backend *backend, const struct lm_linear *op)
{
    const float *x = op->x, *weight = op->weight, *bias = op->bias, *addend = op->addend;
    float *y = op->y;
    for (size_t row = 0; row < op->rows; row++)
        for (size_t o = 0; o < op->out; o++) {
            size_t at = row * op->out + o;
            double sum = reference_dot(x + row * op->in, 1, weight + o * op->in, 1, op->in);
            sum = (double)op->scale * (sum + (bias ? (double)bias[o] : 0));
            y[at] = (float)(sum + (addend ? (double)addend[at] : 0));
        }
}

/* dx (+)= scale · dy · weight, over [rows, in] */
static void backward_to_input(size_t rows, size_t in, size_t out, double scale, const float *dy,
                              const float *weight, float *dx, bool add)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < in; i++) {
            double sum = scale * reference_dot(dy + row * out, 1, weight + i, in, out);
            dx[row * in + i] = (float)(sum + (add ? (double)dx[row * in + i] : 0));
        }
}

/* dweight += scale · dyᵀ · x, over [out, in] */
static void backward_to_weight(size_t rows, size_t in, size_t out, double scale, const float *dy,
                               const float *x, float *dweight)
{
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            double sum = scale * reference_dot(dy + o, out, x + i, in, rows);
            dweight[o * in + i] = (float)((double)dweight[o * in + i] + sum);
        }
}

void reference_linear_backward(struct lm_backend *backend, const struct lm_linear *op)
{
    const float *dy = op->dy;
    float *dbias = op->dbias;
    double scale = (double)op->scale;
    if (op->dx)
        backward_to_input(op->rows, op->in, op->out, scale, dy, op->weight, op->dx, op->add_dx);
    if (op->dweight)
        backward_to_weight(op->rows, op->in, op->out, scale, dy, op->x, op->dweight);
    for (size_t o = 0; dbias && o < op->out; o++) {
        double sum = 0;
        for (size_t row = 0; row < op->rows; row++)
            sum += (double)dy[row * op->out + o];
        dbias[o] = (float)((double)dbias[o] + scale * sum);
    }
}

void reference_logprob(struct lm_backend *backend, const struct lm_logprob *op)
{
    const float *x = op->x, *weight = op->weight;
    for (size_t row = 0; row < op->rows; row++) {
        float *logits = (float *)op->logits + row * op->vocab;
        double most = -INFINITY, sum = 0, weighted = 0, squares = 0;
        for (size_t v = 0; v < op->vocab; v++) {
            double dot = reference_dot(x + row * op->width, 1, weight + v * op->width, 1,
                                       op->width);
            logits[v] = (float)(dot / (double)op->temperature);
            most = fmax(most, (double)logits[v]);
        }
        for (size_t v = 0; v < op->vocab; v++) {
            double power = exp((double)logits[v] - most);
            sum += power;
            weighted += power * (double)logits[v];
            squares += power * power;
        }
        double lse = most + log(sum);
        op->lse[row] = (float)lse;
        for (size_t j = row * op->targets_per_row; j < (row + 1) * op->targets_per_row; j++)
            op->logprob[j] = (float)((double)logits[op->targets[j]] - lse);
        if (op->entropy)
            op->entropy[row] = (float)(lse - weighted / sum);
        if (op->collision)
            op->collision[row] = (float)(squares / (sum * sum));
    }
}

/* The logits of one row become their gradients, of x · weightᵀ:
 *   d logprob_j / d logit_v = [v = target_j] - p_v
 *   d entropy / d logit_v   = -p_v · (log p_v + entropy) */
static void logits_backward(const struct lm_logprob *op, size_t row)
{
    float *logits = (float *)op->logits + row * op->vocab;
    const int32_t *targets = op->targets + row * op->targets_per_row;
    const float *dlogprob = op->dlogprob + row * op->targets_per_row;
    double lse = (double)op->lse[row], inverse = 1 / (double)op->temperature;
    double dentropy = op->dentropy ? (double)op->dentropy[row] : 0;
    double total = 0, entropy = 0;
    for (size_t j = 0; j < op->targets_per_row; j++)
        total += (double)dlogprob[j];
    for (size_t v = 0; v < op->vocab; v++) {
        double log_p = (double)logits[v] - lse;
        entropy -= exp(log_p) * log_p;
    }
    for (size_t v = 0; v < op->vocab; v++) {
        double log_p = (double)logits[v] - lse;
        double gradient = -exp(log_p) * (total + dentropy * (log_p + entropy));
        logits[v] = (float)(inverse * gradient);
    }
    for (size_t j = 0; j < op->targets_per_row; j++)
        logits[targets[j]] = (float)((double)logits[targets[j]] + inverse * (double)dlogprob[j]);
}

void reference_logprob_backward(struct lm_backend *backend, const struct lm_logprob *op)
{
    for (size_t row = 0; row < op->rows; row++)
        logits_backward(op, row);
    if (op->dx)
        backward_to_input(op->rows, op->width, op->vocab, 1, op->logits, op->weight, op->dx, false);
    if (op->dweight)
        backward_to_weight(op->rows, op->width, op->vocab, 1, op->logits, op->x, op->dweight);
}
