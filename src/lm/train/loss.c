#include "lm/train/loss.h"

#include "base/array.h"

#include <math.h>
#include <string.h>

/* One row of a loss that compares with the sampler. */
struct row {
    double p, q, a, w;
    double r;
    bool capped; /* r stands still at its ceiling */
};

/* What it adds to the loss, and how that changes with p. */
struct term {
    double loss, slope;
    bool clipped;
};

typedef struct term term_function(const struct loss_config *config, const struct row *row);

static struct term importance_term(const struct loss_config *config, const struct row *row)
{
    return (struct term){.loss = -row->r * row->a,
                         .slope = row->capped ? 0 : -row->r * row->a,
                         .clipped = row->capped};
}

static struct term ppo_term(const struct loss_config *config, const struct row *row)
{
    struct term term = importance_term(config, row);
    double bound = row->a > 0 ? config->clip_high : config->clip_low;
    bool beyond = row->a > 0 ? row->r > bound : row->r < bound;
    if (row->a < 0 && config->dual_clip > 0 && row->r > config->dual_clip) {
        bound = config->dual_clip;
        beyond = true;
    }
    return beyond ? (struct term){.loss = -bound * row->a, .clipped = true} : term;
}

static struct term cispo_term(const struct loss_config *config, const struct row *row)
{
    double bounded = fmin(fmax(row->r, config->clip_low), config->clip_high);
    /* fmin and fmax would hide a NaN. */
    double weight = isnan(row->r) ? row->r : bounded;
    return (struct term){.loss = -weight * row->p * row->a,
                         .slope = -weight * row->a,
                         .clipped = weight != row->r};
}

static struct term dro_term(const struct loss_config *config, const struct row *row)
{
    double off = row->p - row->q;
    return (struct term){.loss = -row->p * row->a + row->w * config->beta / 2 * off * off,
                         .slope = -row->a + row->w * config->beta * off};
}

static bool has_weight(const struct loss_input *input, size_t row)
{
    if (!input->weights)
        return true;
    for (size_t k = 0; k < input->targets_per_row; k++)
        if (input->weights[row * input->targets_per_row + k] != 0)
            return true;
    return false;
}

static bool row_counts(const struct loss *loss, const struct loss_input *input, size_t row)
{
    return loss->ratio ? input->advantages[row] != 0 : has_weight(input, row);
}

static void ratio_apply(term_function *term_of, const struct loss_config *config,
                        const struct loss_input *input, float *dlogprob, struct loss_sums *sums)
{
    *sums = (struct loss_sums){0};
    for (size_t i = 0; i < input->count; i++) {
        struct row row = {.p = input->logprob[i],
                          .q = input->sampled[i],
                          .a = input->advantages[i],
                          .w = input->weights ? input->weights[i] : 1};
        bool counts = row.a != 0;
        struct term term = {0};
        row.capped = row.p - row.q > LOSS_LOG_RATIO_MAX;
        row.r = exp(row.capped ? LOSS_LOG_RATIO_MAX : row.p - row.q);
        if (counts || !isnan(row.q))
            term = term_of(config, &row);
        if (dlogprob)
            dlogprob[i] = (float)term.slope;
        sums->loss += term.loss;
        if (!counts)
            continue;
        sums->tokens++;
        sums->clipped += term.clipped;
        sums->ratio += row.r;
        sums->kl += row.q - row.p;
    }
}

static void cross_entropy_apply(const struct loss_input *input, float *dlogprob,
                                struct loss_sums *sums)
{
    size_t cells = input->count * input->targets_per_row;
    *sums = (struct loss_sums){0};
    for (size_t i = 0; i < cells; i++) {
        double weight = input->weights ? input->weights[i] : 1;
        /* A target that the model holds for impossible (-inf) is no matter where its weight is
         * 0. */
        if (weight != 0)
            sums->loss -= weight * input->logprob[i];
        if (dlogprob)
            dlogprob[i] = weight != 0 ? (float)-weight : 0;
    }
    for (size_t i = 0; i < input->count; i++)
        sums->tokens += has_weight(input, i);
}

void loss_entropy(const struct loss *loss, const struct loss_config *config,
                  const struct loss_input *input, const float *entropy, float *dentropy,
                  struct loss_sums *sums)
{
    double weighed = 0;
    for (size_t i = 0; i < input->count; i++) {
        bool counts = row_counts(loss, input, i);
        double weight = loss->ratio && input->weights ? input->weights[i] : 1;
        if (counts) {
            sums->entropy += entropy[i];
            weighed += weight * entropy[i];
        }
        if (dentropy)
            dentropy[i] = counts ? (float)(-config->entropy * weight) : 0;
    }
    if (config->entropy != 0)
        sums->loss -= config->entropy * weighed;
}

void loss_sums_add(struct loss_sums *to, const struct loss_sums *from)
{
#define X(name) to->name += from->name;
    LOSS_SUMS(X)
#undef X
}

