// Runs: a list of them, and the curves of those that are chosen, above each other.
import { ago, announce, api, chip, chooseRun, follow, link, live, make, number, pause, percent, query, repeat, replace, server, setParameters, table, times } from "./app.js";
import { curve } from "./charts.js";

const LIST_MS = 5000;
const CURVES_MS = 2000; // between two looks while the runs go on
const RUNS_MOST = 8;
const RUNS_FIRST = 1;

// A chart is shown if one of the runs has one of its metrics.
const CHARTS = [
    { title: "Reward", metrics: [["reward/mean", "mean"], ["eval/return", "held out"]] },
    { title: "Pass rate", share: true, metrics: [["kernel/correct_rate", "correct"], ["eval/correct_rate", "held out"]] },
    { title: "fast_p of held-out problems", share: true, metrics: [["eval/fast_1", "fast_1"], ["eval/fast_2", "fast_2"]] },
    { title: "Speedup", metrics: [["kernel/mean_speedup", "of a step"], ["eval/geometric_mean_speedup", "held out, geometric"]] },
    { title: "Own-kernel coverage", share: true, metrics: [["reward_parts/coverage", "in the reward"], ["coverage/mean", "mean"]] },
    { title: "Compiled, and in form", share: true, metrics: [["kernel/compile_rate", "compiled"], ["kernel/format_rate", "in form"]] },
    { title: "Violations", share: true, metrics: [["kernel/cheat_rate", "of answers"]] },
    { title: "Loss", metrics: [["optim/loss", "loss"], ["sft/loss", "fine-tuning"], ["loss", "fine-tuning"], ["evaluation_loss", "held out"]] },
    { title: "KL between sampler and trainer", metrics: [["mismatch/mismatch_kl", "KL"], ["mismatch/mismatch_k3_kl", "k3"]] },
    { title: "Length of answers, in tokens", metrics: [["batch/answer_tokens_mean", "mean"], ["batch/answer_tokens_max", "longest"]] },
    { title: "Lag of the policy, in updates", metrics: [["lag/mean", "mean"], ["lag/max", "most"]] },
    { title: "Entropy", metrics: [["policy/entropy", "entropy"]] },
    { title: "Norm of the gradient", metrics: [["optim/grad_norm", "norm"], ["norm", "norm"]] },
    { title: "Seconds of a step", metrics: [["time/total", "all"], ["time/rollout", "rollout"], ["time/train", "training"], ["time/evaluate", "evaluation"]] },
];
const NAMES = [...new Set(CHARTS.flatMap((chart) => chart.metrics.map(([name]) => name)))];

const lossOf = (last) => last["optim/loss"] ?? last["sft/loss"] ?? last.loss;
const stepOf = (run) => (run.steps ? `${number(run.step)} of ${number(run.steps)}` : number(run.step));
const phaseOf = (run) => (run.state === "running" && run.phase ? `${run.phase}${run.all ? ` ${run.done}/${run.all}` : ""}` : "");

function rowOf(run, chosen, choose) {
    if (run.error) return [run.name, make("span", { class: "error" }, run.error), ...Array(8).fill("–")];
    const pick = make("label", {}, make("input", { type: "checkbox", checked: chosen.includes(run.name), onchange: (event) => choose(run.name, event.target.checked) }), " ", run.name);
    const links = make("span", { class: "links" }, ["grid", "traces"].map((view) =>
        make("a", { href: link(view, [run.name]), "aria-label": `${view === "grid" ? "Grid" : "Trajectories"} of ${run.name}` }, view === "grid" ? "grid" : "trajectories")));
    return [pick, chip(run.state), [stepOf(run), make("small", {}, ` ${phaseOf(run)}`)], number(run.last["reward/mean"]), percent(run.last["kernel/correct_rate"]),
        times(run.last["kernel/mean_speedup"]), percent(run.last["eval/correct_rate"]), number(lossOf(run.last)), ago(run.changed_at), run.kind === "rl" ? links : ""];
}
const HEADS = ["Run", "State", "Step", "#Reward", "#Passed", "#Speedup", "#Held out", "#Loss", "Changed", "Look into"];

function emptyText(list) {
    if (list.folder) return ["There is no run in ", make("code", {}, list.folder), " yet: ", make("code", {}, "warpgym train … --out"), " makes one."];
    return ["No folder of runs is set. Start the server with ", make("code", {}, "warpgym serve --set server.runs=DIRECTORY"),
        ", or look at runs alone with ", make("code", {}, "warpgym runs watch --web"), "."];
}

/** The lines of a chart for the answers of all runs. */
function linesOf(chart, answers) {
    const several = answers.length > 1;
    return answers.flatMap((answer, i) => chart.metrics
        .map(([name, label], k) => ({ label: several ? `${answer.name}, ${label}` : label, points: answer.metrics[name], colour: several ? i : k, dash: several ? k : k }))
        .filter((line) => line.points?.mean.length));
}

const settingsTable = (run) =>
    table(`Settings of ${run.name} that are not the standard`, ["Setting", "Value"], Object.entries(run.settings).map(([name, value]) => [make("code", {}, name), make("code", {}, value)]));
const checkpointTable = (run) =>
    table(`Checkpoints of ${run.name}`, ["Checkpoint", "#Step", "Where"], run.checkpoints.slice(-50).reverse().map((one) => [one.name, number(one.step), make("code", {}, one.where)]));

