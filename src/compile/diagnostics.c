#include "compile/diagnostics.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "compile/message.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GROUP_LINES 16 /* of one message with its source lines and notes */
#define GROUPS 64      /* messages of one severity */
#define FUNCTION_BYTES 128
#define LAST_LINE_BYTES 128
#define LEFT_BEHIND 4 /* lines of programs that outlive the driver */

/* One message and the lines that belong to it. */
struct group {
    struct buf text;
    int lines;
    int included_at;                  /* line of the source whose #include led to it; 0: none */
    char required_at[FUNCTION_BYTES]; /* place in the source whose template led to it */
};

struct distiller {
    const struct diagnostics_context *context;
    struct diagnostics *result;
    struct group groups[SEVERITY_COUNT][GROUPS];
    size_t counts[SEVERITY_COUNT];
    size_t left_out;
    struct group *current;            /* NULL: what follows belongs to nothing that is shown */
    bool skipping;                    /* the next quotation belongs to a note that is not shown */
    int included_at;                  /* that leads to where messages come from now */
    char required_at[FUNCTION_BYTES]; /* likewise */
    char function[FUNCTION_BYTES];    /* that the linker named last */
    char last_resort[MESSAGE_LINE_BYTES]; /* the first line that nothing else was made of */
    unsigned lines_since;                 /* one that says that a program was killed */
};

/* Whether messages about this file may repeat what it holds. A relative name is the source's own
 * invention (`#line`), or lies in scratch, where nothing else is. */
static bool may_quote(const struct diagnostics_context *context, const struct message *message)
{
    char path[PATH_MAX];
    if (message->file[0] != '/')
        return memmem(message->file, message->file_length, "..", 2) == NULL;
    message_normalise(message->file, message->file_length, path, sizeof path);
    for (const char *const *at = context->quoted; at && *at; at++) {
        size_t length = strlen(*at);
        if (strncmp(path, *at, length) == 0 && path[length] == '/')
            return true;
    }
    return false;
}

static bool is_source(const struct diagnostics_context *context, const struct message *message)
{
    return strlen(context->source) == message->file_length &&
           memcmp(message->file, context->source, message->file_length) == 0;
}

static void add_line(struct group *group, const char *text)
{
    if (++group->lines > GROUP_LINES)
        return;
    buf_puts(&group->text, text);
    buf_append(&group->text, "\n", 1);
}

/* Begins a message, unless the same one is there already: a linker repeats itself at every use. */
static void begin_group(struct distiller *distiller, enum severity severity, const char *text)
{
    size_t count = distiller->counts[severity];
    size_t length = strlen(text);
    distiller->current = NULL;
    distiller->skipping = false;
    if (severity == SEVERITY_ERROR)
        distiller->result->error = true;
    for (size_t i = 0; i < count; i++) {
        const struct buf *other = &distiller->groups[severity][i].text;
        if (strncmp(other->data, text, length) == 0 && other->data[length] == '\n')
            return;
    }
    if (count == GROUPS) {
        distiller->left_out++;
        return;
    }
    struct group *group = &distiller->groups[severity][count];
    distiller->counts[severity]++;
    buf_init(&group->text, (size_t)GROUP_LINES * 2 * MESSAGE_LINE_BYTES);
    distiller->current = group;
    add_line(group, text);
}

