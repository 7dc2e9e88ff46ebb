/* manual: pages for man(1), from the tables of commands and options. */
#include "cli/cli.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"

#include <string.h>

#define PAGE_BYTES ((size_t)256 << 10)

struct manual {
    const char *wanted; /* a command; NULL: each of them */
    const char *folder; /* where a file for each goes; NULL: the call's output */
    struct buf *out;
    struct err *err;
    int result;
    bool found;
};

/* As roff prints it: no escape, no request at a line's beginning, and ASCII. */
static void put_text(const char *text, struct buf *out)
{
    static const struct {
        const char *text, *roff;
    } others[] = {{"\\", "\\e"}, {"-", "\\-"}, {"…", "..."}, {"–", "\\[en]"}, {"µ", "u"}};
    if (*text == '.' || *text == '\'')
        buf_puts(out, "\\&");
    while (*text) {
        size_t i = 0;
        while (i < COUNT(others) && strncmp(text, others[i].text, strlen(others[i].text)) != 0)
            i++;
        size_t length = i < COUNT(others) ? strlen(others[i].text) : 1;
        buf_append(out, i < COUNT(others) ? others[i].roff : text,
                   i < COUNT(others) ? strlen(others[i].roff) : 1);
        text += length;
    }
}

static void put_line(const char *text, size_t length, struct buf *out)
{
    char *line = mem_printf("%.*s", (int)length, text);
    put_text(line, out);
    buf_puts(out, "\n");
    mem_free(line);
}

/* Paragraphs; lines that begin with a space stay as they are. */
static void put_paragraphs(const char *text, struct buf *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length == 0)
            buf_puts(out, ".PP\n");
        else if (*text == ' ')
            buf_puts(out, ".br\n");
        if (length > 0)
            put_line(text, length, out);
        text += length + (text[length] == '\n');
    }
}

static void put_lines(const char *text, struct buf *out)
{
    buf_puts(out, ".nf\n");
    while (*text) {
        size_t length = strcspn(text, "\n");
        put_line(text, length, out);
        text += length + (text[length] == '\n');
    }
    buf_puts(out, ".fi\n");
}

/* "eval" is the page warpgym-eval(1), "problem check" warpgym-problem-check(1). */
static char *page_of(const char *command)
{
    char *name = mem_printf("warpgym%s%s", *command ? "-" : "", command);
    for (char *at = name; *at; at++)
        if (*at == ' ')
            *at = '-';
    return name;
}

static void put_head(const char *page, const char *command, const char *summary, struct buf *out)
{
    buf_printf(out, ".TH \"%s\" 1 \"\" \"warpgym " WARPGYM_VERSION "\"\n.SH NAME\n", page);
    put_text(page, out);
    buf_puts(out, " \\- ");
    put_text(summary, out);
    buf_printf(out, "\n.SH SYNOPSIS\n.B warpgym%s%s\n", *command ? " " : "", command);
}

static void put_option(const struct cli_option *option, struct buf *out)
{
    bool on = option->kind == CLI_OPTION_FLAG && *(const bool *)option->value;
    buf_puts(out, ".TP\n.B ");
    if (option->letter)
        buf_printf(out, "\\-%c%s", option->letter, option->name ? ", " : "");
    if (option->name)
        buf_printf(out, "\\-\\-%s", on ? "[no\\-]" : "");
    put_text(option->name ? option->name : "", out);
    if (options_takes_value(option)) {
        buf_puts(out, " \\fI");
        put_text(option->placeholder ? option->placeholder : "VALUE", out);
        buf_puts(out, "\\fR");
    }
    buf_puts(out, "\n");
    put_text(option->help ? option->help : "", out);
    if (option->kind == CLI_OPTION_CHOICE) {
        buf_puts(out, ": ");
        options_put_choices(option, ", ", out);
    }
    buf_puts(out, "\n");
}

static void put_options(const struct cli_option *options, struct buf *out)
{
    buf_puts(out, ".SH OPTIONS\n");
    for (; options->kind != CLI_OPTION_END; options++) {
        if (options->kind == CLI_OPTION_GROUP)
            buf_printf(out, ".SS %s\n", options->name);
        else
            put_option(options, out);
    }
    buf_puts(out, ".TP\n.B \\-h, \\-\\-help\nshow this help\n");
}

/* A page that is done: into its file, or behind the others. */
static void finish(struct manual *manual, const char *page, const struct buf *text)
{
    if (!manual->folder) {
        buf_append(manual->out, text->data, text->len);
        return;
    }
    char *path = mem_printf("%s/%s.1", manual->folder, page);
    manual->result = file_write_atomic(path, text->data, text->len, 0644, manual->err);
    mem_free(path);
}

static void put_command(const struct cli_command *command, const struct cli_option *options,
                        void *context)
{
    struct manual *manual = context;
    if (manual->result < 0 || (manual->wanted && strcmp(manual->wanted, command->name) != 0))
        return;
    manual->found = true;
    struct buf text;
    buf_init(&text, PAGE_BYTES);
    char *page = page_of(command->name);
    put_head(page, command->name, command->summary, &text);
    buf_puts(&text, "[\\fIoptions\\fR] ");
    put_text(command->arguments ? command->arguments : "", &text);
    buf_puts(&text, "\n");
    if (command->description) {
        buf_puts(&text, ".SH DESCRIPTION\n");
        put_paragraphs(command->description, &text);
    }
    put_options(options, &text);
    if (command->examples) {
        buf_puts(&text, ".SH EXAMPLES\n");
        put_lines(command->examples, &text);
    }
    buf_puts(&text, ".SH SEE ALSO\n.BR warpgym (1)\n");
    finish(manual, page, &text);
    mem_free(page);
    buf_deinit(&text);
}

static void put_overview(struct manual *manual)
{
    struct buf text;
    buf_init(&text, PAGE_BYTES);
    put_head("warpgym", "", "judge compute kernels that models wrote, and train models on that",
             &text);
    buf_puts(&text, "\\fIcommand\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n.SH COMMANDS\n");
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        if (command->heading)
            buf_printf(&text, ".SS %s\n", command->heading);
        char *page = page_of(command->name);
        buf_puts(&text, ".TP\n.BR ");
        put_text(page, &text);
        buf_puts(&text, " (1)\n");
        put_text(command->summary, &text);
        buf_puts(&text, "\n");
        mem_free(page);
    }
    finish(manual, "warpgym", &text);
    buf_deinit(&text);
}

static int man_run(struct cli_call *call, void *context, struct err *err)
{
    const char *folder = *(const char **)context;
    const struct cli_words *words = &call->words;
    char *wanted = words->count == 2   ? mem_printf("%s %s", words->items[0], words->items[1])
                   : words->count == 1 ? mem_strdup(words->items[0])
                                       : NULL;
    struct manual manual = {.wanted = wanted, .folder = folder, .out = &call->out, .err = err};
    if (folder)
        manual.result = file_make_directories(folder, 0755, err);
    if (manual.result == 0 && !wanted)
        put_overview(&manual);
    if (manual.result == 0 && (wanted || folder))
        cli_each_command(put_command, &manual);
    if (manual.result == 0 && wanted && !manual.found)
        manual.result = err_set(err, ERR_INPUT, "%.100s: there is no such command", wanted);
    mem_free(wanted);
    return manual.result;
}

int man_main(struct cli_call *call)
{
    const char *folder = NULL;
    const struct cli_option options[] = {
        OPTION_STRING('o', "out", &folder, "DIR", "write a file for each page there"),
        OPTION_END,
    };
    return cli_run(call, options, man_run, &folder);
}