export async function showRuns({ main, parameters, signal }) {
    let chosen = parameters.getAll("run").slice(0, RUNS_MOST);
    let list = await api("/v1/runs", signal);
    const points = make("select", { id: "points" }, [["30", "30, smooth"], ["100", "100"], ["400", "400"], ["2000", "2000, all"]].map(([value, label]) =>
        make("option", { value, selected: value === (parameters.get("points") ?? "100") }, label)));
    const search = make("input", { id: "search", type: "search", "data-search": "", value: parameters.get("search") ?? "" });
    const from = make("input", { id: "from", type: "number", min: "0", value: parameters.get("from") ?? "" });
    const to = make("input", { id: "to", type: "number", min: "0", value: parameters.get("to") ?? "" });
    const listPart = make("div", {});
    const charts = make("section", { class: "charts", "aria-label": "Curves" });
    const details = make("section", { class: "details", "aria-label": "Settings and checkpoints" });
    const field = (label, input) => make("label", { for: input.id }, label, " ", input);
    replace(main, make("h1", {}, "Runs"),
        make("section", { class: "card" }, make("div", { class: "bar" }, field("Find a run", search)), listPart),
        make("h2", { class: "hidden" }, "Curves"),
        make("div", { class: "bar", role: "group", "aria-label": "Curves" }, field("Points of a curve", points), field("From step", from), field("to", to),
            make("small", {}, "Lines are means of steps; the areas are their 95 % intervals.")),
        charts, details);

    const running = (run) => (run.state === "running" ? 1 : 0);
    if (chosen.length === 0)
        chosen = list.runs.filter((run) => !run.error)
            .sort((a, b) => running(b) - running(a) || String(b.changed_at).localeCompare(String(a.changed_at))).slice(0, RUNS_FIRST).map((run) => run.name);

    const drawList = () => {
        const wanted = search.value.toLowerCase();
        const rows = list.runs.filter((run) => run.name.toLowerCase().includes(wanted));
        const focused = listPart.contains(document.activeElement) ? [...listPart.querySelectorAll("input, a")].indexOf(document.activeElement) : -1;
        replace(listPart, list.runs.length ? table("Runs", HEADS, rows.map((run) => rowOf(run, chosen, choose))) : make("p", {}, emptyText(list)),
            list.left_out ? make("p", { class: "more" }, `${number(list.left_out)} more runs are not shown.`) : null);
        if (focused >= 0) listPart.querySelectorAll("input, a")[focused]?.focus();
    };

    let drawing = 0;
    const drawCurves = async () => {
        const mine = ++drawing;
        const answers = await Promise.all(chosen.map((name) =>
            api(`/v1/runs/${encodeURIComponent(name)}/metrics${query({ names: NAMES.join(","), points: points.value, from: from.value, to: to.value })}`, signal)));
        const figures = await Promise.all(CHARTS.map((chart) => [chart, linesOf(chart, answers)]).filter(([, lines]) => lines.length)
            .map(([chart, lines]) => curve(chart.title, lines, { share: chart.share, signal })));
        if (mine !== drawing || signal.aborted) return;
        const open = new Set([...charts.querySelectorAll("figure")].filter((one) => one.querySelector("details")?.open).map((one) => one.querySelector("h3").textContent));
        replace(charts, figures);
        for (const figure of figures) if (open.has(figure.querySelector("h3").textContent)) figure.querySelector("details").open = true;
        live(answers.some((one) => one.state === "running") ? "live" : "");
    };
    const drawDetails = async () => {
        const runs = await Promise.all(chosen.map((name) => api(`/v1/runs/${encodeURIComponent(name)}`, signal)));
        replace(details, runs.map((run) => make("details", { class: "card" },
            make("summary", {}, make("h2", {}, `${run.name}: settings and checkpoints`)), make("p", {}, make("code", {}, run.path)), settingsTable(run), checkpointTable(run))));
    };

    let following = new AbortController();
    const followRuns = () => {
        following.abort();
        following = new AbortController();
        signal.addEventListener("abort", () => following.abort(), { once: true });
        let dirty = false;
        for (const name of chosen) {
            let step = null;
            follow(`/v1/runs/${encodeURIComponent(name)}/events`, following.signal, (_, run) => {
                const at = list.runs.findIndex((one) => one.name === run.name);
                if (at >= 0) list.runs[at] = run;
                drawList();
                if (step !== null && run.step !== step) dirty = true;
                step = run.step;
            });
        }
        repeat(CURVES_MS, following.signal, async () => {
            if (!dirty) return;
            dirty = false;
            await drawCurves();
        });
    };

    const chosenChanged = async () => {
        if (chosen.length) chooseRun(chosen[0]);
        followRuns();
        await Promise.all([drawCurves(), drawDetails()]);
    };
    async function choose(name, on) {
        chosen = on ? [...chosen, name].slice(-RUNS_MOST) : chosen.filter((one) => one !== name);
        setParameters({ run: chosen });
        drawList();
        announce(`${chosen.length} runs are compared`);
        await chosenChanged().catch((error) => live(error.message));
    }
    search.oninput = () => (setParameters({ search: search.value }), drawList());
    for (const input of [points, from, to])
        input.onchange = () => {
            setParameters({ points: points.value, from: from.value, to: to.value });
            drawCurves().catch((error) => live(error.message));
        };
    drawList();
    if (list.runs.length) await chosenChanged();
    pause(LIST_MS, signal).then(() => repeat(LIST_MS, signal, async () => {
        list = await api("/v1/runs", signal);
        drawList();
    }));
}
