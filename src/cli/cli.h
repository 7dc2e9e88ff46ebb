/* cli: shared by the subcommands. Each has a `main`, which states its options and hands its work to
 * cli_run. All commands have the same exit statuses. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/settings.h"
#include "cli/options.h"
#include "cli/table.h"

#define EXIT_PASSED 0
#define EXIT_SOME_FAILED 1
#define EXIT_USAGE 2
#define EXIT_INFRASTRUCTURE 3
#define EXIT_INTERRUPTED 130

extern const struct cli_command cli_commands[];
extern const struct cli_family cli_families[];

/* Sees the options of a command, complete. */
typedef void cli_visit(const struct cli_command *command, const struct cli_option *options,
                       void *context);

/* One run of a command: its command line, and what cli_run makes of it. */
struct cli_call {
    const struct cli_command *command;
    cli_visit *visit; /* cli_run calls it, and does nothing else; NULL: it runs the command */
    void *visitor;
    int argc;
    char **argv;            /* argv[0] is the command's name */
    struct cli_words words; /* the arguments that are no options */
    /* With OPTION_SET: the assignments, the file of --config (NULL: the standard ones), and the
     * settings that follow, all of them checked; the log obeys them. */
    struct cli_words sets;
    const char *config;
    struct settings settings;
    /* With OPTION_PROBLEMS, too: its directories, and where problems are searched: there, then in
     * those of the setting, then among our own. */
    struct cli_words problems;
    struct paths_list search_paths;
    struct buf out; /* printed when the work has ended */
};

typedef int cli_main(struct cli_call *call);
/* Returns an exit status, or a negative code with *err, which cli_run prints. */
typedef int cli_work(struct cli_call *call, void *arguments, struct err *err);

extern cli_main ask_main, completion_main, doctor_main, eval_main, languages_main, man_main,
    mcp_main, prompt_main, report_main, rollout_main, serve_main, settings_main, train_main,
    verdict_main, worker_main;
extern cli_main config_check_main, config_init_main, config_show_main;
extern cli_main index_build_main, index_search_main, index_stats_main;
extern cli_main jobs_cancel_main, jobs_list_main, jobs_show_main, jobs_watch_main;
extern cli_main lm_bench_main, lm_chat_main, lm_convert_main, lm_info_main, lm_sample_main,
    lm_serve_main, lm_tokenizer_main, lm_train_main;
extern cli_main problem_check_main, problem_list_main, problem_new_main, problem_show_main;
extern cli_main rl_compute_main;
extern cli_main runs_clean_main, runs_compare_main, runs_eval_main, runs_export_main,
    runs_list_main, runs_logs_main, runs_report_main, runs_resume_main, runs_show_main,
    runs_stop_main, runs_sync_main, runs_tensorboard_main, runs_watch_main;

/* Parses the command line (help and errors end here), reads what the options above promise, does
 * the work, prints its output or its error, and frees all of it and every list of the options.
 * Returns the exit status. */
int cli_run(struct cli_call *call, const struct cli_option *options, cli_work *work,
            void *arguments);
/* Shows the options of each command. */
void cli_each_command(cli_visit *visit, void *context);

/* Options that several commands have. */
#define OPTION_SET_HELP(h) OPTION_LIST('s', "set", NULL, "KEY=VALUE", h)
#define OPTION_SET OPTION_SET_HELP("change a setting (`warpgym settings`); may be repeated")
#define OPTION_PROBLEMS_HELP(h) OPTION_LIST(0, "problems", NULL, "DIR", h)
#define OPTION_PROBLEMS OPTION_PROBLEMS_HELP("search problems here first; may be repeated")

/* Settings of the caller's file, then the assignments, all of it checked; also configures the log.
 * False after it has printed every error; then there is nothing to deinit. */
NODISCARD bool cli_settings_of(struct settings *settings, const char *file,
                               const char *const *assignments, size_t count);
/* Prints the errors of reading and checking settings. */
void cli_setting_errors(const struct setting_errors *errors);
/* For a command that runs until it is stopped and whose standard output is its own: catches
 * signals; the log is JSON at level info unless a setting says otherwise; memory stays within few
 * arenas. Call it before the first thread. */
void cli_begin_service(const struct settings *settings);

#define CLI_LANGUAGES_BYTES 256
/* The help of an option that takes a language: "WHAT: c, cpp, …". Returns text. */
const char *cli_languages(const char *what, char text[CLI_LANGUAGES_BYTES]);

/* "warpgym: TEXT" on standard error; returns the status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with an error's text and status. */
int cli_fail_err(const struct err *err);
/* What is wrong with a command line, with a hint to the command's help; returns EXIT_USAGE. */
int cli_usage(const struct cli_call *call, const char *format, ...)
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
/* ERR_INPUT if the file of an output option (NULL: not given) is one that the call reads: among its
 * words, or `read` (NULL: none). */
NODISCARD int cli_check_output(const struct cli_call *call, const char *option, const char *path,
                               const char *read, struct err *err);
/* A line of JSON; takes the object. */
void cli_print_json(json_t *object);
/* Adds it to the call's output instead; takes the object. */
void cli_put_json(struct cli_call *call, json_t *object);
/* Prints the call's output so far. */
void cli_flush(struct cli_call *call);
/* Adds a table to the call's output, coloured for standard output, and frees it. */
void cli_put_table(struct cli_call *call, struct table *table);
/* "runs/DATE-TIME", with -2, -3, … where that exists: a run that began in the same second is not
 * resumed. Returns `text`, of at least 64 bytes. */
const char *cli_new_run(char *text, size_t bytes);
