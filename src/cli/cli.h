/* cli: shared by the subcommands. One file per subcommand; each parses its options, calls one
 * module and prints. All commands have the same exit statuses. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"
#include "cli/options.h"

#define EXIT_PASSED 0
#define EXIT_SOME_FAILED 1
#define EXIT_USAGE 2
#define EXIT_INFRASTRUCTURE 3
#define EXIT_INTERRUPTED 130

int eval_main(int argc, char **argv);
int problem_list_main(int argc, char **argv);
int problem_show_main(int argc, char **argv);
int problem_check_main(int argc, char **argv);
int prompt_main(int argc, char **argv);
int verdict_main(int argc, char **argv);
int languages_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int settings_main(int argc, char **argv);
int worker_main(int argc, char **argv);
int config_init_main(int argc, char **argv);
int config_check_main(int argc, char **argv);
int config_show_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int mcp_main(int argc, char **argv);
int rollout_main(int argc, char **argv);
int jobs_list_main(int argc, char **argv);
int jobs_show_main(int argc, char **argv);
int jobs_watch_main(int argc, char **argv);
int jobs_cancel_main(int argc, char **argv);
int ask_main(int argc, char **argv);
int index_build_main(int argc, char **argv);
int index_search_main(int argc, char **argv);
int index_stats_main(int argc, char **argv);
int report_main(int argc, char **argv);
int train_main(int argc, char **argv);
int runs_resume_main(int argc, char **argv);
int runs_eval_main(int argc, char **argv);
int lm_serve_main(int argc, char **argv);
int lm_sample_main(int argc, char **argv);
int lm_chat_main(int argc, char **argv);
int lm_bench_main(int argc, char **argv);
int lm_tokenizer_main(int argc, char **argv);
int lm_info_main(int argc, char **argv);
int lm_convert_main(int argc, char **argv);
int lm_train_main(int argc, char **argv);
int runs_list_main(int argc, char **argv);
int runs_show_main(int argc, char **argv);
int runs_watch_main(int argc, char **argv);
int runs_logs_main(int argc, char **argv);
int runs_stop_main(int argc, char **argv);
int runs_compare_main(int argc, char **argv);
int runs_export_main(int argc, char **argv);
int runs_report_main(int argc, char **argv);
int runs_tensorboard_main(int argc, char **argv);

extern const struct cli_command cli_commands[];

/* The command's entry in the table, for its help. */
const struct cli_command *cli_command_of(int (*run)(int argc, char **argv));

/* Parses; prints help (then *status is 0) or an error (2) itself. True: continue, until cli_end.
 * `words` NULL: the command takes no arguments. A command with --set has --config, too. */
bool cli_parse(int (*run)(int argc, char **argv), const struct cli_option *options, int argc,
               char **argv, struct cli_words *words, int *status);
/* Frees the words and every list of the options; returns `status`. */
int cli_end(const struct cli_option *options, struct cli_words *words, int status);

/* Options that several commands have; each value is a struct cli_words *. */
#define OPTION_SET(v)                                                                              \
    OPTION_LIST('s', "set", v, "KEY=VALUE",                                                        \
                "change a setting (`warpgym settings`); may be repeated")
#define OPTION_PROBLEMS(v)                                                                         \
    OPTION_LIST(0, "problems", v, "DIR", "search problems here first; may be repeated")

/* Defaults, file, environment, then each --set, all of it checked; also configures the log. False
 * after it has printed every error; then there is nothing to deinit. */
NODISCARD bool cli_settings(struct settings *settings, const struct cli_words *assignments);
/* The same with the caller's file; NULL: the standard ones. */
NODISCARD bool cli_settings_of(struct settings *settings, const char *file,
                               const char *const *assignments, size_t count);
/* Prints the errors of reading and checking settings. */
void cli_setting_errors(const struct setting_errors *errors);
/* An option that is a setting by another name. */
struct cli_alias {
    const char *option;   /* "--workers" */
    const char *setting;  /* its path */
    const char *value;    /* NULL: the option was not given */
    const char *standard; /* default of this command; or NULL */
};
/* Runs a command with its settings: reads them (aliases included), catches signals, calls `run`,
 * and frees them. `service`: the command runs until it is stopped and standard output is its own,
 * so the log is JSON at level info unless a setting says otherwise, and memory stays within few
 * arenas; call it before the first thread. Returns the exit status. */
int cli_run_with_settings(const struct cli_words *assignments, const struct cli_alias *aliases,
                          size_t count, bool service,
                          int (*run)(const void *arguments, const struct settings *settings),
                          const void *arguments);

#define CLI_LANGUAGES_BYTES 256
/* The help of an option that takes a language: "WHAT: c, cpp, …". Returns text. */
const char *cli_languages(const char *what, char text[CLI_LANGUAGES_BYTES]);

/* "warpgym: TEXT" on standard error; returns the status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with an error's text and status. */
int cli_fail_err(const struct err *err);
/* The same if `result` is negative; else EXIT_PASSED. */
int cli_result(int result, const struct err *err);
/* What is wrong with a command line, with a hint to the command's help; returns EXIT_USAGE. */
int cli_usage(int (*run)(int argc, char **argv), const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The exit status for an error's code. */
int cli_status(const struct err *err);

/* Non-zero after SIGINT or SIGTERM; a second one ends the process at once. */
extern _Atomic int cli_cancelled;
void cli_catch_signals(void);
void cli_wait_for_signal(void);

/* Writes all of it to standard output; a closed pipe ends the program quietly. */
void cli_print(const struct buf *out);
/* Into a file, in one step; "-" is standard output. */
NODISCARD int cli_write(const struct buf *out, const char *path, struct err *err);
/* A line of JSON; nothing if it exceeds `max_bytes`. */
void cli_print_json(const json_t *object, size_t max_bytes);
/* "runs/DATE-TIME", with -2, -3, … where that exists: a run that began in the same second is not
 * resumed. Returns `text`, of at least 64 bytes. */
const char *cli_new_run(char *text, size_t bytes);
