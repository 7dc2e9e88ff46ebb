// Trajectories of a run: the grid of problems and steps, and the list.
import { announce, api, bytes, chip, link, live, make, number, pause, query, replace, setParameters, times } from "./app.js";
import { longList } from "./list.js";

const LOOK_MS = 5000;
const STATUSES = ["passed", "wrong", "compile_error", "load_error", "runtime_error", "timeout", "out_of_memory", "violation", "no_code", "unsupported", "infrastructure_error", "cancelled"];

function indexText(index) {
    const parts = [`${number(index.trajectories)} trajectories, ${number(index.turns)} turns`];
    if (index.file_bytes - index.read_bytes > 1 << 20) parts.push(`read ${bytes(index.read_bytes)} of ${bytes(index.file_bytes)}`);
    if (index.broken) parts.push(`${number(index.broken)} lines are no turns`);
    if (index.left_out) parts.push(`${number(index.left_out)} turns are beyond the limit`);
    return parts.join("; ");
}

/** Asks again while the server still reads the file, which it does in parts. */
async function whole(path, signal, on) {
    for (;;) {
        const answer = await api(path, signal);
        const { index } = answer;
        const before = index.read_bytes;
        on(answer);
        if (index.file_bytes - before < 1 << 20 || signal.aborted) return answer;
        await pause(50, signal);
    }
}

// --- grid ----------------------------------------------------------------------------------------

const MEASURES = { passed: "Share passed", reward: "Mean reward" };

function cellOf(run, answer, row, [column, count, passed, reward], measure, range) {
    const [first, last] = answer.steps[column];
    const share = passed / count;
    const level = measure === "passed" ? share : reward === null ? 0 : (reward - range[0]) / (range[1] - range[0] || 1);
    const text = measure === "passed" ? Math.round(100 * share) : number(reward, 2);
    const steps = first === last ? `step ${first}` : `steps ${first} to ${last}`;
    return make("td", { class: `cell level${Math.round(5 * level)}` },
        make("a", { href: link("traces", [run], { problem: answer.problems[row], ...(first === last ? { step: first } : {}) }),
            title: `${answer.problems[row]}, ${steps}: ${passed} of ${count} passed, mean reward ${number(reward)}` }, String(text)));
}

function gridOf(run, answer, measure, search) {
    const rewards = answer.cells.flat().map((cell) => cell[3]).filter((value) => value !== null);
    const range = [Math.min(0, ...rewards.slice(0, 1)), 0];
    for (const value of rewards) {
        range[0] = Math.min(range[0], value);
        range[1] = Math.max(range[1], value);
    }
    const rows = answer.problems.map((name, row) => ({ name, row })).filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
    return make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Problems and steps" },
        make("table", { class: "grid" },
            make("caption", { class: "hidden" }, `${MEASURES[measure]} of each problem at each step`),
            make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Problem"),
                answer.steps.map(([first, last]) => make("th", { scope: "col", class: "number" }, first === last ? String(first) : `${first}–${last}`)))),
            make("tbody", {}, rows.map(({ name, row }) => {
                const cells = new Map(answer.cells[row].map((cell) => [cell[0], cell]));
                return make("tr", {}, make("th", { scope: "row" }, make("a", { href: link("traces", [run], { problem: name }) }, name)),
                    answer.steps.map((_, column) => (cells.has(column) ? cellOf(run, answer, row, cells.get(column), measure, range) : make("td", {}))));
            }))));
}

export async function showGrid({ main, parts: [run], parameters, signal }) {
    const measure = make("select", { id: "measure" }, Object.entries(MEASURES).map(([value, label]) =>
        make("option", { value, selected: value === parameters.get("measure") }, label)));
    const search = make("input", { id: "search", type: "search", "data-search": "", value: parameters.get("search") ?? "" });
    const columns = make("select", { id: "columns" }, ["20", "60", "200"].map((value) => make("option", { value, selected: value === (parameters.get("columns") ?? "20") }, value)));
    const part = make("div", {}, make("p", {}, "Reading …"));
    const state = make("p", { class: "more" });
    replace(main, make("h1", {}, `${run}: problems and steps`),
        make("div", { class: "bar" }, make("label", { for: "search" }, "Find a problem ", search), make("label", { for: "measure" }, "Shown ", measure),
            make("label", { for: "columns" }, "Columns ", columns)),
        make("section", { class: "card" }, part, state));
    let answer = null;
    const draw = () => {
        if (!answer) return;
        replace(part, answer.problems.length ? gridOf(run, answer, measure.value, search.value) : make("p", {}, "The run has no trajectories yet."));
        replace(state, indexText(answer.index), answer.left_out ? `; ${number(answer.left_out)} more problems` : "");
    };
    const load = async () => {
        const path = `/v1/runs/${encodeURIComponent(run)}/grid${query({ columns: columns.value })}`;
        const before = answer?.index;
        const now = await whole(path, signal, (part) => replace(state, indexText(part.index)));
        if (before && before.generation === now.index.generation && before.read_bytes === now.index.read_bytes && answer.steps.length === now.steps.length) return;
        answer = now;
        draw();
    };
    measure.onchange = search.oninput = () => (setParameters({ measure: measure.value, search: search.value }), draw());
    columns.onchange = () => (setParameters({ columns: columns.value }), (answer = null), load().catch((error) => live(error.message)));
    await load();
    refreshLater(signal, load);
}

