/* completion: what shells complete, from the tables of commands and options.
 *
 * Each shell has a writer of its own. A command states its options in its `main`, so each main is
 * called with a visitor: cli_run then hands over the options and does no work. */
#include "cli/cli.h"

#include <string.h>

struct shell {
    const char *name;
    void (*begin)(struct buf *out); /* up to the options of commands */
    cli_visit *command;             /* context: the struct buf */
    void (*end)(struct buf *out);
};

static bool is_option(const struct cli_option *option)
{
    return option->kind != CLI_OPTION_GROUP;
}

static bool is_directory(const struct cli_option *option)
{
    return strcmp(option->placeholder ? option->placeholder : "", "DIR") == 0;
}

static const char *last_word(const struct cli_command *command)
{
    const char *space = strchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Text of a quoted word: `special` characters get a backslash, a quote ends and begins it. */
static void put_quoted(const char *text, const char *special, const char *quote, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_puts(out, quote);
        else
            buf_printf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* Commands of one word, and families; `row` is called for each. */
static void each_first_word(void (*row)(const char *name, const char *summary, struct buf *out),
                            struct buf *out)
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (last_word(command) == command->name)
            row(command->name, command->summary, out);
    for (const struct cli_family *family = cli_families; family->name; family++)
        row(family->name, family->summary, out);
}

static void each_of_family(const struct cli_family *family,
                           void (*row)(const char *name, const char *summary, struct buf *out),
                           struct buf *out)
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (options_is_of(command, family->name))
            row(last_word(command), command->summary, out);
}

/* --- bash ------------------------------------------------------------------------------------ */

static void bash_word(const char *name, const char *summary, struct buf *out)
{
    (void)summary;
    buf_printf(out, " %s", name);
}

static void bash_begin(struct buf *out)
{
    buf_puts(out, "_warpgym() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local command=${COMP_WORDS[1]} options= values=\n"
                  "    COMPREPLY=()\n"
                  "    if [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' ]]; then\n"
                  "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                  "    fi\n"
                  "    if ((COMP_CWORD == 1)); then\n"
                  "        COMPREPLY=($(compgen -W '");
    each_first_word(bash_word, out);
    buf_puts(out, " --help --version' -- \"$cur\"))\n"
                  "        return\n"
                  "    fi\n"
                  "    case $command in\n");
    for (const struct cli_family *family = cli_families; family->name; family++) {
        buf_printf(out, "    %s) values='", family->name);
        each_of_family(family, bash_word, out);
        buf_puts(out, "' ;;\n");
    }
    buf_puts(out, "    esac\n"
                  "    if [[ -n $values ]]; then\n"
                  "        if ((COMP_CWORD == 2)); then\n"
                  "            COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
                  "            return\n"
                  "        fi\n"
                  "        command+=\" ${COMP_WORDS[2]}\" values=\n"
                  "    fi\n"
                  "    case $command in\n");
}

static void bash_command(const struct cli_command *command, const struct cli_option *options,
                         void *context)
{
    struct buf *out = context;
    buf_printf(out, "    '%s')\n        options='-h --help", command->name);
    for (const struct cli_option *option = options; option->kind != CLI_OPTION_END; option++) {
        if (is_option(option) && option->letter)
            buf_printf(out, " -%c", option->letter);
        if (is_option(option) && option->name)
            buf_printf(out, " --%s", option->name);
    }
    buf_puts(out, "'\n        case $prev in\n");
    for (const struct cli_option *option = options; option->kind != CLI_OPTION_END; option++) {
        if (option->kind != CLI_OPTION_CHOICE)
            continue;
        if (option->letter)
            buf_printf(out, "        -%c|--%s) values='", option->letter, option->name);
        else
            buf_printf(out, "        --%s) values='", option->name);
        options_put_choices(option, " ", out);
        buf_puts(out, "' ;;\n");
    }
    buf_puts(out, "        esac\n        ;;\n");
}

static void bash_end(struct buf *out)
{
    buf_puts(out, "    esac\n"
                  "    if [[ -n $values ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
                  "    elif [[ $cur == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -o default -F _warpgym warpgym\n");
}

/* --- zsh ------------------------------------------------------------------------------------- */

static void zsh_word(const char *name, const char *summary, struct buf *out)
{
    buf_printf(out, "            '%s:", name);
    put_quoted(summary, "", "'\\''", out);
    buf_puts(out, "'\n");
}

static void zsh_begin(struct buf *out)
{
    buf_puts(out, "#compdef warpgym\n"
                  "_warpgym() {\n"
                  "    local -a commands\n"
                  "    local command=$words[2]\n"
                  "    if ((CURRENT == 2)); then\n"
                  "        commands=(\n");
    each_first_word(zsh_word, out);
    buf_puts(out, "        )\n"
                  "        _describe command commands\n"
                  "        return\n"
                  "    fi\n"
                  "    case $command in\n");
    for (const struct cli_family *family = cli_families; family->name; family++) {
        buf_printf(out, "    %s)\n        commands=(\n", family->name);
        each_of_family(family, zsh_word, out);
        buf_puts(out, "        ) ;;\n");
    }
    buf_puts(out, "    esac\n"
                  "    if ((${#commands})); then\n"
                  "        if ((CURRENT == 3)); then\n"
                  "            _describe command commands\n"
                  "            return\n"
                  "        fi\n"
                  "        command+=\" $words[3]\"\n"
                  "        shift words\n"
                  "        ((CURRENT--))\n"
                  "    fi\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $command in\n");
}