/* A message as it is shown. The caller's. */
static char *render_message(const struct distiller *distiller, const struct message *message)
{
    const char *tool = message->assembler ? "assembler: " : "";
    bool own = is_source(distiller->context, message);
    if (message->assembler && !own) /* a place in what the compiler made of the source */
        return mem_printf("%s: %s: %s%s", DIAGNOSTICS_NAME, message->word, tool, message->text);
    if (!may_quote(distiller->context, message) && distiller->included_at > 0)
        return mem_printf("%s:%d: %s: the file that is included here does not compile",
                          DIAGNOSTICS_NAME, distiller->included_at, message->word);
    if (!may_quote(distiller->context, message))
        return mem_printf("%s: %s: about a file that is not part of the source", DIAGNOSTICS_NAME,
                          message->word);
    const char *file = own ? DIAGNOSTICS_NAME : message->file;
    int length = own ? (int)strlen(DIAGNOSTICS_NAME) : (int)message->file_length;
    char place[48] = "";
    if (message->column > 0)
        snprintf(place, sizeof place, ":%ld:%ld", message->line, message->column);
    else if (message->line > 0)
        snprintf(place, sizeof place, ":%ld", message->line);
    return mem_printf("%.*s%s: %s: %s%s", length, file, place, message->word, tool, message->text);
}

/* `text` is NULL where the note is about a file that is not to be shown. */
static void take_note(struct distiller *distiller, const struct message *message, const char *text)
{
    /* `#pragma message` starts a message, though gcc calls it a note. */
    if (text && strstr(message->text, "#pragma message")) {
        begin_group(distiller, SEVERITY_NOTE, text);
        return;
    }
    struct group *group = distiller->current;
    distiller->skipping = !text || strstr(message->text, "reported only once for each function") ||
                          (group && strstr(group->text.data, text));
    if (group && !distiller->skipping)
        add_line(group, text);
}

/* Where in the source the current message comes from, which is about a header. */
static void locate_group(struct distiller *distiller)
{
    struct group *group = distiller->current;
    group->included_at = distiller->included_at;
    memcpy(group->required_at, distiller->required_at, sizeof group->required_at);
}

static void forget_hints(struct diagnostics *result)
{
    result->out_of_memory = result->too_large = false;
}

static void take_message(struct distiller *distiller, const struct message *message)
{
    char *text = render_message(distiller, message);
    bool shown = message->assembler || may_quote(distiller->context, message);
    if (message->severity == SEVERITY_NOTE) {
        take_note(distiller, message, shown ? text : NULL);
    } else {
        begin_group(distiller, message->severity, text);
        if (distiller->current && shown && !is_source(distiller->context, message))
            locate_group(distiller);
        if (!shown)
            distiller->current = NULL; /* the lines that follow quote it */
    }
    if (message->severity == SEVERITY_ERROR) {
        /* A toolchain header that fails by itself is not the source's fault. */
        distiller->result->blames_source |= distiller->included_at > 0 || message->assembler ||
                                            message->file[0] != '/' || !shown;
        distiller->result->blames_tools |= strstr(message->text, "No such file") ||
                                           strstr(message->text, "file not found");
    }
    /* The compiler prints the include chain of a header once for all of its messages. */
    if (message->severity != SEVERITY_NOTE && is_source(distiller->context, message))
        distiller->included_at = 0;
    mem_free(text);
}

/* `In file included from candidate.c:3:`, and the lines that lead further out. */
static bool take_include(struct distiller *distiller, const char *line)
{
    static const char first[] = "In file included from ";
    static const char further[] = "                 from ";
    const char *at = NULL;
    if (text_starts_with(line, first)) {
        distiller->included_at = 0;
        at = line + strlen(first);
    } else if (text_starts_with(line, further)) {
        at = line + strlen(further);
    }
    if (!at)
        return false;
    distiller->current = NULL;
    size_t length = strlen(distiller->context->source);
    if (strncmp(at, distiller->context->source, length) == 0 && at[length] == ':') {
        at += length + 1;
        long number = message_parse_number(&at);
        distiller->included_at = number > 0 ? (int)number : 0;
    }
    return true;
}

/* gcc's lines before a message about a template: `FILE: In instantiation of '…':`, then whose use
 * led to it, `FILE:LINE:COLUMN:   required from …`, the outermost last. */
