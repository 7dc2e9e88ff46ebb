/* commands: every subcommand, with its --help. */
#include "cli/cli.h"

#define ONE_RUN "one run: its directory, or its name in ./runs"

/* A name with another word behind it. */
const struct cli_family cli_families[] = {
    {"problem", "problems"},
    {"jobs", "a server's evaluations"},
    {"index", "solved examples for prompts"},
    {"runs", "training runs"},
    {"lm", "language models on this machine"},
    {"rl", "the mathematics of the methods"},
    {"config", "settings files"},
    {0},
};

const struct cli_command cli_commands[] = {
    {.name = "eval",
     .heading = "Judge kernels",
     .arguments = "CANDIDATE...",
     .summary = "judge candidates: correct, how fast, honest",
     .description =
         "With --problem, each CANDIDATE is a source file (`warpgym languages` lists their "
         "endings), a directory of them, or - for a text on standard input.\n\nWithout it, each "
         "CANDIDATE is a .jsonl file (- for standard input) of "
         "{\"problem\": ID, \"candidate\": PATH} lines (PATH relative to that file; \"source\" "
         "with the text itself instead of a path is fine; \"name\" and \"id\" are the candidate's "
         "path and the id in the verdict), or a directory whose files are "
         "named as KernelBench names them (level_1_problem_12_sample_0_kernel.py), say "
         "`problem: ID` in their first lines or lie in a directory named like the "
         "problem.\n\nOf several answers in KernelBench's names, fast_p and pass@k of each level "
         "follow the verdicts. The verdicts of a directory of them are kept in its verdicts.jsonl, "
         "so that the same command goes on after an interruption.\n\nExit status: 0 all passed, 1 "
         "some did not, 2 bad usage or input, 3 the "
         "judge failed, 130 interrupted (every finished verdict is kept).",
     .examples = "warpgym eval --problem softmax my_softmax.c\n"
                 "warpgym eval --problem level1/23 --problems ~/KernelBench answer.py\n"
                 "warpgym eval --problems ~/KernelBench answers/ --html report.html\n"
                 "warpgym eval --jobs 2 --out verdicts.jsonl batch.jsonl\n"
                 "warpgym eval --server http://gpu-host:10907 --problem softmax my_softmax.c\n"
                 "warpgym eval --json --problem ./my_problem a.c b.c | jq .status",
     .words = {1, CLI_MANY, "at least one candidate"},
     .run = eval_main},
    {.name = "report",
     .arguments = "RUN...",
     .summary = "report on trajectories or verdicts: fast_p, pass@k, with intervals",
     .description =
         "RUN is the directory of a rollout (it contains trajectories.jsonl), such a file, or a "
         "file of verdicts (`warpgym eval --out`), or the directory that holds verdicts.jsonl. "
         "Several runs are compared with the first, problem by problem. Shares are of all "
         "requested problems and samples; docs/guide/report.md defines each figure.",
     .examples = "warpgym report runs/qwen\n"
                 "warpgym report runs/qwen --problems 250 --by level --html qwen.html\n"
                 "warpgym report answers/verdicts.jsonl --problems ~/KernelBench --html page.html\n"
                 "warpgym report runs/before runs/after --p 1,1.5,2\n"
                 "warpgym report runs/qwen --json | jq '.runs[0].figures[] | select(.p == 1)'",
     .words = {1, CLI_MANY,
               "at least one run: a directory with trajectories.jsonl, or such a file"},
     .run = report_main},
    {.name = "problem list",
     .summary = "list the problems",
     .examples = "warpgym problem list\nwarpgym problem list --problems ~/KernelBench",
     .run = problem_list_main},
    {.name = "problem show",
     .arguments = "PROBLEM",
     .summary = "one problem: arguments, sizes, tolerance, reference",
     .examples = "warpgym problem show softmax",
     .words = {1, 1, "one problem"},
     .run = problem_show_main},
    {.name = "problem new",
     .arguments = "PATH",
     .summary = "write a problem to start from",
     .description =
         "PATH that ends in .py becomes a PyTorch module in KernelBench's form, any other a "
         "directory with problem.yaml and reference.c. Both are commented, and pass `warpgym "
         "problem check` as they are. Nothing that exists is replaced.",
     .examples = "warpgym problem new my_problem\nwarpgym problem new my_problem.py",
     .words = {1, 1, "a path: NAME or NAME.py"},
     .run = problem_new_main},
    {.name = "problem check",
     .arguments = "PROBLEM...",
     .summary = "audit a problem: can it be gamed, and how",
     .description =
         "Answers that do no work must fail: zeros, constants, copies of inputs, a run in lower "
         "precision, inputs with a slice left out. The outputs must respond to every input and "
         "every weight. Exit status 1 when a problem can be gamed.",
     .examples = "warpgym problem check ./my_problem\nwarpgym problem check --all",
     .run = problem_check_main},
    {.name = "verdict",
     .arguments = "[FILE...]",
     .summary = "check files of verdicts, or print their schema",
     .description =
         "Each line of FILE (- for standard input) must be a verdict, whole and without other "
         "keys; what is none is named, with the key that is wrong.\n\nExit status: 0 all are, 1 "
         "some are not, 2 bad usage, or a file cannot be read.",
     .examples = "warpgym verdict verdicts.jsonl\nwarpgym verdict --schema >verdict.schema.json",
     .run = verdict_main},
    {.name = "serve",
     .heading = "As a service",
     .summary = "serve evaluations over HTTP, and judge them",
     .description =
         "Serves warpgym's API under /v1 and KernelGYM's routes at the root. Prints the address "
         "once it is ready; logs are JSON lines on standard error (settings log.format, "
         "log.level). SIGTERM lets requests and jobs finish; unfinished jobs return to the queue. "
         "A second one ends it at once. Either way, nothing that was acknowledged is lost.",
     .examples = "warpgym serve\n"
                 "warpgym serve --listen 0.0.0.0:10907 -s server.token=SECRET\n"
                 "warpgym serve --workers none --queue redis://queue.example",
     .run = serve_main},
    {.name = "worker",
     .summary = "judge jobs of a queue on this machine's devices",
     .description =
         "Claims jobs until it is stopped (SIGTERM, SIGINT): then it claims no more, finishes "
         "running ones (setting worker.drain_ms) and hands the others back. A second signal ends "
         "it at once; other workers get its jobs when their leases expire (queue.lease_ms).",
     .examples = "warpgym worker\nwarpgym worker --queue redis://queue.example --slots 32",
     .run = worker_main},
    {.name = "jobs list",
     .summary = "list a server's evaluations, newest first",
     .examples =
         "warpgym jobs list --state running\n"
         "warpgym jobs list --server http://gpu-host:10907 --limit 100 --json | jq .outcome",
     .run = jobs_list_main},
    {.name = "jobs show",
     .arguments = "ID...",
     .summary = "show a server's evaluations: their verdicts, or their states",
     .description =
         "Exit status as of `warpgym eval`; an evaluation that has not ended counts as passed.",
     .examples = "warpgym jobs show 3fd1c0\nwarpgym jobs show --json 3fd1c0 | jq .verdict",
     .words = {1, CLI_MANY, "at least one evaluation (`warpgym jobs list`)"},
     .run = jobs_show_main},
    {.name = "jobs watch",
     .arguments = "ID...",
     .summary = "follow a server's evaluations to their ends",
     .description =
         "Prints each change of state on standard error and the verdicts at the end. Exit status "
         "as of `warpgym eval`; an interrupt ends the watching and cancels nothing.",
     .examples = "warpgym jobs watch 3fd1c0",
     .words = {1, CLI_MANY, "at least one evaluation (`warpgym jobs list`)"},
     .run = jobs_watch_main},
    {.name = "jobs cancel",
     .arguments = "ID...",
     .summary = "cancel a server's evaluations, queued or running",
     .examples = "warpgym jobs cancel 3fd1c0\nwarpgym jobs cancel --batch nightly-7",
     .words = {1, CLI_MANY, "at least one evaluation (`warpgym jobs list`)"},
     .run = jobs_cancel_main},
    {.name = "mcp",
     .summary = "the gym for coding agents: a Model Context Protocol server",
     .description =
         "A coding agent lists problems, reads one, submits sources and gets verdict, feedback, "
         "reward and profile. Without --listen it uses standard input and output, as an agent "
         "that starts it expects; nothing else is printed there. Add it to an agent's settings as "
         "a server with command `warpgym` and arguments `mcp`.\n\nWith --record, each session's "
         "submissions on a problem become an episode in trajectories.jsonl; the next server "
         "appends what a killed one left open. The end of standard input, SIGINT and SIGTERM end "
         "it: running submissions are cancelled, episodes written.",
     .examples = "warpgym mcp --record runs/agent\n"
                 "warpgym mcp --server http://gpu-host:10907\n"
                 "warpgym mcp --listen 127.0.0.1:10908 --problems ~/KernelBench",
     .run = mcp_main},
    {.name = "rollout",
     .heading = "Let models answer",
     .arguments = "PROBLEM...",
     .summary = "let a policy answer problems, turn by turn, and keep the trajectories",
     .description =
         "PROBLEM is an id or a path, a suite (the problems of one origin: native, torch, level1), "
         "all, or @FILE with one of these on each line. Each problem is played --samples times: "
         "the policy answers, the answer is judged, and the next turn's prompt contains the "
         "verdict (settings gym.*).\n\nThe run directory gets run.json, journal.jsonl and "
         "trajectories.jsonl. After a stop or a kill at any moment, the same command resumes in "
         "the middle of its episodes; no answer is requested twice.\n\nExit status: 0 every "
         "episode was played, 1 some could "
         "not be played or judged, 2 bad usage or input, 3 policy or judge unreachable, 130 "
         "interrupted.",
     .examples = "warpgym rollout --policy http://localhost:8000/v1 --model Qwen3-8B native\n"
                 "warpgym rollout --policy scripted:demo/gym/script.jsonl --out runs/demo "
                 "@demo/gym/problems.txt\n"
                 "warpgym rollout --policy URL -n 8 -s gym.turns=3 --best best level1",
     .words = {1, CLI_MANY, "the problems (an id, a suite such as native, all, or @FILE)"},
     .run = rollout_main},
    {.name = "prompt",
     .arguments = "PROBLEM",
     .summary = "the first prompt of a problem",
     .description =
         "The messages, made from the templates in prompts/ (docs/reference/prompts.md). With "
         "--check DIR, your own templates are tested instead, as the setting prompts.path would "
         "use them: every style in every language, first turns and later ones.\n\nExit status: 0, "
         "or 2 if there is an error: the line says where and what.",
     .examples = "warpgym prompt softmax\n"
                 "warpgym prompt softmax --language cuda --shots 2 --thinking\n"
                 "warpgym prompt level1/23 --problems ~/KernelBench --style kevin --json\n"
                 "warpgym prompt --check ./my_prompts",
     .run = prompt_main},
    {.name = "ask",
     .arguments = "MESSAGE|-",
     .summary = "send one message to a model: does its endpoint work",
     .description =
         "Prints the answer; tokens, cost (settings policy.price_…) and times go to standard "
         "error. - reads the message from standard input. The endpoint's token is the setting "
         "policy.token, or OPENAI_API_KEY.\n\nExit status: 0 answered, 2 bad usage, or the "
         "endpoint refuses the request, 3 no answer, 130 interrupted.",
     .examples = "warpgym ask --policy http://localhost:8000/v1 --check\n"
                 "warpgym ask --policy https://api.example.com/v1 --model NAME \"Say yes\"\n"
                 "warpgym ask -p http://localhost:8000/v1 -n 32 --json - <prompt.txt | jq .text\n"
                 "warpgym ask -p scripted:demo/gym/script.jsonl --problem softmax --turn 2 x",
     .run = ask_main},
    {.name = "index build",
     .arguments = "INDEX [SOURCE...]",
     .summary = "build an index of solved examples for prompts",
     .description =
         "Each SOURCE is a .jsonl file, a directory of them, a search path of problems, or a "
         "directory with NAME/reference.* and solutions beside it (docs/guide/retrieval.md). Its "
         "format is detected, or given by --format.\n\nINDEX is a directory. An older index there "
         "is replaced in one step at the end: a build that fails or is killed leaves it unchanged.",
     .examples = "warpgym index build ./kernels kernelbook.jsonl archive/\n"
                 "warpgym index build ./kernels --own runs/*/trajectories.jsonl\n"
                 "warpgym index build ./kernels kernelbook.jsonl --embeddings \\\n"
                 "    -s retrieval.embeddings_url=http://gpu-host:8000/v1 -s "
                 "retrieval.embeddings_model=NAME",
     .words = {1, CLI_MANY, "an index"},
     .run = index_build_main},
    {.name = "index search",
     .arguments = "INDEX [QUERY|FILE]",
     .summary = "search solved examples similar to a problem, a source or words",
     .description =
         "For a problem (--problem) or a source in FILE, examples that would give its solution "
         "away are withheld, also examples of the same problem under another name. Exit status 1 "
         "when nothing is found.",
     .examples = "warpgym index search ./kernels --problem softmax --language triton\n"
                 "warpgym index search ./kernels \"warp shuffle reduction\"\n"
                 "warpgym index search ./kernels -n 1 --json my_reference.py | jq -r .solution",
     .words = {1, CLI_MANY, "an index"},
     .run = index_search_main},
    {.name = "index stats",
     .arguments = "INDEX",
     .summary = "the contents of an index, and what was left out",
     .examples = "warpgym index stats ./kernels",
     .words = {1, 1, "one index"},
     .run = index_stats_main},
    {.name = "train",
     .heading = "Train models",
     .arguments = "CONFIG [KEY=VALUE...]",
     .summary = "train a model against the judge: fine-tuning, then reinforcement learning",
     .description =
         "CONFIG is a settings file (`warpgym settings --describe`: train.*, gym.*, policy.*, "
         "...); KEY=VALUE after it changes single settings. All files of a run are in its "
         "directory (docs/guide/runs.md). A run that was stopped or killed resumes from its last "
         "checkpoint, to the same numbers.\n\nExit status: 0 finished, 2 invalid configuration, 3 "
         "something was unreachable, or full, 130 interrupted (progress is saved).",
     .examples = "warpgym train configs/laptop-cpu.yaml -o runs/first\n"
                 "warpgym train configs/dr-kernel-8b.yaml train.steps=20 train.prompts=4\n"
                 "warpgym train my.yaml --server http://gpu-host:10907\n"
                 "warpgym runs watch runs/first",
     .words = {1, CLI_MANY, "a configuration (configs/ has some)"},
     .run = train_main},
    {.name = "runs list",
     .arguments = "[DIRECTORY...]",
     .summary = "training runs: state, step, reward, age",
     .description =
         "Those in ./runs, or in each DIRECTORY, which may be a run itself. A run is running "
         "while a process holds its lock, and finished when all its steps are done.",
     .examples = "warpgym runs list\nwarpgym runs list ~/experiments --json | jq .last",
     .run = runs_list_main},
    {.name = "runs show",
     .arguments = "RUN",
     .summary = "one training run: settings, last metrics, checkpoints",
     .description = "RUN is a directory, or the name of one in ./runs.",
     .examples = "warpgym runs show runs/demo\nwarpgym runs show demo --json | jq .settings",
     .words = {1, 1, ONE_RUN},
     .run = runs_show_main},
    {.name = "runs watch",
     .arguments = "[RUN...]",
     .summary = "watch a training run live",
     .description =
         "Step, phase and a curve for each measure, redrawn when they change; q or Ctrl-C ends "
         "the view and leaves the run alone. If standard output is not a terminal: a line for "
         "each step, until the run ends. With --web: a page for a browser, for the runs that are "
         "named, or for a folder of them (./runs), until Ctrl-C.",
     .examples = "warpgym runs watch demo\nwarpgym runs watch demo | grep reward\n"
                 "warpgym runs watch --web\nwarpgym runs watch --web demo runs/second",
     .words = {0, CLI_MANY, "runs"},
     .run = runs_watch_main},
    {.name = "runs logs",
     .arguments = "RUN",
     .summary = "the events of a training run",
     .examples = "warpgym runs logs demo\nwarpgym runs logs -f -n 20 demo",
     .words = {1, 1, ONE_RUN},
     .run = runs_logs_main},
    {.name = "runs stop",
     .arguments = "[RUN...]",
     .summary = "end the process that trains a run",
     .description =
         "Sends SIGTERM to the process that holds the run's lock, and waits until it has released "
         "it. The run can be resumed later. A run that is not running is not an error.",
     .examples = "warpgym runs stop demo\nwarpgym runs stop --timeout 60 runs/a runs/b\n"
                 "warpgym runs stop --all",
     .words = {0, CLI_MANY, "runs"},
     .run = runs_stop_main},
    {.name = "runs resume",
     .arguments = "RUN [KEY=VALUE...]",
     .summary = "resume a training run with its original settings",
     .description =
         "From its last checkpoint, to the same numbers as if it had never stopped. Settings that "
         "change no result may be others (docs/guide/runs.md), and train.steps.",
     .examples = "warpgym runs resume runs/first\nwarpgym runs resume runs/first train.steps=400",
     .words = {1, CLI_MANY, "a run"},
     .run = runs_resume_main},
    {.name = "runs compare",
     .arguments = "RUN RUN...",
     .summary = "metrics of training runs side by side",
     .description =
         "Held-out problems at the last evaluation common to all, with intervals of the "
         "differences to the first run (of at most eight runs); then metrics at the last common "
         "step (or --step), as mean and standard deviation of the --over last steps, because "
         "single steps are noisy; then at each run's end if it has more steps, then the settings "
         "that differ. A metric without a value in these steps has its last one.",
     .examples = "warpgym runs compare grpo trloo\n"
                 "warpgym runs compare a b c -m eval/correct_rate --json | jq .runs",
     .words = {2, 32, "2 to 32 runs"},
     .run = runs_compare_main},
    {.name = "runs report",
     .arguments = "RUN",
     .summary = "a training run as one page: curves, before and after, answers",
     .description =
         "One HTML file that loads nothing: held-out problems before and after with intervals, "
         "learning curves with their numbers, answers with their verdicts, settings. For an "
         "unfinished run it shows the state so far. `warpgym report` compares evaluations of "
         "several runs.",
     .examples = "warpgym runs report demo\nwarpgym runs report runs/demo --out demo.html",
     .words = {1, 1, ONE_RUN},
     .run = runs_report_main},
    {.name = "runs eval",
     .arguments = "RUN|CHECKPOINT [PROBLEM...]",
     .summary = "evaluate a checkpoint of a run on problems, with a report",
     .description =
         "RUN is a directory, or the name of one in ./runs; CHECKPOINT is RUN/checkpoints/NAME. "
         "Without a PROBLEM (an id, a suite such as native, all, @FILE) the run's held-out "
         "problems are played. `warpgym report` compares the trajectories of several.",
     .examples = "warpgym runs eval demo\nwarpgym runs eval demo -c base -n 8 -t 1 native\n"
                 "warpgym runs eval runs/demo/checkpoints/step-000100 softmax gemm --json",
     .words = {1, CLI_MANY, "a run or a checkpoint"},
     .run = runs_eval_main},
    {.name = "runs export",
     .arguments = "RUN OUT",
     .summary = "export a checkpoint of a training run as a model or an adapter",
     .description =
         "Copies the checkpoint except the optimiser's state, and a tokenizer if one is known, to "
         "the new directory OUT. The best checkpoint is the one with the greatest "
         "eval/correct_rate, or the least evaluation_loss of `lm train`.",
     .examples = "warpgym runs export demo ./model\n"
                 "warpgym runs export demo ./adapter --checkpoint step-00040\n"
                 "warpgym runs export demo ./model --by kernel/mean_speedup",
     .words = {2, 2, "a run, and the directory to make"},
     .run = runs_export_main},
    {.name = "runs sync",
     .arguments = "RUN",
     .summary = "copy a training run to Weights & Biases, MLflow or Trackio",
     .description =
         "Sends metrics, settings and tables of answers by the tracker's own package, which the "
         "Python must have; addresses and keys are the package's. RUN/sync.json remembers what "
         "was sent: another call goes on behind it.",
     .examples = "warpgym runs sync demo --to wandb --project kernels --follow\n"
                 "MLFLOW_TRACKING_URI=http://host:5000 warpgym runs sync demo --to mlflow",
     .words = {1, 1, "a run"},
     .run = runs_sync_main},
    {.name = "runs tensorboard",
     .arguments = "[RUN...]",
     .summary = "start TensorBoard on the event files of training runs",
     .description =
         "Starts tensorboard if it is installed, else prints the command. Without a RUN it shows "
         "all in ./runs.",
     .examples = "warpgym runs tensorboard demo\nwarpgym runs tensorboard a b --port 6007",
     .run = runs_tensorboard_main},
    {.name = "runs clean",
     .arguments = "RUN...",
     .summary = "remove training runs, or checkpoints that nothing needs",
     .description =
         "Asks for each run, unless --yes is given. With --checkpoints the run stays, with its "
         "last and its best checkpoint. A run that is running is left alone.",
     .examples = "warpgym runs list --disk\nwarpgym runs clean runs/first --checkpoints\n"
                 "warpgym runs clean runs/try-1 runs/try-2 --yes",
     .words = {1, CLI_MANY, "runs"},
     .run = runs_clean_main},
    {.name = "lm train",
     .arguments = "[MODEL]",
     .summary = "fine-tune a model on conversations, or train a fresh one",
     .description =
         "MODEL is a directory with config.json, safetensors and tokenizer.json (Qwen2, Qwen3 or "
         "Llama). Training targets are the assistant's answers of {\"messages\"}, the completion "
         "of {\"prompt\", \"completion\"}, and all of {\"text\"}; other keys of a line are "
         "ignored, so a rollout's trajectories.jsonl is a valid data set.\n\nDIR gets run.json, "
         "metrics.jsonl (a line for each step), checkpoints/ and at the end model/ or adapter/. "
         "Ctrl-C saves a checkpoint first; after a stop or a kill at any moment, the same command "
         "resumes, to the same numbers.\n\nExit status: 0 all steps are done, 2 bad usage or "
         "input, 3 the machine failed, 130 interrupted.",
     .examples =
         "warpgym lm train models/Qwen3-0.6B --data chats.jsonl --out runs/chats\n"
         "warpgym lm train models/Qwen3-0.6B --lora 16 --epochs 3 -d chats.jsonl -o runs/lora\n"
         "warpgym lm train --fresh config.json --tokenizer tok -d code.jsonl --steps 500 -o runs/c",
     .words = {0, 1, "one model directory"},
     .run = lm_train_main},
    {.name = "lm serve",
     .arguments = "MODEL",
     .summary = "a model behind OpenAI's API, and the Tinker API",
     .description =
         "MODEL is a directory with config.json, tokenizer.json and safetensors. Serves "
         "/v1/chat/completions, /v1/completions and /v1/models for `warpgym rollout --policy` and "
         "OpenAI's clients, and with --tinker the Tinker API: its SDK trains adapters on the "
         "model. Prints the address once it is ready. SIGTERM and Ctrl-C let answers "
         "in progress finish (--drain); a second one ends it at once. Requires a token if one is "
         "set (setting server.token).",
     .examples = "warpgym lm serve models/qwen3-0.6b\n"
                 "warpgym lm serve models/base --adapter runs/sft/adapter --name tuned\n"
                 "warpgym lm serve models/base --tinker checkpoints\n"
                 "warpgym rollout --policy http://127.0.0.1:8000/v1 softmax",
     .words = {1, 1, "one model's directory"},
     .run = lm_serve_main},
    {.name = "lm chat",
     .arguments = "MODEL",
     .summary = "chat with a model",
     .description =
         "On a terminal, answers appear as they are generated; Ctrl-C stops an answer (the part "
         "so far stays in the conversation), Ctrl-D or /quit ends, /help lists the commands. From "
         "a pipe, each line is a question, and only the answers are printed.\n\nMODEL is a "
         "directory with config.json, safetensors and tokenizer.json; the chat format (ChatML, as "
         "in Qwen2 or Qwen3) is read from its chat template.\n\nBy default, temperature is 0.7, "
         "top-p 0.95, and an answer may use the rest of the context.",
     .examples = "warpgym lm chat models/Qwen3-0.6B\n"
                 "warpgym lm chat models/Qwen3-0.6B --no-thinking --system \"Be curt.\"\n"
                 "echo 'What is a warp?' | warpgym lm chat models/tiny -t 0",
     .words = {1, 1, "one model's directory"},
     .run = lm_chat_main},
    {.name = "lm sample",
     .arguments = "MODEL [PROMPT|-]",
     .summary = "let a model continue a text",
     .description =
         "MODEL is a directory with config.json, safetensors and tokenizer.json. PROMPT is the "
         "text's beginning (- reads it from standard input); without it the model starts with its "
         "begin token. One sample is printed as it is generated, several each at its end.\n\nBy "
         "default, temperature and top-p are 1, and a sample has at most 256 tokens.\nThe same "
         "seed gives the same text, whatever else is sampled beside it.\n\nExit status: 0, 2 bad "
         "usage or input, 3 the model gives no numbers, 130 interrupted.",
     .examples =
         "warpgym lm sample models/Qwen3-0.6B \"int main(void)\"\n"
         "warpgym lm sample models/tiny -n 8 --temperature 0.8 --top-p 0.95 - < prompt.c\n"
         "warpgym lm sample models/tiny --adapter runs/sft/adapter --stop $'\\n\\n' \"for (\"\n"
         "warpgym lm sample models/tiny --raw --json --top-logprobs 5 -t 0 \"1 2 3\" | jq .tokens",
     .words = {1, CLI_MANY, "a model's directory"},
     .run = lm_sample_main},
    {.name = "lm info",
     .arguments = "MODEL",
     .summary = "describe a model or an adapter, and the memory to train it",
     .description =
         "MODEL is a directory with config.json; weights and tokenizer are optional, and only "
         "their headers are read. Memory is the engine's in f32: for all parameters, and for an "
         "adapter (the one of --adapter, or one of rank --rank on all projections).",
     .examples = "warpgym lm info models/Qwen3-0.6B\n"
                 "warpgym lm info --adapter runs/sft/adapter --tokens 16384 models/Qwen3-0.6B\n"
                 "warpgym lm info --json models/tiny | jq .parameters",
     .words = {1, 1, "one directory"},
     .run = lm_info_main},
    {.name = "lm convert",
     .arguments = "[MODEL] OUT",
     .summary = "rewrite a model: type, files, an adapter merged in, or fresh weights",
     .description =
         "Reads the directory MODEL (Hugging Face config.json and safetensors) and writes OUT, a "
         "new or empty directory, with the tokenizer's files. With --adapter alone an adapter is "
         "checked against MODEL and written in PEFT's format. With --fresh there is no MODEL: the "
         "weights are drawn, the same for a seed on every machine.",
     .examples = "warpgym lm convert --dtype bf16 models/tiny models/tiny-bf16\n"
                 "warpgym lm convert --merge runs/sft/adapter models/Qwen3-0.6B models/merged\n"
                 "warpgym lm convert --shard-mib 2048 models/Qwen3-8B models/sharded\n"
                 "warpgym lm convert --fresh config.json --seed 7 models/fresh",
     .run = lm_convert_main},
    {.name = "lm tokenizer",
     .arguments = "--vocab N --out DIR FILE...",
     .summary = "learn a byte-level BPE tokenizer from files",
     .description =
         "Writes tokenizer.json and tokenizer_config.json (with a ChatML template) into DIR, in "
         "the format of `warpgym lm` and Transformers. The same files give the same tokenizer; "
         "files with fewer pairs than requested give a smaller one.",
     .examples = "warpgym lm tokenizer --vocab 8192 --out models/tiny src/*.c\n"
                 "warpgym lm tokenizer --vocab 4096 --special '<|endoftext|>' -o tok corpus.txt",
     .run = lm_tokenizer_main},
    {.name = "lm bench",
     .arguments = "[MODEL]",
     .summary = "measure how fast a model trains and decodes, relative to the machine",
     .description =
         "MODEL is a model's directory; the default is a fresh model of 10 M parameters, or one "
         "of --config. Each round measures the rate of large matrix products and of reading "
         "memory, then the engine's work, so that a busy machine slows both; shares are of the "
         "same round.\n\nTraining: 6 operations for each matrix element and token, and 12 for "
         "each element of a query and position that it sees; a share of the products' rate. "
         "Decoding: each step reads all matrices and the cache once; a share of the speed of "
         "reading, which a processor cache that holds the model may well exceed.",
     .examples = "warpgym lm bench\n"
                 "warpgym lm bench --threads 1 --rounds 15 --json\n"
                 "warpgym lm bench --config config.json --batch 1 --batch 64 --no-train",
     .words = {0, 1, "one model directory, or a --config"},
     .run = lm_bench_main},
    {.name = "rl compute",
     .arguments = "FILE...",
     .summary = "compute returns, advantages, masks and weights of rows in files",
     .description =
         "FILE (- for standard input) has a JSON object on each line, in any order: a row, "
         "{\"prompt\": ID, \"reward\": NUMBER}, with null for what could not be judged. Also "
         "known are rollout, turn, correct, speedup, coverage, baseline, and as lists of one value "
         "for each token mask, trained, sampled, base, collision, value, top "
         "(docs/guide/rl-library.md). Without a reward, \"verdict\" or \"facts\" is paid by the "
         "preset gym.reward. Or a line is one of trajectories.jsonl: its turns are the rows, "
         "without tokens.\n\nAll rows of all files are one step. Each is printed as a line with "
         "its return, advantage and the reasons why it is not trained on, and where there are "
         "tokens, with kept, importance, weights and token_advantages. Settings are those of "
         "`train`: train.method and what it presets, gym.gamma, train.seed.",
     .examples = "warpgym rl compute rows.jsonl -s train.method=drkernel --metrics metrics.json\n"
                 "warpgym rl compute runs/first/trajectories.jsonl -s train.estimator=grpo_std\n"
                 "generate | warpgym rl compute - -s train.filter=none | jq .advantage",
     .words = {1, CLI_MANY, "at least one file of rows"},
     .run = rl_compute_main},
    {.name = "doctor",
     .heading = "This machine",
     .summary = "probe this machine: sandbox layers, compilers, devices",
     .description =
         "Each layer of the sandbox is tried. What is missing is named, with what it would keep "
         "candidates from.\n\nExit status: 0 every layer holds, and C can be compiled; 1 a layer "
         "or the compiler is missing; 2 bad usage.",
     .examples = "warpgym doctor\nwarpgym doctor --json",
     .run = doctor_main},
    {.name = "settings",
     .summary = "every setting with its value, origin and meaning",
     .examples = "warpgym settings\nwarpgym settings --describe",
     .run = settings_main},
    {.name = "config init",
     .arguments = "[FILE]",
     .summary = "writes a settings file for this machine, with reasons",
     .description =
         "FILE defaults to ~/.config/warpgym/config.yaml; - prints it. Settings that depend on "
         "this machine (GPUs, CPUs, memory, disks, a free port) are filled in; every other "
         "setting is commented out, with its default.",
     .examples = "warpgym config init\nwarpgym config init --force /etc/warpgym/config.yaml",
     .words = {0, 1, "one FILE at most"},
     .run = config_init_main},
    {.name = "config show",
     .summary = "the effective settings, each with its origin",
     .description = "Precedence: command line, environment, file, default. Secrets are not shown.",
     .examples = "warpgym config show\nwarpgym config show --config ./config.yaml",
     .run = config_show_main},
    {.name = "config check",
     .arguments = "[FILE...]",
     .summary = "check whether settings files are valid",
     .description =
         "Reports every error with its line and column. Exit status: 0 valid, 2 invalid.",
     .examples = "warpgym config check /etc/warpgym/config.yaml",
     .run = config_check_main},
    {.name = "languages",
     .summary = "list the languages of candidates, and the endings of their files",
     .description = "The built-in ones, then those of setting languages.path with their programs.",
     .examples = "warpgym languages\nwarpgym languages -s languages.path=examples/opencl",
     .run = languages_main},
    {.name = "completion",
     .arguments = "bash|zsh|fish",
     .summary = "print what a shell needs to complete warpgym's commands and options",
     .examples = "source <(warpgym completion bash)\n"
                 "warpgym completion zsh >\"${fpath[1]}/_warpgym\"\n"
                 "warpgym completion fish >~/.config/fish/completions/warpgym.fish",
     .words = {1, 1, "a shell: bash, zsh or fish"},
     .run = completion_main},
    {.name = "man",
     .arguments = "[COMMAND]",
     .summary = "print a manual page, or write all of them",
     .description = "Without a COMMAND it is the page of warpgym itself.",
     .examples = "warpgym man eval | man -l -\n"
                 "warpgym man --out ~/.local/share/man/man1",
     .words = {0, 2, "one command"},
     .run = man_main},
    {0},
};
