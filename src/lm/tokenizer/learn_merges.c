/* Which pairs are merged (Sennrich et al. 2016), with counts that are kept up to date:
 *
 *   heap ─► most frequent pair ─► words that hold it ─► their pairs are counted off, the pair is
 *     ▲                                                  merged, their pairs are counted again
 *     └───────────────── pairs that hold the new token ◄──────────────┘
 *
 * Only pairs with the new token can become more frequent; all others become rarer, and their
 * entry in the heap is put right when it comes to the top. A pair that spells a token which is
 * there already is left alone: each token has one way to be made.
 */
#include "base/random.h"
#include "lm/tokenizer/learn_internal.h"

#include <string.h>

#define FIRST_SLOTS 4096
#define NOTHING SIZE_MAX

struct word {
    uint32_t *ids; /* into learner->ids */
    uint32_t count;
    uint64_t times;
};

struct pair {
    uint64_t key; /* left << 32 | right, so that keys order as pairs do */
    uint64_t count;
    uint32_t *words; /* where it is, or was; some twice */
    uint32_t word_count, word_capacity;
    uint32_t round; /* of the merge that touched it last */
};

struct entry {
    uint64_t count, key;
};

struct learner {
    struct word *words;
    size_t word_count;
    uint32_t *ids;
    struct pair *pairs;
    size_t pair_count;
    uint32_t *slots; /* index + 1 of a pair; 0: free */
    size_t slot_count;
    struct entry *heap;
    size_t heap_count, heap_capacity;
    size_t *touched; /* pairs that hold the new token */
    size_t touched_count, touched_capacity;
    uint32_t round;
};

static uint64_t key_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

/* Room for one more of an array that doubles. */
static void *reserve(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 64;
    return mem_resize(items, *capacity * size);
}

static bool is_before(const struct entry *a, const struct entry *b)
{
    return a->count > b->count || (a->count == b->count && a->key < b->key);
}

static void swap(struct entry *a, struct entry *b)
{
    struct entry kept = *a;
    *a = *b;
    *b = kept;
}

static void push(struct learner *learner, struct entry entry)
{
    learner->heap = reserve(learner->heap, learner->heap_count, &learner->heap_capacity,
                            sizeof entry);
    struct entry *heap = learner->heap;
    size_t at = learner->heap_count++;
    heap[at] = entry;
    for (; at > 0 && is_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static struct entry pop(struct learner *learner)
{
    struct entry *heap = learner->heap, top = heap[0];
    size_t count = --learner->heap_count;
    heap[0] = heap[count];
    for (size_t at = 0, least;; at = least) {
        least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            least = is_before(&heap[child], &heap[least]) ? child : least;
        if (least == at)
            return top;
        swap(&heap[at], &heap[least]);
    }
}

static size_t slot_of(const struct learner *learner, uint64_t key)
{
    size_t mask = learner->slot_count - 1;
    size_t slot = (size_t)((key * RANDOM_GOLDEN) >> 20) & mask;
    while (learner->slots[slot] && learner->pairs[learner->slots[slot] - 1].key != key)
        slot = (slot + 1) & mask;
    return slot;
}

static void grow(struct learner *learner)
{
    learner->slot_count = learner->slot_count ? 2 * learner->slot_count : FIRST_SLOTS;
    mem_free(learner->slots);
    learner->slots = mem_alloc(learner->slot_count * sizeof *learner->slots);
    learner->pairs = mem_resize(learner->pairs, learner->slot_count / 2 * sizeof *learner->pairs);
    for (size_t i = 0; i < learner->pair_count; i++)
        learner->slots[slot_of(learner, learner->pairs[i].key)] = (uint32_t)i + 1;
}

static size_t pair_of(struct learner *learner, uint64_t key)
{
    if (2 * (learner->pair_count + 1) > learner->slot_count)
        grow(learner);
    size_t slot = slot_of(learner, key);
    if (!learner->slots[slot]) {
        learner->pairs[learner->pair_count++] = (struct pair){.key = key};
        learner->slots[slot] = (uint32_t)learner->pair_count;
    }
    return learner->slots[slot] - 1;
}

/* Valid until the next pair is looked for: `pairs` may move then. */
static struct pair *find_pair(struct learner *learner, uint64_t key)
{
    size_t index = pair_of(learner, key);
    return &learner->pairs[index];
}

static void add_place(struct pair *pair, uint32_t word)
{
    if (pair->word_count > 0 && pair->words[pair->word_count - 1] == word)
        return;
    if (pair->word_count == pair->word_capacity) {
        pair->word_capacity = pair->word_capacity ? 2 * pair->word_capacity : 2;
        pair->words = mem_resize(pair->words, pair->word_capacity * sizeof *pair->words);
    }
    pair->words[pair->word_count++] = word;
}

static void touch(struct learner *learner, size_t index)
{
    if (learner->pairs[index].round == learner->round)
        return;
    learner->pairs[index].round = learner->round;
    learner->touched = reserve(learner->touched, learner->touched_count, &learner->touched_capacity,
                               sizeof *learner->touched);
    learner->touched[learner->touched_count++] = index;
}

static void count_off(struct learner *learner, const struct word *word)
{
    for (size_t i = 1; i < word->count; i++)
        find_pair(learner, key_of(word->ids[i - 1], word->ids[i]))->count -= word->times;
}

/* `token`: the new one, whose pairs were not known to be here; NOTHING: none was. */
static void count_on(struct learner *learner, uint32_t index, size_t token)
{
    const struct word *word = &learner->words[index];
    for (size_t i = 1; i < word->count; i++) {
        size_t pair = pair_of(learner, key_of(word->ids[i - 1], word->ids[i]));
        learner->pairs[pair].count += word->times;
        if (token == NOTHING || word->ids[i - 1] == token || word->ids[i] == token) {
            add_place(&learner->pairs[pair], index);
            touch(learner, pair);
        }
    }
}

static void push_touched(struct learner *learner)
{
    for (size_t i = 0; i < learner->touched_count; i++) {
        const struct pair *pair = &learner->pairs[learner->touched[i]];
        if (pair->count > 0)
            push(learner, (struct entry){pair->count, pair->key});
    }
    learner->touched_count = 0;
}

static bool holds(const struct word *word, const struct learn_merge *merge)
{
    for (size_t i = 1; i < word->count; i++)
        if (word->ids[i - 1] == merge->left && word->ids[i] == merge->right)
            return true;
    return false;
}

static void replace(struct word *word, const struct learn_merge *merge, uint32_t token)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < word->count; i++) {
        bool here = i + 1 < word->count && word->ids[i] == merge->left &&
                    word->ids[i + 1] == merge->right;
        word->ids[kept++] = here ? token : word->ids[i];
        i += here;
    }
    word->count = kept;
}