static bool take_instantiation(struct distiller *distiller, const char *line)
{
    const char *required = strstr(line, ":   required from ");
    const char *place = line + strlen(distiller->context->source);
    bool begins = strstr(line, ": In ") && line[strlen(line) - 1] == ':';
    if (isspace((unsigned char)line[0]) ||
        (!required && !begins && !strstr(line, ":   in 'constexpr' expansion of ") &&
         !strstr(line, ":   [ skipping ")))
        return false;
    distiller->current = NULL;
    if (begins)
        distiller->required_at[0] = '\0';
    else if (required && text_starts_with(line, distiller->context->source) &&
             strspn(place, ":0123456789") == (size_t)(required - place) + 1)
        snprintf(distiller->required_at, sizeof distiller->required_at, "%.*s",
                 (int)(required - place), place);
    return true;
}

static bool is_chatter(const char *line)
{
    static const char *const beginnings[] = {
        "compilation terminated",
        "Compilation terminated",
        "Please submit",
        "Please include",
        "See <",
        "with preprocessed source",
        "Preprocessed source stored",
        "Remark: The warnings can be suppressed",
        "In function '",
        "    inlined from ",
        "cc1: some warnings being treated as errors",
        "cc1: all warnings being treated as errors",
        "cc1plus: some warnings being treated as errors",
        "cc1plus: all warnings being treated as errors",
        "collect2: error: ld returned",
        "0x",
        "\t../",
    };
    static const char *const parts[] = {
        ": At top level:",
        ": In function `",
        "Assembler messages:",
        "error: linker command failed",
        "detected in the compilation of",
        "ptxas fatal   : Ptx assembly aborted",
    };
    if (line[0] == '\0')
        return true;
    for (size_t i = 0; i < COUNT(beginnings); i++)
        if (text_starts_with(line, beginnings[i]))
            return true;
    if (isspace((unsigned char)line[0]))
        return false;
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(line, parts[i]))
            return true;
    return isdigit((unsigned char)line[0]) && strstr(line, " generated.");
}

static void linker_error(struct distiller *distiller, const char *message)
{
    char clean[MESSAGE_LINE_BYTES];
    message_cut_paths(message, DIAGNOSTICS_NAME, clean);
    const char *text = clean;
    if (text_starts_with(text, DIAGNOSTICS_NAME ": "))
        text += strlen(DIAGNOSTICS_NAME ": ");
    const char *function = distiller->function;
    char *shown = mem_printf("%s: error: %s%s%s%s", DIAGNOSTICS_NAME, text,
                             *function ? " in function '" : "", function, *function ? "'" : "");
    begin_group(distiller, SEVERITY_ERROR, shown);
    mem_free(shown);
    forget_hints(distiller->result);
    bool own = strstr(message, "undefined reference") || strstr(message, "multiple definition");
    distiller->result->blames_source |= own;
    distiller->result->blames_tools |= !own;
    distiller->current = NULL;
}

static void set_function(struct distiller *distiller, const char *name, size_t length)
{
    snprintf(distiller->function, sizeof distiller->function, "%.*s",
             (int)(length < FUNCTION_BYTES ? length : FUNCTION_BYTES - 1), name);
}

/* GNU ld, gold and lld: what cannot be put together. */
static bool take_linker(struct distiller *distiller, const char *line)
{
    const char *function = strstr(line, ": in function `");
    if (function) {
        function += strlen(": in function `");
        set_function(distiller, function, strcspn(function, "'"));
        distiller->current = NULL;
        return true;
    }
    const char *message = strstr(line, "undefined reference to ");
    if (message && !isspace((unsigned char)line[0])) {
        function = strstr(line, ":function ");
        if (function && function < message) {
            function += strlen(":function ");
            set_function(distiller, function, strcspn(function, ":"));
        }
        linker_error(distiller, message);
        return true;
    }
    distiller->function[0] = '\0';
    bool linker = text_starts_with(line, "/") || text_starts_with(line, "ld") ||
                  text_starts_with(line, "./cc");
    message = linker ? strstr(line, ": ") : NULL;
    if (!message)
        return false;
    const char *error = strstr(line, "error: ");
    if (error)
        linker_error(distiller, error + strlen("error: "));
    else if (!strstr(line, "previous definition here") && !strstr(line, "first defined here") &&
             !strstr(line, "warning: "))
        linker_error(distiller, message + 2);
    return true;
}

