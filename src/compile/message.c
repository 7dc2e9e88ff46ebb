#include "compile/message.h"

#include "base/array.h"
#include "base/printable.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

static const char ellipsis[] = "…";

bool message_parse_kind(const char *line, struct message *message)
{
    static const struct {
        const char *printed;
        const char *word;
        enum severity severity;
        bool assembler;
    } kinds[] = {
        {"error: ", "error", SEVERITY_ERROR, false},
        {"fatal error: ", "error", SEVERITY_ERROR, false},
        {"catastrophic error: ", "error", SEVERITY_ERROR, false},
        {"internal compiler error: ", "error: internal compiler error", SEVERITY_ERROR, false},
        {"sorry, unimplemented: ", "error: unimplemented", SEVERITY_ERROR, false},
        {"warning: ", "warning", SEVERITY_WARNING, false},
        {"note: ", "note", SEVERITY_NOTE, false},
        {"remark: ", "note", SEVERITY_NOTE, false},
        {"Error: ", "error", SEVERITY_ERROR, true},
        {"Fatal error: ", "error", SEVERITY_ERROR, true},
        {"Warning: ", "warning", SEVERITY_WARNING, true},
        {"Info: ", "note", SEVERITY_NOTE, true},
    };
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (text_starts_with(line, kinds[i].printed)) {
            message->word = kinds[i].word;
            message->severity = kinds[i].severity;
            message->assembler = kinds[i].assembler;
            message->text = line + strlen(kinds[i].printed);
            return true;
        }
    return false;
}

long message_parse_number(const char **at)
{
    long value = 0;
    const char *begin = *at;
    while (isdigit((unsigned char)**at) && *at - begin < 9)
        value = 10 * value + (*(*at)++ - '0');
    return *at == begin || isdigit((unsigned char)**at) ? -1 : value;
}

/* nvcc writes `warning #177-D: …`; the number means nothing outside it. */
static bool parse_kind_nvcc(const char *at, struct message *message)
{
    static const char *const plain[] = {"error: ", "warning: ", "remark: "};
    if (message_parse_kind(at, message))
        return true;
    for (size_t i = 0; i < COUNT(plain); i++) {
        size_t length = strlen(plain[i]) - 2;
        if (strncmp(at, plain[i], length) != 0 || !text_starts_with(at + length, " #"))
            continue;
        const char *text = strstr(at, ": ");
        if (!text || !message_parse_kind(plain[i], message))
            return false;
        message->text = text + 2;
        return true;
    }
    return false;
}

bool message_parse(const char *line, struct message *message)
{
    for (const char *at = line; *at; at++) {
        if (at == line || (*at != ':' && *at != '('))
            continue;
        const char *rest = at + 1;
        *message = (struct message){.file = line, .file_length = (size_t)(at - line)};
        message->line = message_parse_number(&rest);
        if (message->line < 0)
            continue;
        if (*at == '(') {
            if (text_starts_with(rest, "): ") && parse_kind_nvcc(rest + 3, message))
                return true;
            continue;
        }
        if (*rest == ':' && isdigit((unsigned char)rest[1])) {
            rest++;
            message->column = message_parse_number(&rest);
        }
        if (message->column >= 0 && text_starts_with(rest, ": ") &&
            message_parse_kind(rest + 2, message))
            return true;
    }
    return false;
}

/* Length of `directory` where the text begins with a path in it, else 0. */
static size_t path_prefix(const char *text, size_t length, const char *directory)
{
    size_t count = directory ? strlen(directory) : 0;
    bool there = count > 0 && length > count && text[count] == '/' &&
                 memcmp(text, directory, count) == 0;
    return there ? count : 0;
}

void message_clean(const char *line, size_t length, const char *scratch, const char *root,
                   char out[MESSAGE_LINE_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t hidden = path_prefix(line + i, length - i, scratch);
        if (hidden > 0) {
            i += hidden + 1;
            continue;
        }
        i += path_prefix(line + i, length - i, root);
        size_t known = line[i] == '\t' ? 1 : printable_sequence(line + i, length - i);
        size_t count = known ? known : 1;
        if (used + count + sizeof ellipsis > MESSAGE_LINE_BYTES) {
            memcpy(out + used, ellipsis, sizeof ellipsis - 1);
            used += sizeof ellipsis - 1;
            break;
        }
        memcpy(out + used, known ? line + i : "?", count);
        used += count;
        i += count;
    }
    out[used] = '\0';
}

/* gcc's and clang's: cc1A2b3C.o, candidate-1a2b3c.o; not crti.o. */
static bool is_temporary_object(const char *name, size_t length)
{
    return length > 4 && strncmp(name + length - 2, ".o", 2) == 0 &&
           (text_starts_with(name, "cc") || text_starts_with(name, "candidate"));
}

void message_cut_paths(const char *line, const char *name, char out[MESSAGE_LINE_BYTES])
{
    size_t used = 0;
    while (*line) {
        size_t length = strcspn(line, " \t'`\"():;,");
        size_t separator = line[length] != '\0';
        const char *slash = memrchr(line, '/', length);
        const char *shown = slash ? slash + 1 : line;
        size_t shown_length = length - (size_t)(shown - line);
        if (slash && is_temporary_object(shown, shown_length)) {
            shown = name;
            shown_length = strlen(name);
        }
        if (used + shown_length + separator >= MESSAGE_LINE_BYTES)
            break;
        memcpy(out + used, shown, shown_length);
        memcpy(out + used + shown_length, line + length, separator);
        used += shown_length + separator;
        line += length + separator;
    }
    out[used] = '\0';
}

void message_normalise(const char *path, size_t length, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t end = i + 1;
        while (end < length && path[end] != '/')
            end++;
        size_t count = end - i;
        bool same = count == 1 || (count == 2 && path[i + 1] == '.');
        bool up = count == 3 && path[i + 1] == '.' && path[i + 2] == '.';
        while (up && used > 0 && out[--used] != '/')
            continue;
        if (!same && !up && used + count < out_bytes) {
            memcpy(out + used, path + i, count);
            used += count;
        }
        i = end;
    }
    out[used] = '\0';
}
