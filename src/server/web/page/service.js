// The service: its queue, workers and devices.
import { ago, api, bytes, chip, make, number, repeat, replace, table } from "./app.js";

const LOOK_MS = 2000;

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

export async function showQueue({ main, signal }) {
    const part = make("div", { class: "stack" });
    const load = async () => {
        const [stats, { workers }] = await Promise.all([api("/v1/stats", signal), api("/v1/workers", signal)]);
        replace(part, queuePart(stats), workersPart(workers));
    };
    replace(main, make("h1", {}, "Queue, workers, devices"), part);
    await load();
    repeat(LOOK_MS, signal, load);
}