static bool take_ptxas(struct distiller *distiller, const char *line)
{
    if (!text_starts_with(line, "ptxas "))
        return false;
    const char *colon = strstr(line, " : ");
    if (!colon)
        return true;
    bool error = memmem(line, (size_t)(colon - line), "error", 5) ||
                 text_starts_with(line, "ptxas fat");
    char *text = mem_printf("%s: %s: ptxas: %s", DIAGNOSTICS_NAME, error ? "error" : "warning",
                            colon + 3);
    begin_group(distiller, error ? SEVERITY_ERROR : SEVERITY_WARNING, text);
    mem_free(text);
    distiller->result->blames_source |= error && strstr(line, ", line ");
    return true;
}

/* `cc1: error: …`, `gcc-12: fatal error: …`: the compiler about itself or its command line. */
static bool take_tool(struct distiller *distiller, const char *line)
{
    struct message message = {0};
    char clean[MESSAGE_LINE_BYTES];
    const char *colon = strstr(line, ": ");
    if (!colon || memchr(line, ' ', (size_t)(colon - line)) ||
        !message_parse_kind(colon + 2, &message))
        return false;
    message_cut_paths(message.text, DIAGNOSTICS_NAME, clean);
    const char *slash = memrchr(line, '/', (size_t)(colon - line));
    const char *tool = slash ? slash + 1 : line;
    char *text = mem_printf("%s: %s: %.*s: %s", DIAGNOSTICS_NAME, message.word, (int)(colon - tool),
                            tool, clean);
    begin_group(distiller, message.severity, text);
    mem_free(text);
    distiller->result->blames_tools |= message.severity == SEVERITY_ERROR;
    return true;
}

/* Words with which a tool ends that met a bound, in lines that are not about a place in a file. The
 * source can have such a line printed, too (gas's `.print`), but then it is not the end: the build
 * fails by an error about the source, or by the linker's behind it (forget_hints). */
static void take_hints(struct diagnostics *result, const char *line)
{
    static const char *const memory[] = {"out of memory", "Out of memory", "memory exhausted",
                                         "std::bad_alloc", "Cannot allocate memory"};
    static const char *const size[] = {"File size limit exceeded", "File too large"};
    for (size_t i = 0; i < COUNT(memory); i++)
        result->out_of_memory |= strstr(line, memory[i]) != NULL;
    for (size_t i = 0; i < COUNT(size); i++)
        result->too_large |= strstr(line, size[i]) != NULL;
}

/* A compiler driver that says that a program of it was killed ends with that: a few lines of what
 * it leaves behind may follow, not the ordinary end of a link. What looks so before may be the
 * source's words: gas prints them (`.print`), and ld a symbol's name with line ends in it. */
static void take_end(struct distiller *distiller, const char *line)
{
    static const char *const killed[] = {"Killed signal terminated program", "(Kill signal)",
                                         "terminated with signal 9 ",
                                         "unable to execute command: Killed"};
    static const char *const linked[] = {"collect2: error: ld returned ",
                                         "linker command failed with exit code "};
    bool *found = &distiller->result->killed, ended = ++distiller->lines_since > LEFT_BEHIND;
    for (size_t i = 0; i < COUNT(linked); i++)
        ended |= strstr(line, linked[i]) != NULL;
    *found = *found && !ended;
    for (size_t i = 0; i < COUNT(killed); i++)
        if (strstr(line, killed[i])) {
            *found = true;
            distiller->lines_since = 0;
        }
}

