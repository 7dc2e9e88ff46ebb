/* What a compiler prints is shaped by a stranger's source. The first byte picks whether the output
 * was cut; the rest is the output. Whatever it is, the result is bounded, printable, names no place
 * of ours, quotes no file of the machine, and does not depend on how the text ends. */
#include "base/mem.h"
#include "compile/diagnostics.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH "/s/cc"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const quoted[] = {"/usr", NULL};
    if (size == 0)
        return 0;
    struct diagnostics found;
    struct diagnostics_context context = {
        .source = "candidate.c",
        .scratch = SCRATCH,
        .root = "/opt/tools",
        .quoted = quoted,
        .cut = data[0] & 1,
    };
    diagnostics_init(&found, &context, (const char *)data + 1, size - 1);
    size_t length = strlen(found.text);
    require(length <= DIAGNOSTICS_TEXT_BYTES);
    require(length == 0 || found.text[length - 1] == '\n');
    require(!found.blames_source || found.error);
    require(!found.error || length > 0);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)found.text[i];
        require(byte >= ' ' || byte == '\n' || byte == '\t' || byte == DIAGNOSTICS_NAME[0]);
        require(byte != 0x7f);
    }
    char *named = diagnostics_named(found.text, "softmax.c");
    require(!strchr(named, DIAGNOSTICS_NAME[0]));
    mem_free(named);
    diagnostics_deinit(&found);
    return 0;
}
