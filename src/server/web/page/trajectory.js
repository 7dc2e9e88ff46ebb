// One trajectory, turn by turn: prompt, reasoning, code with its difference from the last turn,
// verdict, profile, stages, reward by part.
import { api, chip, link, make, number, percent, replace, times } from "./app.js";
import { later } from "./charts.js";

const SHOWN = 200000; // characters of a text; a button shows the rest
const DIFF_CELLS = 4e6; // of the table of a difference; larger ones are shown as replaced

/** A text of data, of which very long ones are cut until one asks for the rest. */
export function textPart(text, attributes = {}) {
    const whole = String(text ?? "");
    const pre = make("pre", { tabindex: "0", ...attributes }, whole.slice(0, SHOWN));
    if (whole.length <= SHOWN) return pre;
    const more = make("button", { type: "button", onclick: () => (replace(pre, whole), more.remove()) }, `Show all ${number(whole.length)} characters`);
    return make("div", {}, pre, more);
}

// --- differences ---------------------------------------------------------------------------------

/** [[sign, line], …] with " ", "-" and "+": the longest common subsequence of lines. */
export function difference(before, after) {
    const a = before.split("\n");
    const b = after.split("\n");
    let begin = 0;
    let end = 0;
    while (begin < Math.min(a.length, b.length) && a[begin] === b[begin]) begin++;
    while (end < Math.min(a.length, b.length) - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    const left = a.slice(begin, a.length - end);
    const right = b.slice(begin, b.length - end);
    const same = (lines) => lines.map((line) => [" ", line]);
    return [...same(a.slice(0, begin)), ...middleOf(left, right), ...same(a.slice(a.length - end))];
}

function middleOf(left, right) {
    const width = right.length + 1;
    if ((left.length + 1) * width > DIFF_CELLS) return [...left.map((line) => ["-", line]), ...right.map((line) => ["+", line])];
    const longest = new Uint32Array((left.length + 1) * width);
    for (let i = left.length - 1; i >= 0; i--)
        for (let k = right.length - 1; k >= 0; k--)
            longest[i * width + k] = left[i] === right[k] ? longest[(i + 1) * width + k + 1] + 1 : Math.max(longest[(i + 1) * width + k], longest[i * width + k + 1]);
    const lines = [];
    let i = 0;
    let k = 0;
    while (i < left.length || k < right.length)
        if (i < left.length && k < right.length && left[i] === right[k]) lines.push([" ", left[(k++, i++)]]);
        else if (i < left.length && (k === right.length || longest[(i + 1) * width + k] >= longest[i * width + k + 1])) lines.push(["-", left[i++]]);
        else lines.push(["+", right[k++]]);
    return lines;
}

const SIGNS = { "-": ["del", "removed: "], "+": ["ins", "added: "], " ": ["span", ""] };

function differencePart(before, after) {
    const lines = difference(before.slice(0, SHOWN), after.slice(0, SHOWN));
    const changed = lines.filter(([sign]) => sign !== " ").length;
    return make("div", {}, make("p", { class: "more" }, `${changed} lines differ from the turn before.`),
        make("pre", { class: "diff", tabindex: "0" }, lines.map(([sign, line]) =>
            make(SIGNS[sign][0], {}, make("span", { class: "hidden" }, SIGNS[sign][1]), `${sign} ${line}\n`))));
}

// --- parts of a turn -----------------------------------------------------------------------------

function bar(label, share, text, attributes = {}) {
    return make("li", attributes, make("span", { class: "bar-label" }, label), make("span", { class: "bar-track" },
        make("span", { class: "bar-fill", width: `${Math.max(0, Math.min(100, 100 * share))}%` })), make("span", { class: "bar-value" }, text));
}

function profilePart(profile) {
    const kernels = profile?.kernels ?? [];
    if (!kernels.length) return null;
    const total = kernels.reduce((sum, one) => sum + (one.time_us ?? 0), 0) || 1;
    return make("section", {}, make("h3", {}, "Profile"),
        make("p", { class: "more" }, `Own kernels: ${percent(profile.own_time_fraction)} of the time, ${percent(profile.own_launch_fraction)} of the launches.`),
        make("ul", { class: "bars" }, kernels.map((one) =>
            bar(`${one.name}${one.own ? " (own)" : ""}`, (one.time_us ?? 0) / total, `${number(one.time_us)} µs, ${number(one.launches)} launches`, { class: one.own ? "own" : null }))));
}

function stagesPart(stages) {
    const given = Object.entries(stages ?? {}).filter(([, ms]) => typeof ms === "number");
    const total = given.reduce((sum, [, ms]) => sum + ms, 0);
    if (!total) return null;
    let at = 0;
    return make("section", {}, make("h3", {}, `Stages of the judge: ${number(total)} ms`),
        make("ul", { class: "bars stages" }, given.map(([name, ms]) => {
            const begin = at;
            at += ms;
            return make("li", {}, make("span", { class: "bar-label" }, name), make("span", { class: "bar-track" },
                make("span", { class: "bar-fill", left: `${(100 * begin) / total}%`, width: `${Math.max(0.4, (100 * ms) / total)}%` })), make("span", { class: "bar-value" }, `${number(ms)} ms`));
        })));
}

function rewardPart(turn) {
    const parts = Object.entries(turn.reward_parts ?? {}).filter(([, value]) => typeof value === "number");
    const facts = [["reward", turn.reward], ["return", turn.return], ["advantage", turn.advantage]].filter(([, value]) => typeof value === "number");
    const most = Math.max(1, ...parts.map(([, value]) => Math.abs(value)));
    return make("section", {}, make("h3", {}, "Reward"),
        make("p", {}, turn.reward === null ? "Excluded: it is no fault of the answer. " : facts.map(([name, value]) => `${name} ${number(value)}`).join(", ")),
        parts.length ? make("ul", { class: "bars" }, parts.map(([name, value]) => bar(name, Math.abs(value) / most, number(value)))) : null,
        parts.length ? make("p", { class: "more" }, "Parts are before their weights.") : null);
}

const facts = (rows) => make("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "–")
    .map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));