/* '(-j --jobs)'{-j,--jobs=}'[HELP]:N:' */
static void zsh_option(const struct cli_option *option, struct buf *out)
{
    const char *many = option->kind == CLI_OPTION_LIST || option->kind == CLI_OPTION_COUNT ? "*"
                                                                                           : "";
    const char *behind = options_takes_value(option) ? "=" : "";
    buf_puts(out, " \\\n            ");
    if (option->letter && option->name && !*many)
        buf_printf(out, "'(-%c --%s)'", option->letter, option->name);
    else if (*many)
        buf_printf(out, "'%s'", many);
    if (option->letter && option->name)
        buf_printf(out, "{-%c%s,--%s%s}", option->letter, *behind ? "+" : "", option->name, behind);
    else if (option->letter)
        buf_printf(out, "-%c%s", option->letter, *behind ? "+" : "");
    else
        buf_printf(out, "--%s%s", option->name, behind);
    buf_puts(out, "'[");
    put_quoted(option->help ? option->help : "", "[]\\", "'\\''", out);
    buf_puts(out, "]");
    if (options_takes_value(option)) {
        buf_puts(out, ":");
        put_quoted(option->placeholder ? option->placeholder : "VALUE", ":\\", "", out);
        buf_puts(out, ":");
    }
    if (option->kind == CLI_OPTION_CHOICE) {
        buf_puts(out, "(");
        options_put_choices(option, " ", out);
        buf_puts(out, ")");
    } else if (options_takes_value(option) && option->kind != CLI_OPTION_INT &&
               option->kind != CLI_OPTION_FLOAT) {
        buf_puts(out, is_directory(option) ? "_files -/" : "_files");
    }
    buf_puts(out, "'");
}

static void zsh_command(const struct cli_command *command, const struct cli_option *options,
                        void *context)
{
    struct buf *out = context;
    buf_printf(out, "    '%s')\n        _arguments -s '(-h --help)'{-h,--help}'[show this help]'",
               command->name);
    for (const struct cli_option *option = options; option->kind != CLI_OPTION_END; option++)
        if (is_option(option))
            zsh_option(option, out);
    buf_puts(out, " \\\n            '*:file:_files' ;;\n");
}

static void zsh_end(struct buf *out)
{
    buf_puts(out, "    esac\n"
                  "}\n"
                  "if [[ $funcstack[1] == _warpgym ]]; then _warpgym \"$@\"; else compdef _warpgym "
                  "warpgym; fi\n");
}

/* --- fish ------------------------------------------------------------------------------------ */

static void fish_text(const char *text, struct buf *out)
{
    buf_puts(out, " -d '");
    put_quoted(text, "\\", "\\'", out);
    buf_puts(out, "'\n");
}

static void fish_word(const char *name, const char *summary, struct buf *out)
{
    buf_printf(out, "complete -c warpgym -n '__fish_warpgym_is' -f -a %s", name);
    fish_text(summary, out);
}

static void fish_begin(struct buf *out)
{
    buf_puts(out, "# Whether the words behind warpgym begin so; without any: there are none yet.\n"
                  "function __fish_warpgym_is\n"
                  "    set -l words (commandline -opc)\n"
                  "    set -e words[1]\n"
                  "    test (count $argv) -gt 0; or test (count $words) -eq 0; or return 1\n"
                  "    for i in (seq (count $argv))\n"
                  "        test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
                  "    end\n"
                  "end\n"
                  "function __fish_warpgym_ends\n"
                  "    __fish_warpgym_is $argv; and test (count (commandline -opc)) -eq 2\n"
                  "end\n");
    each_first_word(fish_word, out);
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        const char *word = last_word(command);
        if (word == command->name)
            continue;
        buf_printf(out, "complete -c warpgym -n '__fish_warpgym_ends %.*s' -f -a %s",
                   (int)(word - command->name - 1), command->name, word);
        fish_text(command->summary, out);
    }
}

static void fish_command(const struct cli_command *command, const struct cli_option *options,
                         void *context)
{
    struct buf *out = context;
    for (const struct cli_option *option = options; option->kind != CLI_OPTION_END; option++) {
        if (!is_option(option))
            continue;
        buf_printf(out, "complete -c warpgym -n '__fish_warpgym_is %s'", command->name);
        if (option->letter)
            buf_printf(out, " -s %c", option->letter);
        if (option->name)
            buf_printf(out, " -l %s", option->name);
        if (option->kind == CLI_OPTION_CHOICE) {
            buf_puts(out, " -x -a '");
            options_put_choices(option, " ", out);
            buf_puts(out, "'");
        } else if (options_takes_value(option)) {
            buf_puts(out, " -r");
        }
        fish_text(option->help ? option->help : "", out);
    }
}

static void fish_end(struct buf *out)
{
    buf_puts(out, "complete -c warpgym -s h -l help -d 'show the help of a command'\n");
}

static const struct shell shells[] = {
    {"bash", bash_begin, bash_command, bash_end},
    {"zsh", zsh_begin, zsh_command, zsh_end},
    {"fish", fish_begin, fish_command, fish_end},
    {0},
};

static int completion_run(struct cli_call *call, void *context, struct err *err)
{
    (void)context;
    const struct shell *shell = shells;
    while (shell->name && strcmp(shell->name, call->words.items[0]) != 0)
        shell++;
    if (!shell->name)
        return err_set(err, ERR_INPUT, "%.100s: is none of bash, zsh, fish", call->words.items[0]);
    shell->begin(&call->out);
    cli_each_command(shell->command, &call->out);
    shell->end(&call->out);
    return 0;
}

int completion_main(struct cli_call *call)
{
    const struct cli_option options[] = {OPTION_END};
    return cli_run(call, options, completion_run, NULL);
}