/* A line that is not about a place in a file. */
static void take_other(struct distiller *distiller, const char *line)
{
    bool indented = isspace((unsigned char)line[0]);
    if (is_chatter(line) || (indented && (distiller->skipping || !distiller->current)))
        return;
    if (indented) {
        add_line(distiller->current, line);
        return;
    }
    if (take_linker(distiller, line) || take_ptxas(distiller, line) || take_tool(distiller, line))
        return;
    if (distiller->current)
        add_line(distiller->current, line); /* clang quotes without a margin */
    else if (!distiller->last_resort[0])
        message_cut_paths(line, DIAGNOSTICS_NAME, distiller->last_resort);
}

static void take_line(struct distiller *distiller, const char *line)
{
    take_end(distiller, line);
    struct message message;
    if (take_include(distiller, line) || take_instantiation(distiller, line))
        return;
    if (message_parse(line, &message)) {
        distiller->function[0] = '\0';
        take_message(distiller, &message);
        return;
    }
    take_other(distiller, line);
    if (!isspace((unsigned char)line[0]))
        take_hints(distiller->result, line);
}

static void close_group(struct group *group)
{
    if (group->required_at[0])
        buf_printf(&group->text, "%s%s: note: required from here\n", DIAGNOSTICS_NAME,
                   group->required_at);
    else if (group->included_at > 0)
        buf_printf(&group->text, "%s:%d: note: included from here\n", DIAGNOSTICS_NAME,
                   group->included_at);
}

/* Errors, then warnings, then notes. A message is shown whole or not at all. */
static void compose_text(struct distiller *distiller)
{
    struct buf text;
    struct diagnostics *result = distiller->result;
    buf_init(&text, DIAGNOSTICS_TEXT_BYTES);
    for (int severity = 0; severity < SEVERITY_COUNT; severity++)
        for (size_t i = 0; i < distiller->counts[severity]; i++) {
            struct group *group = &distiller->groups[severity][i];
            close_group(group);
            if (text.len + group->text.len <= DIAGNOSTICS_TEXT_BYTES - LAST_LINE_BYTES)
                buf_append(&text, group->text.data, group->text.len);
            else
                distiller->left_out++;
            buf_deinit(&group->text);
        }
    if (distiller->left_out > 0)
        buf_printf(&text, "%s: note: messages left out here: %zu\n", DIAGNOSTICS_NAME,
                   distiller->left_out);
    else if (distiller->context->cut)
        buf_printf(&text, "%s: note: the compiler printed more than is kept\n", DIAGNOSTICS_NAME);
    if (text.len == 0 && distiller->last_resort[0])
        buf_printf(&text, "%s: note: the compiler said: %s\n", DIAGNOSTICS_NAME,
                   distiller->last_resort);
    result->text = buf_take(&text);
}

void diagnostics_init(struct diagnostics *diagnostics, const struct diagnostics_context *context,
                      const char *output, size_t output_bytes)
{
    struct distiller *distiller = mem_alloc(sizeof *distiller);
    *diagnostics = (struct diagnostics){0};
    distiller->context = context;
    distiller->result = diagnostics;
    const char *end = output + output_bytes;
    while (output < end) {
        char line[MESSAGE_LINE_BYTES];
        const char *newline = memchr(output, '\n', (size_t)(end - output));
        size_t length = (size_t)((newline ? newline : end) - output);
        if (newline || !context->cut) { /* the last line of cut output is a torn one */
            message_clean(output, length, context->scratch, context->root, line);
            take_line(distiller, line);
        }
        output += length + (newline != NULL);
    }
    if (diagnostics->blames_source)
        forget_hints(diagnostics);
    compose_text(distiller);
    mem_free(distiller);
}

void diagnostics_deinit(struct diagnostics *diagnostics)
{
    mem_free(diagnostics->text);
    *diagnostics = (struct diagnostics){0};
}

char *diagnostics_named(const char *text, const char *name)
{
    struct buf named;
    buf_init(&named, SIZE_MAX / 2);
    for (;;) {
        size_t length = strcspn(text, DIAGNOSTICS_NAME);
        buf_append(&named, text, length);
        if (text[length] == '\0')
            return buf_take(&named);
        buf_puts(&named, name);
        text += length + 1;
    }
}
