#include "sandbox/words.h"

#include <stddef.h>
#include <string.h>

static int pack_words(struct words *words, const char *const *strings, uint32_t *count)
{
    for (; strings && *strings; strings++, (*count)++) {
        size_t bytes = strlen(*strings) + 1;
        if (words->bytes + bytes > sizeof words->text || *count >= WORDS_MAX - 1)
            return -1;
        memcpy(words->text + words->bytes, *strings, bytes);
        words->bytes += (uint32_t)bytes;
    }
    return 0;
}

int words_pack(struct words *words, const char *const *argv, const char *const *environment,
               struct err *err)
{
    words->argument_count = words->environment_count = words->bytes = 0;
    if (pack_words(words, argv, &words->argument_count) == 0 &&
        pack_words(words, environment, &words->environment_count) == 0)
        return 0;
    return err_set(err, ERR_LIMIT, "%s: too many or too long arguments", argv[0]);
}

static void unpack_words(char **at, char **strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        strings[i] = *at;
        *at += strlen(*at) + 1;
    }
    strings[count] = NULL;
}

bool words_unpack(struct words *words, char *argv[WORDS_MAX], char *environment[WORDS_MAX])
{
    char *at = words->text;
    unpack_words(&at, argv, words->argument_count);
    unpack_words(&at, environment, words->environment_count);
    return argv[0] != NULL;
}
