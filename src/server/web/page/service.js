// The service: leaderboard, queue, workers and devices, violations, one evaluation.
import { ago, announce, api, bytes, chip, follow, link, live, make, number, pause, percent, query, repeat, replace, setParameters, table, times } from "./app.js";
import { longList } from "./list.js";
import { textPart, verdictPart } from "./trajectory.js";

const LOOK_MS = 2000;

// --- queue ---------------------------------------------------------------------------------------

function queuePart(stats) {
    const queued = Object.entries(stats.queued).map(([priority, one]) => [priority, number(one.depth), one.depth ? `${number(one.oldest_ms / 1000)} s` : "–"]);
    return make("section", { class: "card" }, make("h2", {}, "Queue"),
        make("p", {}, `${number(stats.running)} jobs are being judged; ${number(stats.kept)} ended ones are kept; ${number(stats.lost_leases)} leases were lost.`),
        table("Queued jobs", ["Priority", "#Jobs", "#Oldest waits"], queued),
        table("Ended jobs", ["Outcome", "#Jobs"], Object.entries(stats.ended).map(([outcome, count]) => [chip(outcome), number(count)])));
}

const deviceRow = (worker, device) => [device.name ?? device.kind, worker.name, device.kind, make("span", {}, device.state, device.why ? make("small", {}, ` ${device.why}`) : null),
    device.memory_bytes ? bytes(device.memory_bytes) : `${number(device.cores)} cores`, number(device.evaluations), number(device.busy_s), number(device.exclusive_s)];

function workersPart(workers) {
    const rows = workers.map((worker) => [worker.name, worker.host, `${number(worker.jobs?.running)} of ${number(worker.jobs?.slots)}`, worker.draining ? "drains" : (worker.claims ?? []).join(", "), ago(worker.heartbeat_at), worker.version]);
    const devices = workers.flatMap((worker) => (worker.devices ?? []).map((device) => deviceRow(worker, device)));
    return [
        make("section", { class: "card" }, make("h2", {}, "Workers"), rows.length ? table("Workers", ["Worker", "Host", "#Slots in use", "Takes", "Heartbeat", "Version"], rows) : make("p", {}, "No worker is alive. ", make("code", {}, "warpgym worker"), " starts one.")),
        make("section", { class: "card" }, make("h2", {}, "Devices"), table("Devices", ["Device", "Worker", "Kind", "State", "#Memory", "#Evaluations", "#Busy s", "#Locked s"], devices)),
    ];
}


/** GPUs as their last timed evaluation found them. */
function clocksPart(devices) {
    if (!devices.length) return null;
    const range = (pair) => (Array.isArray(pair) ? pair.map((one) => number(one)).join(" → ") : "–");
    return make("section", { class: "card" }, make("h2", {}, "Clocks and heat, as last timed"),
        table("Clocks", ["Device", "Worker", "#SM MHz", "#Lowest", "#Highest possible", "#°C", "#W", "Throttled", "When"], devices.map(({ device, worker, clocks, ended_at }) =>
            [device, worker, range(clocks?.sm_mhz), number(clocks?.sm_lowest_mhz), number(clocks?.sm_max_mhz), range(clocks?.temperature_c), number(clocks?.power_w), (clocks?.throttled ?? []).join(", ") || "no", ago(ended_at)])));
}

export async function showQueue({ main, signal }) {
    const part = make("div", { class: "stack" });
    const load = async () => {
        const [stats, { workers }, { devices }] = await Promise.all([api("/v1/stats", signal), api("/v1/workers", signal), api("/v1/devices", signal)]);
        replace(part, queuePart(stats), workersPart(workers), clocksPart(devices));
    };
    replace(main, make("h1", {}, "Queue, workers, devices"), part);
    await load();
    liveLoad(signal, load);
}

/** Loads again when jobs change, at most every LOOK_MS, and now and then in any case. */
function liveLoad(signal, load) {
    let changed = false;
    let idle = 0;
    follow("/v1/events", signal, () => (changed = true));
    live("live");
    pause(LOOK_MS, signal).then(() => repeat(LOOK_MS, signal, async () => {
        if (!changed && ++idle < 3) return;
        changed = false;
        idle = 0;
        await load();
    }));
}

const progressText = ({ read, complete, why }) =>
    why ? `The queue cannot be read: ${why}` : complete ? "" : `Still reading the queue: ${number(read)} evaluations so far, the newest first.`;

// --- leaderboard ---------------------------------------------------------------------------------

const intervalText = ({ interval: [low, high] }) => (low === null || high === null ? "–" : `${number(low, 3)} to ${number(high, 3)}`);

const statusesPart = (statuses) => make("p", {}, Object.entries(statuses).map(([status, count]) => [chip(status), ` ${number(count)} `]));