function findingsPart(integrity) {
    const all = [["violation", integrity?.violations], ["warning", integrity?.warnings]].flatMap(([kind, list]) => (list ?? []).map((one) => [kind, one]));
    return all.length ? make("section", {}, make("h3", {}, "Findings"), make("ul", {}, all.map(([kind, one]) => make("li", {}, make("b", {}, `${kind} ${one.code}: `), one.evidence)))) : null;
}

/** Also of the evaluations of the queue. */
export function verdictPart(verdict) {
    if (!verdict) return make("p", {}, "There was no code to judge.");
    const { timing, correctness, error } = verdict;
    const interval = timing?.speedup_interval;
    return make("div", {},
        facts([["status", chip(verdict.status)], ["speedup", times(timing?.speedup)], ["95 % interval", Array.isArray(interval) ? `${number(interval[0])} to ${number(interval[1])}` : null],
            ["candidate", timing?.candidate ? `${number(timing.candidate.median)} ms` : null], ["reference", timing?.reference ? `${number(timing.reference.median)} ms` : null],
            ["trials", correctness ? `${number(correctness.passed)} of ${number(correctness.trials)} passed` : null], ["device", verdict.device], ["error", error ? `${error.class ?? ""}` : null]]),
        error?.message ? textPart(error.message, { class: "wrap" }) : null, error?.excerpt ? textPart(error.excerpt) : null,
        findingsPart(verdict.integrity), stagesPart(verdict.stages_ms), profilePart(verdict.profile),
        later("The verdict as JSON", () => textPart(JSON.stringify(verdict, null, 2)), { class: "text" }));
}

const messageOf = (message) => make("section", {}, make("h3", {}, message.role), textPart(typeof message.content === "string" ? message.content : JSON.stringify(message.content), { class: "wrap" }));

