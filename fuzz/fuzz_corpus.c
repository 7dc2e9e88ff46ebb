/* Any bytes as a line of a corpus: refused with a reason, or an example whose texts can be cut into
 * words and held against themselves. */
#include "base/json.h"
#include "retrieval/analyzer.h"
#include "retrieval/corpus.h"
#include "retrieval/sketch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_word(void *context, const struct analyzer_word *word)
{
    const size_t *count = context;
    if (word->length == 0 || word->length >= WORD_BYTES || word->text[word->length] != '\0' ||
        word->start >= word->end || word->end > *count)
        abort();
    return 0;
}

static void check_text(const char *text)
{
    size_t count = strlen(text);
    struct sketch sketch, again;
    unsigned char bytes[SKETCH_BYTES];
    struct err err;
    if (analyzer_each(text, count, check_word, &count) != 0)
        abort();
    sketch_of(text, count, &sketch);
    for (uint32_t i = 1; i < sketch.count; i++)
        if (sketch.hashes[i] <= sketch.hashes[i - 1])
            abort();
    if (sketch.count > 0 && sketch_similarity(&sketch, &sketch) != 1)
        abort();
    if (sketch_read(&again, bytes, sketch_write(&sketch, bytes), &err) < 0 ||
        memcmp(&sketch, &again, sizeof sketch) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corpus_options options = {0};
    struct corpus *corpus;
    struct example example;
    enum corpus_fate fate = CORPUS_TAKEN;
    struct err err = {0};
    json_t *line;
    /* As a source, too: most of what is below has no use for JSON. */
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    check_text(text);
    free(text);
    if (json_parse_line("fuzz", 1, (const char *)data, size, &line, &err) < 0)
        return 0;
    if (corpus_open(&corpus, &options, &err) < 0)
        abort();
    int result = corpus_read_line(corpus, line, &example, &fate, &err);
    if (result < 0 && (result != ERR_INPUT || err.text[0] == '\0'))
        abort();
    if (result == 0 && fate == CORPUS_TAKEN) {
        if (example.language[0] == '\0' || example.reference[0] == '\0' ||
            example.solution[0] == '\0')
            abort();
        check_text(example.reference);
        check_text(example.solution);
    }
    corpus_close(corpus);
    json_decref(line);
    return 0;
}
