#include "cli/options.h"

#include "base/mem.h"

#include <string.h>

#define WIDTH_STANDARD 80
#define HELP_COLUMN 28
#define GAP 2
#define GROUPS_COLUMN 14

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

bool options_takes_value(const struct cli_option *option)
{
    return option->kind != CLI_OPTION_FLAG && option->kind != CLI_OPTION_COUNT;
}

void options_put_choices(const struct cli_option *option, const char *between, struct buf *out)
{
    for (const char *const *choice = option->choices; *choice; choice++)
        buf_printf(out, "%s%s", choice == option->choices ? "" : between, *choice);
}

/* "  -j, --jobs N" */
static void print_left(const struct cli_option *option, struct buf *out)
{
    if (option->letter)
        buf_printf(out, "  -%c%s", option->letter, option->name ? ", " : "");
    else
        buf_puts(out, "      ");
    bool on = option->kind == CLI_OPTION_FLAG && *(const bool *)option->value;
    if (option->name) /* a flag that is on can only be turned off */
        buf_printf(out, "--%s%s", on ? "[no-]" : "", option->name);
    if (options_takes_value(option))
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
        buf_puts(&help, ": ");
        options_put_choices(option, ", ", &help);
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

bool options_is_of(const struct cli_command *command, const char *family)
{
    size_t length = strlen(family);
    return strncmp(command->name, family, length) == 0 && command->name[length] == ' ';
}

static void print_command(const char *name, const char *summary, int column, int width,
                          struct buf *out)
{
    char *left = mem_printf("  %s", name);
    print_row(left, summary ? summary : "", column, width, out);
    mem_free(left);
}

size_t options_overview(const struct cli_command *commands, const char *family, int width,
                        struct buf *out)
{
    width = width > HELP_COLUMN + 20 ? width : WIDTH_STANDARD;
    size_t longest = 0, count = 0;
    for (const struct cli_command *command = commands; command->name; command++)
        if ((!family || options_is_of(command, family)) && strlen(command->name) > longest)
            longest = strlen(command->name);
    int column = (int)longest + 2 + GAP;
    for (const struct cli_command *command = commands; command->name; command++) {
        if (family && !options_is_of(command, family))
            continue;
        count++;
        print_command(command->name, command->summary, column, width, out);
    }
    return count;
}

static const struct cli_family *family_of(const struct cli_family *families,
                                          const struct cli_command *command)
{
    while (families->name && !options_is_of(command, families->name))
        families++;
    return families->name ? families : NULL;
}

/* "problems: list, show, new, check", of the commands from `first` on. */
static void print_family(const struct cli_family *family, const struct cli_command *first,
                         int column, int width, struct buf *out)
{
    struct buf text;
    buf_init(&text, 1000);
    buf_printf(&text, "%s:", family->summary);
    const char *between = "";
    for (; first->name; first++) {
        if (!options_is_of(first, family->name))
            continue;
        buf_printf(&text, "%s %s", between, first->name + strlen(family->name) + 1);
        between = ",";
    }
    print_command(family->name, text.data, column, width, out);
    buf_deinit(&text);
}

void options_groups(const struct cli_command *commands, const struct cli_family *families,
                    int width, struct buf *out)
{
    width = width > HELP_COLUMN + 20 ? width : WIDTH_STANDARD;
    const struct cli_family *last = NULL;
    for (const struct cli_command *command = commands; command->name; command++) {
        const struct cli_family *family = family_of(families, command);
        if (command->heading)
            buf_printf(out, "%s%s:\n", command == commands ? "" : "\n", command->heading);
        if (!family)
            print_command(command->name, command->summary, GROUPS_COLUMN, width, out);
        else if (family != last)
            print_family(family, command, GROUPS_COLUMN, width, out);
        last = family;
    }
}