function turnPart(turn, before, open) {
    if (turn.error) return make("section", { class: "card turn" }, make("h2", {}, `Turn ${turn.turn}`), make("p", { class: "error" }, turn.error));
    const code = turn.parts?.code ?? "";
    const prompt = turn.prompt ?? [];
    const thought = turn.parts?.thought ?? "";
    return make("section", { class: "card turn", id: `turn-${turn.turn}`, tabindex: "-1", "aria-label": `Turn ${turn.turn}` },
        make("h2", {}, `Turn ${turn.turn} `, chip(turn.status ?? turn.verdict?.status ?? "no_code"), " ", times(turn.speedup), ` reward ${number(turn.reward)}`),
        later(`Prompt: ${prompt.length} messages`, () => prompt.map(messageOf), { class: "text", open }),
        thought ? later(`Reasoning: ${number(thought.length)} characters`, () => textPart(thought, { class: "wrap" }), { class: "text" }) : null,
        code ? later(`Code: ${number(code.split("\n").length)} lines`, () => textPart(code), { class: "text", open: before === null }) : make("p", {}, "There is no code in the answer."),
        before !== null && code ? later("Difference from the turn before", () => differencePart(before, code), { class: "text", open: true }) : null,
        later("The whole answer", () => textPart(turn.answer, { class: "wrap" }), { class: "text" }),
        make("h3", {}, "Verdict"), verdictPart(turn.verdict), rewardPart(turn));
}

export async function showTrajectory({ main, parts: [run, step, rollout], parameters, signal, keys }) {
    const answer = await api(`/v1/runs/${encodeURIComponent(run)}/traces/${encodeURIComponent(step)}/${encodeURIComponent(rollout)}`, signal);
    let before = null;
    const turns = answer.turns.map((turn, i) => {
        const part = turnPart(turn, before, i === 0);
        before = turn.parts?.code ?? before;
        return part;
    });
    const near = await api(`/v1/runs/${encodeURIComponent(run)}/traces?from=${Math.max(0, answer.number - 1)}&limit=3`, signal);
    const linkOf = (one) => (one ? link("trajectory", [run, one.step, one.rollout]) : null);
    const next = linkOf(near.rows.find((one) => one.number === answer.number + 1));
    const last = linkOf(near.rows.find((one) => one.number === answer.number - 1));
    replace(main, make("h1", {}, `${run}: step ${answer.step}, rollout ${answer.rollout}`),
        make("p", {}, "Problem ", make("a", { href: link("traces", [run], { problem: answer.problem }) }, answer.problem), `, ${answer.turns.length} turns. Best: `, chip(answer.status), ` reward ${number(answer.reward)} `, times(answer.speedup)),
        make("nav", { class: "bar", "aria-label": "Trajectories" }, last ? make("a", { href: last }, "Trajectory before") : null, next ? make("a", { href: next }, "Next trajectory") : null,
            turns.length > 1 ? answer.turns.map((turn) => make("button", { type: "button", onclick: () => go(turn.turn) }, `Turn ${turn.turn}`)) : null),
        turns);
    let at = Number(parameters.get("turn") ?? answer.turns[0]?.turn ?? 0);
    function go(turn) {
        at = turn;
        const part = main.querySelector(`#turn-${Number(turn)}`);
        part?.scrollIntoView();
        part?.focus({ preventScroll: true });
    }
    const move = (by) => () => {
        const i = answer.turns.findIndex((turn) => turn.turn === at);
        go(answer.turns[Math.max(0, Math.min(answer.turns.length - 1, i + by))].turn);
    };
    Object.assign(keys, {
        j: { says: "Next turn", run: move(1) }, k: { says: "Turn before", run: move(-1) },
        n: { says: "Next trajectory", run: () => next && (location.hash = next) }, p: { says: "Trajectory before", run: () => last && (location.hash = last) },
    });
    if (parameters.has("turn")) go(at);
}