function refreshLater(signal, load) {
    pause(LOOK_MS, signal).then(async () => {
        while (!signal.aborted) {
            if (!document.hidden) await load().catch((error) => signal.aborted || live(error.message));
            await pause(LOOK_MS, signal);
        }
    });
}

// --- list ----------------------------------------------------------------------------------------

const HEADS = ["Trajectory", "Problem", "Turns", "Best turn", "Reward", "Speedup"];

function cellsOf(run, row, number_) {
    return [make("a", { href: link("trajectory", [run, row.step, row.rollout]) }, `step ${number_(row.step)}, ${number_(row.rollout)}`), row.problem, String(row.turns),
        chip(row.status), number(row.reward), times(row.speedup)];
}

function filtersOf(parameters) {
    const input = (id, type, value, more = {}) => make("input", { id, type, value: value ?? "", ...more });
    return {
        problem: input("problem", "search", parameters.get("problem"), { "data-search": "" }),
        step: input("step", "number", parameters.get("step"), { min: "0" }),
        status: make("select", { id: "status" }, make("option", { value: "" }, "any"), STATUSES.map((value) =>
            make("option", { value, selected: value === parameters.get("status") }, value.replaceAll("_", " ")))),
        text: input("text", "search", parameters.get("text")),
    };
}

export async function showTraces({ main, parts: [run], parameters, signal, keys }) {
    const filters = filtersOf(parameters);
    const state = make("p", { class: "more", role: "status" }, "Reading …");
    const path = (more) => `/v1/runs/${encodeURIComponent(run)}/traces${query({ ...valuesOf(), ...more })}`;
    const valuesOf = () => Object.fromEntries(Object.entries(filters).map(([name, input]) => [name, input.value]));
    const plainNumber = (value) => String(value);
    let found = []; // of a search for a text, whose matches come one after the other
    let next = null;
    const list = longList({
        label: `Trajectories of ${run}`, heads: HEADS, signal,
        cells: (row) => cellsOf(run, row, plainNumber),
        fetchPage: async (from, count) => (filters.text.value ? found.slice(from, from + count) : (await api(path({ from, limit: count }), signal)).rows),
    });
    Object.assign(keys, list.keys);
    const further = make("button", { type: "button", hidden: true, onclick: () => search().catch((error) => live(error.message)) }, "Search further");
    const labels = { problem: "Problem", step: "Step", status: "Best turn", text: "Text in prompts or answers" };
    replace(main, make("h1", {}, `${run}: trajectories`),
        make("div", { class: "bar" }, Object.entries(filters).map(([name, input]) => make("label", { for: input.id }, `${labels[name]} `, input))),
        make("section", { class: "card" }, state, list.element, further));

    let last = null;
    const showState = (answer, count) => {
        last = answer.index;
        const all = count === answer.index.trajectories ? "" : `${number(count)} of `;
        replace(state, `${all}${indexText(answer.index)}`);
    };
    async function search() {
        const wanted = found.length + 200;
        further.hidden = true;
        do {
            const answer = await api(path({ from: next ?? 0, limit: 100 }), signal);
            found.push(...answer.rows);
            next = answer.next;
            replace(state, `${number(found.length)} found in ${next === null ? "all" : `the first ${number(next)}`} of ${number(answer.matched)} trajectories`);
            list.setCount(found.length);
            list.refresh();
        } while (next !== null && found.length < wanted && !signal.aborted);
        further.hidden = next === null;
        announce(`${found.length} trajectories found`);
    }
    const load = async () => {
        found = [];
        next = null;
        further.hidden = true;
        list.setCount(0);
        list.refresh();
        const answer = await whole(path({ limit: 1, text: "" }), signal, (part) => showState(part, part.matched));
        if (filters.text.value) return search();
        list.setCount(answer.matched);
        list.refresh();
        announce(`${answer.matched} trajectories`);
    };
    let typing = 0;
    for (const input of Object.values(filters))
        input.oninput = () => {
            clearTimeout(typing);
            typing = setTimeout(() => {
                setParameters(valuesOf());
                load().catch((error) => signal.aborted || live(error.message));
            }, 200);
        };
    await load();
    refreshLater(signal, async () => {
        if (filters.text.value) return;
        const answer = await api(path({ limit: 1 }), signal);
        if (last && answer.index.generation === last.generation && answer.index.read_bytes === last.read_bytes) return;
        const anew = last && answer.index.generation !== last.generation;
        showState(answer, answer.matched);
        list.setCount(answer.matched);
        if (anew) list.refresh();
    });
}