static void merge_everywhere(struct learner *learner, const struct learn_merge *merge,
                             uint32_t token)
{
    struct pair *pair = find_pair(learner, key_of(merge->left, merge->right));
    uint32_t *words = pair->words, count = pair->word_count;
    pair->words = NULL;
    pair->word_count = pair->word_capacity = 0;
    learner->round++;
    for (uint32_t i = 0; i < count; i++) {
        struct word *word = &learner->words[words[i]];
        if (!holds(word, merge))
            continue;
        count_off(learner, word);
        replace(word, merge, token);
        count_on(learner, words[i], token);
    }
    mem_free(words);
    push_touched(learner);
}

/* The most frequent pair; count 0: there is none. */
static struct entry next(struct learner *learner)
{
    while (learner->heap_count > 0) {
        struct entry top = pop(learner);
        uint64_t count = find_pair(learner, top.key)->count;
        if (count == top.count)
            return top;
        if (count > 0)
            push(learner, (struct entry){count, top.key});
    }
    return (struct entry){0};
}

static uint32_t join(struct learn_strings *tokens, const struct learn_merge *merge)
{
    const struct learn_string *left = &tokens->items[merge->left];
    const struct learn_string *right = &tokens->items[merge->right];
    size_t count = left->count + right->count;
    char *bytes = mem_alloc(count);
    memcpy(bytes, left->bytes, left->count);
    memcpy(bytes + left->count, right->bytes, right->count);
    size_t index = learn_strings_add(tokens, bytes, count);
    mem_free(bytes);
    return (uint32_t)index;
}

static void init(struct learner *learner, const struct learn_words *words)
{
    uint32_t ids[LEARN_BYTES];
    size_t total = 0;
    for (unsigned id = 0; id < LEARN_BYTES; id++)
        ids[learn_byte(id)] = id;
    for (size_t i = 0; i < words->strings.count; i++)
        total += words->strings.items[i].count;
    learner->word_count = words->strings.count;
    learner->words = mem_alloc((learner->word_count + 1) * sizeof *learner->words);
    learner->ids = mem_alloc((total + 1) * sizeof *learner->ids);
    uint32_t *at = learner->ids;
    for (size_t i = 0; i < learner->word_count; i++) {
        const struct learn_string *string = &words->strings.items[i];
        learner->words[i] = (struct word){at, (uint32_t)string->count, words->times[i]};
        for (size_t k = 0; k < string->count; k++)
            *at++ = ids[(unsigned char)string->bytes[k]];
    }
    learner->round = 1;
    for (size_t i = 0; i < learner->word_count; i++)
        count_on(learner, (uint32_t)i, NOTHING);
    push_touched(learner);
}

static void deinit(struct learner *learner)
{
    for (size_t i = 0; i < learner->pair_count; i++)
        mem_free(learner->pairs[i].words);
    mem_free(learner->pairs);
    mem_free(learner->slots);
    mem_free(learner->heap);
    mem_free(learner->touched);
    mem_free(learner->words);
    mem_free(learner->ids);
}

void learn_merges(struct learned *learned, const struct learn_words *words, size_t vocab,
                  uint64_t least)
{
    struct learner learner = {0};
    size_t capacity = 0;
    init(&learner, words);
    for (unsigned id = 0; id < LEARN_BYTES; id++) {
        const char byte = (char)learn_byte(id);
        (void)learn_strings_add(&learned->tokens, &byte, 1);
    }
    while (learned->tokens.count < vocab) {
        struct entry top = next(&learner);
        if (top.count == 0 || top.count < least)
            break;
        const struct learn_merge merge = {(uint32_t)(top.key >> 32), (uint32_t)top.key};
        size_t before = learned->tokens.count;
        uint32_t token = join(&learned->tokens, &merge);
        if (token < before)
            continue;
        learned->merges = reserve(learned->merges, learned->merge_count, &capacity,
                                  sizeof *learned->merges);
        learned->merges[learned->merge_count++] = merge;
        merge_everywhere(&learner, &merge, token);
    }
    deinit(&learner);
}

void learned_deinit(struct learned *learned)
{
    learn_strings_deinit(&learned->tokens);
    mem_free(learned->merges);
    *learned = (struct learned){0};
}