async function showLeaders(main, problem, signal) {
    const part = make("div", { class: "stack" });
    const load = async () => {
        const answer = await api(`/v1/leaderboard/${problem.split("/").map(encodeURIComponent).join("/")}`, signal);
        const rows = answer.candidates.map((one, i) => [make("a", { href: link("evaluation", [one.id]) }, `${i + 1}. ${one.hash.slice(0, 12)}`), times(one.speedup), intervalText(one), one.language, one.worker, ago(one.ended_at)]);
        replace(part, statusesPart(answer.statuses), make("section", { class: "card" }, make("h2", {}, "Fastest candidates"),
            table("Fastest candidates", ["Candidate", "#Speedup", "#95 % interval", "Language", "Worker", "When"], rows),
            make("p", { class: "more" }, `Of ${number(answer.evaluations)} evaluations. A candidate counts by its last verdict. ${progressText(answer.progress)}`)), best);
        return answer.candidates[0]?.id;
    };
    const best = make("section", { class: "card stack" });
    replace(main, make("p", {}, make("a", { href: link("leaderboard") }, "All problems")), make("h1", {}, problem), part);
    let shown = null;
    const loadBest = async () => {
        const id = await load();
        if (!id || id === shown) return;
        shown = id;
        const candidate = await api(`/v1/evaluations/${encodeURIComponent(id)}/candidate`, signal).catch(() => null);
        replace(best, make("h2", {}, "The fastest one"), candidate ? textPart(candidate.source) : make("p", {}, "The queue does not keep it any more."));
    };
    await loadBest();
    liveLoad(signal, loadBest);
}

export async function showLeaderboard({ main, parts, parameters, signal, keys }) {
    if (parts[0]) return showLeaders(main, parts[0], signal);
    const search = make("input", { id: "search", type: "search", "data-search": "", value: parameters.get("search") ?? "" });
    const state = make("p", { class: "more", role: "status" });
    const path = (more) => `/v1/leaderboard${query({ search: search.value, ...more })}`;
    const list = longList({
        label: "Problems", heads: ["Problem", "Fastest candidate", "Evaluations", "Passed", "Speedup", "When"], signal,
        fetchPage: async (from, limit) => (await api(path({ from, limit }), signal)).problems,
        cells: (row) => [make("a", { href: link("leaderboard", [row.problem]) }, row.problem), row.best ? `${row.best.language} ${row.best.hash.slice(0, 12)}` : "none has passed", number(row.evaluations),
            percent(row.passed / row.evaluations), row.best ? times(row.best.speedup) : "–", ago(row.best?.ended_at)],
    });
    Object.assign(keys, list.keys);
    replace(main, make("h1", {}, "Leaderboard"), make("div", { class: "bar" }, make("label", { for: "search" }, "Find a problem ", search)),
        make("section", { class: "card" }, state, list.element));
    const load = async (again) => {
        const answer = await api(path({ limit: 1 }), signal);
        replace(state, `${number(answer.matched)} problems. ${progressText(answer.progress)}`);
        list.setCount(answer.matched);
        await (again ? list.update() : list.refresh());
    };
    search.oninput = () => (setParameters({ search: search.value }), load(false).then(() => announce(state.textContent)).catch((error) => live(error.message)));
    await load(false);
    liveLoad(signal, () => load(true));
}

// --- violations ----------------------------------------------------------------------------------

export async function showViolations({ main, signal }) {
    const part = make("div", { class: "stack" });
    const load = async () => {
        const { violations, progress } = await api("/v1/violations?limit=200", signal);
        replace(part, make("p", { class: "more", role: "status" }, progressText(progress)),
            violations.length ? null : make("p", {}, "No violation was found."),
            violations.map((one) => make("article", { class: "card" },
                make("h2", {}, make("a", { href: link("evaluation", [one.id]) }, one.problem || one.id), " ", chip(one.status)),
                make("ul", {}, one.findings.map((finding) => make("li", {}, make("b", {}, `${finding.code}: `), finding.evidence))),
                make("p", { class: "more" }, `${ago(one.ended_at)}, by ${one.worker || "no worker"}`))));
    };
    replace(main, make("h1", {}, "Violations"), part);
    await load();
    liveLoad(signal, load);
}

// --- one evaluation ------------------------------------------------------------------------------

export async function showEvaluation({ main, parts: [id], signal }) {
    const path = `/v1/evaluations/${encodeURIComponent(id)}`;
    const [evaluation, candidate] = await Promise.all([api(path, signal), api(`${path}/candidate`, signal).catch(() => null)]);
    const problem = evaluation.verdict?.problem?.id;
    replace(main, make("h1", {}, `Evaluation ${id}`),
        make("p", {}, `${evaluation.state}, submitted ${ago(evaluation.created_at)}`, problem ? [", problem ", make("a", { href: link("leaderboard", [problem]) }, problem)] : null),
        make("section", { class: "card" }, make("h2", {}, "Verdict"), evaluation.verdict ? verdictPart(evaluation.verdict) : make("p", {}, "There is none yet.")),
        make("section", { class: "card" }, make("h2", {}, "Candidate"), candidate ? textPart(candidate.source) : make("p", {}, "The queue does not keep it.")));
}
