/* Any bytes as a model's answer. The first byte picks the language and whether the prompt began the
 * thinking. What comes out is text, trimmed and within the answer's size. */
#include "base/utf8.h"
#include "gym/answer/parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void require_text(const char *text, size_t chars, size_t answer_bytes)
{
    size_t length = strlen(text);
    size_t counted = 0;
    require(utf8_is_valid(text, length));
    require(length <= 3 * answer_bytes);
    for (size_t i = 0; i < length; i++)
        counted += ((unsigned char)text[i] & 0xC0) != 0x80;
    require(counted == chars);
    require(length == 0 || (!strchr(" \n\t", text[0]) && !strchr(" \n\t", text[length - 1])));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const languages[] = {"c",          "cuda",   "python", "triton",
                                            "torch-cuda", "opencl", NULL};
    if (size == 0)
        return 0;
    struct parse_options options = {.language = languages[(data[0] >> 1) % 7],
                                    .thinking_open = data[0] & 1};
    struct parsed parsed;
    parse_answer((const char *)data + 1, size - 1, &options, &parsed);
    require_text(parsed.thought, parsed.thought_chars, size);
    require((parsed.code == NULL) == (parsed.found == PARSE_NONE));
    require(parsed.code || (!parsed.truncated && !parsed.format_ok && parsed.code_chars == 0));
    require(parsed.found != PARSE_NONE || !parsed.code);
    if (parsed.code) {
        require(*parsed.code != '\0');
        require_text(parsed.code, parsed.code_chars, size);
    }
    bool source = parse_is_source((const char *)data + 1, size - 1, options.language);
    require(source || size > 1);
    parse_deinit(&parsed);
    return 0;
}