enum { CLIP = 1, DUAL = 2, BETA = 4 };

static const struct known {
    struct loss loss;
    term_function *term; /* NULL: cross entropy */
    int keys;
    struct loss_config defaults;
} losses[] = {
    {.loss = {"cross_entropy", .soft = true}},
    {.loss = {"importance_sampling", .ratio = true}, .term = importance_term},
    {.loss = {"ppo", .ratio = true},
     .term = ppo_term,
     .keys = CLIP | DUAL,
     .defaults = {.clip_low = 0.8, .clip_high = 1.2}},
    {.loss = {"cispo", .ratio = true},
     .term = cispo_term,
     .keys = CLIP,
     .defaults = {.clip_low = 0, .clip_high = 4}},
    {.loss = {"dro", .ratio = true}, .term = dro_term, .keys = BETA, .defaults = {.beta = 0.05}},
    {.loss = {.name = NULL}},
};

/* A loss is the first member of its row. */
static const struct known *known_of(const struct loss *loss)
{
    return (const struct known *)loss;
}

void loss_apply(const struct loss *loss, const struct loss_config *config,
                const struct loss_input *input, float *dlogprob, struct loss_sums *sums)
{
    const struct known *known = known_of(loss);
    if (known->term)
        ratio_apply(known->term, config, input, dlogprob, sums);
    else
        cross_entropy_apply(input, dlogprob, sums);
}

const struct loss_config loss_config_defaults = {NAN, NAN, NAN, NAN, NAN};

const struct loss *loss_at(size_t index)
{
    return index + 1 < COUNT(losses) ? &losses[index].loss : NULL;
}

/* Behind cross_entropy. */
const struct word_table loss_policy_words = {&losses[1].loss.name, sizeof *losses};

const struct loss *loss_of_policy(int word)
{
    return &losses[word + 1].loss;
}

const struct loss *loss_find(const char *name)
{
    for (size_t i = 0; loss_at(i); i++)
        if (strcmp(loss_at(i)->name, name) == 0)
            return loss_at(i);
    return NULL;
}

/* The key of a loss, or of none: then it must not be given. */
static int settle(const struct loss *loss, const char *key, double *value, bool known,
                  double standard, struct err *err)
{
    if (!isnan(*value) && !known)
        return err_set(err, ERR_INPUT, "the loss %s has no %s; leave it out", loss->name, key);
    if (isnan(*value) && known)
        *value = standard;
    return 0;
}

static int check_bounds(const struct loss *loss, const struct loss_config *config, int keys,
                        struct err *err)
{
    double low = config->clip_low, high = config->clip_high, dual = config->dual_clip;
    if (!isfinite(config->entropy))
        return err_set(err, ERR_INPUT, "%s: entropy is %g; it must be finite", loss->name,
                       config->entropy);
    if (keys & CLIP && !(low >= 0 && low <= high))
        return err_set(err, ERR_INPUT,
                       "%s: clip_low %g and clip_high %g must be bounds of the ratio, 0 <= low <= "
                       "high, such as 0.8 and 1.2",
                       loss->name, low, high);
    if (keys & CLIP && known_of(loss)->term == ppo_term && (low > 1 || high < 1))
        return err_set(err, ERR_INPUT,
                       "%s: clip_low %g and clip_high %g must hold 1 between them: they are "
                       "bounds of the ratio, not epsilons",
                       loss->name, low, high);
    if (keys & DUAL && dual != 0 && !(dual > 1 && dual >= high))
        return err_set(err, ERR_INPUT,
                       "%s: dual_clip %g must be above 1 and not below clip_high %g, or 0 for none",
                       loss->name, dual, high);
    if (keys & BETA && !(config->beta >= 0 && isfinite(config->beta)))
        return err_set(err, ERR_INPUT, "%s: beta is %g; it must be 0 or more", loss->name,
                       config->beta);
    return 0;
}

int loss_config_check(const struct loss *loss, struct loss_config *config, struct err *err)
{
    const int keys = known_of(loss)->keys;
    const struct loss_config *standard = &known_of(loss)->defaults;
    const struct {
        const char *key;
        double *value;
        bool known;
        double standard;
    } rows[] = {
        {"clip_low", &config->clip_low, keys & CLIP, standard->clip_low},
        {"clip_high", &config->clip_high, keys & CLIP, standard->clip_high},
        {"dual_clip", &config->dual_clip, keys & DUAL, standard->dual_clip},
        {"beta", &config->beta, keys & BETA, standard->beta},
        {"entropy", &config->entropy, true, 0},
    };
    int result = 0;
    for (size_t i = 0; i < COUNT(rows) && result == 0; i++)
        result = settle(loss, rows[i].key, rows[i].value, rows[i].known, rows[i].standard, err);
    return result < 0 ? result : check_bounds(loss, config, keys, err);
}
