#include "cli/options.h"

#include "base/mem.h"

#include <string.h>

#define WIDTH_STANDARD 80
#define HELP_COLUMN 28
#define GAP 2

/* Appends `text` wrapped at `width` columns, the first line from column `at` on, the others
 * indented to `indent`. */
static void append_wrapped(struct buf *out, const char *text, int at, int indent, int width)
{
    int column = at;
    while (*text) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        if (length == 0)
            break;
        bool first = column == at && at <= indent;
        if (!first && column + 1 + (int)length > width) {
            buf_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            buf_puts(out, " ");
            column++;
        }
        at = -1;
        buf_append(out, text, length);
        column += (int)length;
        text += length;
    }
    buf_puts(out, "\n");
}

/* "  -j, --jobs N" */
static void print_left(const struct cli_option *option, struct buf *out)
{
    if (option->letter)
        buf_printf(out, "  -%c%s", option->letter, option->name ? ", " : "");
    else
        buf_puts(out, "      ");
    bool flag = option->kind == CLI_OPTION_FLAG || option->kind == CLI_OPTION_COUNT;
    bool on = option->kind == CLI_OPTION_FLAG && *(const bool *)option->value;
    if (option->name) /* a flag that is on can only be turned off */
        buf_printf(out, "--%s%s", on ? "[no-]" : "", option->name);
    if (!flag)
        buf_printf(out, " %s", option->placeholder ? option->placeholder : "VALUE");
}

static void print_row(const char *left, const char *help, int column, int width, struct buf *out)
{
    int used = (int)strlen(left);
    buf_puts(out, left);
    if (used + GAP > column) {
        buf_puts(out, "\n");
        used = 0;
    }
    buf_printf(out, "%*s", column - used, "");
    append_wrapped(out, help, column, column, width);
}

static void print_option(const struct cli_option *option, int width, struct buf *out)
{
    struct buf left, help;
    buf_init(&left, 200);
    buf_init(&help, 2000);
    print_left(option, &left);
    buf_puts(&help, option->help ? option->help : "");
    if (option->kind == CLI_OPTION_CHOICE) {
        buf_puts(&help, ":");
        for (const char *const *choice = option->choices; *choice; choice++)
            buf_printf(&help, "%s %s", choice == option->choices ? "" : ",", *choice);
    }
    print_row(left.data, help.data, HELP_COLUMN, width, out);
    buf_deinit(&left);
    buf_deinit(&help);
}

/* Keeps the line breaks of paragraphs whose lines begin with a space, and fills others. */
static void print_paragraphs(const char *text, int width, struct buf *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = mem_printf("%.*s", (int)length, text);
        if (line[0] == ' ' || line[0] == '\0')
            buf_printf(out, "%s\n", line);
        else
            append_wrapped(out, line, 0, 0, width);
        mem_free(line);
        text += length + (text[length] == '\n');
    }
}

/* Lines, indented; a final newline is optional. */
static void print_lines(const char *text, struct buf *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        buf_printf(out, "%s%.*s\n", length ? "  " : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

void options_help(const struct cli_command *command, const struct cli_option *options,
                  const char *program, int width, struct buf *out)
{
    width = width > HELP_COLUMN + 20 ? width : WIDTH_STANDARD;
    const char *arguments = command->arguments ? command->arguments : "";
    buf_printf(out, "Usage: %s %s [options]%s%s\n", program, command->name, *arguments ? " " : "",
               arguments);
    if (command->summary) {
        buf_puts(out, "\n");
        append_wrapped(out, command->summary, 0, 0, width);
    }
    if (command->description) {
        buf_puts(out, "\n");
        print_paragraphs(command->description, width, out);
    }
    if (options->kind != CLI_OPTION_GROUP)
        buf_puts(out, "\nOptions:\n");
    for (; options->kind != CLI_OPTION_END; options++) {
        if (options->kind == CLI_OPTION_GROUP)
            buf_printf(out, "\n%s:\n", options->name);
        else
            print_option(options, width, out);
    }
    print_row("  -h, --help", "show this help", HELP_COLUMN, width, out);
    if (command->examples) {
        buf_puts(out, "\nExamples:\n");
        print_lines(command->examples, out);
    }
}

static bool is_of_group(const struct cli_command *command, const char *group)
{
    size_t length = group ? strlen(group) : 0;
    return !group || (strncmp(command->name, group, length) == 0 && command->name[length] == ' ');
}

size_t options_overview(const struct cli_command *commands, const char *group, int width,
                        struct buf *out)
{
    width = width > HELP_COLUMN + 20 ? width : WIDTH_STANDARD;
    size_t longest = 0, count = 0;
    for (const struct cli_command *command = commands; command->name; command++)
        if (is_of_group(command, group) && strlen(command->name) > longest)
            longest = strlen(command->name);
    int column = (int)longest + 2 + GAP;
    for (const struct cli_command *command = commands; command->name; command++) {
        if (!is_of_group(command, group))
            continue;
        count++;
        char *left = mem_printf("  %s", command->name);
        print_row(left, command->summary ? command->summary : "", column, width, out);
        mem_free(left);
    }
    return count;
}
