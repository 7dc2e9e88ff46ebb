// The dashboard's frame: requests, links, keys, and what all views share. Texts of data are
// untrusted: they become text nodes by make(), and nothing here writes HTML.
import { showRuns } from "./runs.js";
import { showGrid, showTraces } from "./traces.js";
import { showTrajectory } from "./trajectory.js";
import { showEvaluation, showLeaderboard, showQueue, showViolations } from "./service.js";

const byId = (id) => document.getElementById(id);

// --- elements ------------------------------------------------------------------------------------

// What changes the direction or the look of text around it is shown by its number.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
export const plain = (text) =>
    String(text).replace(HIDDEN, (one) => `⟦U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);

/** An element; children are elements, texts, or lists of them; null is left out. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "width") element.style.width = value;
        else if (name === "left") element.style.marginLeft = value;
        else element.setAttribute(name, value === true ? "" : plain(value));
    }
    fill(element, children);
    return element;
}

function fill(element, children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        element.append(child instanceof Node ? child : document.createTextNode(plain(child)));
    }
}

export function replace(element, ...children) {
    element.textContent = "";
    fill(element, children);
}

export function number(value, digits = 4) {
    if (typeof value !== "number" || !Number.isFinite(value)) return "–";
    if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en-US").replaceAll(",", " ");
    if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(2);
    return String(Number(value.toPrecision(digits)));
}
export const percent = (value) => (typeof value === "number" ? `${number(100 * value, 3)} %` : "–");
export const times = (value) => (typeof value === "number" && value > 0 ? `${number(value, 3)}×` : "–");
export const words = (text) => String(text ?? "").replaceAll("_", " ");

export function bytes(count) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    let value = count;
    for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1024;
    return `${number(value, 3)} ${units[unit]}`;
}

export function ago(time) {
    const seconds = time ? (Date.now() - Date.parse(time)) / 1000 : NaN;
    if (!Number.isFinite(seconds)) return "–";
    const steps = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"], [Infinity, 86400, "d"]];
    const [, each, unit] = steps.find(([below]) => seconds < below);
    return `${Math.max(0, Math.floor(seconds / each))} ${unit} ago`;
}

/** A status as a word with a mark, so that colour is not what says it. */
const MARKS = { passed: "✓", violation: "⚠", no_code: "∅", cancelled: "–", running: "▶", finished: "✓", stopped: "■" };
export const chip = (status) =>
    make("span", { class: `chip st-${/^[a-z_]+$/.test(status) ? status : "unknown"}` },
        make("i", { "aria-hidden": "true" }, MARKS[status] ?? "✗"), words(status));

/** rows: lists of cells; a cell is anything that make takes. heads: texts, "#…" for numbers. */
export function table(caption, heads, rows, attributes = {}) {
    const isNumber = heads.map((head) => head.startsWith("#"));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        make("table", attributes,
            make("caption", { class: "hidden" }, caption),
            make("thead", {}, make("tr", {}, heads.map((head, i) =>
                make("th", { scope: "col", class: isNumber[i] ? "number" : null }, head.replace(/^#/, ""))))),
            make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) =>
                i === 0 ? make("th", { scope: "row" }, cell)
                    : make("td", { class: isNumber[i] ? "number" : null }, cell)))))));
}

export const announce = (text) => replace(byId("announce"), text);
export const live = (text) => replace(byId("live"), text);

// --- requests ------------------------------------------------------------------------------------

const TOKEN = "warpgym-token";
let asking = null;

/** Resolves when the reader has given a token. */
function wantToken(wrong) {
    asking ??= new Promise((done) => {
        const dialog = byId("token");
        const form = byId("token-form");
        if (wrong) replace(byId("token-why"), "That token is not the server's. Try again.");
        form.onsubmit = (event) => {
            event.preventDefault();
            sessionStorage.setItem(TOKEN, byId("token-text").value);
            byId("token-text").value = "";
            dialog.close();
            asking = null;
            done();
        };
        dialog.oncancel = (event) => event.preventDefault();
        dialog.showModal();
    });
    return asking;
}

async function request(path, signal) {
    for (;;) {
        const token = sessionStorage.getItem(TOKEN);
        const headers = token ? { Authorization: `Bearer ${token}` } : {};
        const answer = await fetch(path, { headers, signal, cache: "no-store" });
        if (answer.status !== 401) return answer;
        await wantToken(Boolean(token));
    }
}

/** The JSON of a path; an error has the server's sentence. */
export async function api(path, signal) {
    const answer = await request(path, signal);
    const value = await answer.json().catch(() => null);
    if (answer.ok && value !== null) return value;
    const error = new Error(value?.error?.message ?? value?.detail ?? `the server answered ${answer.status}`);
    error.status = answer.status;
    throw error;
}

export function query(parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** Calls `on` with the name and data of each server-sent event until the signal ends it. */
export async function follow(path, signal, on) {
    for (let wait = 1000; !signal.aborted; wait = Math.min(2 * wait, 30000)) {
        try {
            const answer = await request(path, signal);
            if (answer.status === 404) return;
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            let text = "";
            for (;;) {
                const { value, done } = await reader.read();
                if (done) break;
                text += value;
                const parts = text.split("\n\n");
                text = parts.pop();
                for (const part of parts) {
                    const lines = part.split("\n");
                    const of = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
                    if (of("data")) on(of("event") || "message", JSON.parse(of("data")));
                    wait = 1000;
                }
            }
        } catch (error) {
            if (signal.aborted) return;
        }
        await pause(wait, signal);
    }
}

export const pause = (ms, signal) =>
    new Promise((done) => {
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
    });

/** Repeats work until the signal; while the page is hidden it rests. */
export async function repeat(ms, signal, work) {
    while (!signal.aborted) {
        if (!document.hidden) await work().catch((error) => live(error.message));
        await pause(ms, signal);
    }
}

let charts = null;
/** The plotting library, loaded when the first curve needs it; null: this build has none. */
export function plotting() {
    charts ??= new Promise((done) => {
        if (!server.charts) return done(null);
        const script = make("script", { src: "/web/chart.min.js" });
        script.onload = () => done(globalThis.Chart);
        script.onerror = () => done(null);
        document.head.append(script);
    });
    return charts;
}

// --- links ---------------------------------------------------------------------------------------

/** What the server has: {folder, queue, charts, version}. */
export const server = {};

const VIEWS = [
    { path: "runs", title: "Runs", show: showRuns, key: "1" },
    { path: "grid", title: "Grid", show: showGrid, key: "2", ofRun: true },
    { path: "traces", title: "Trajectories", show: showTraces, key: "3", ofRun: true },
    { path: "trajectory", title: "Trajectory", show: showTrajectory, hidden: true },
    { path: "leaderboard", title: "Leaderboard", show: showLeaderboard, key: "4", ofQueue: true },
    { path: "queue", title: "Queue", show: showQueue, key: "5", ofQueue: true },
    { path: "violations", title: "Violations", show: showViolations, key: "6", ofQueue: true },
    { path: "evaluation", title: "Evaluation", show: showEvaluation, ofQueue: true, hidden: true },
];

/** A link within the page: link("trajectory", ["run", 3, 0], {turn: 1}). */
export const link = (view, parts = [], parameters = {}) =>
    `#/${[view, ...parts].map(encodeURIComponent).join("/")}${query(parameters)}`;

function place() {
    const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").map((part) => {
        try {
            return decodeURIComponent(part);
        } catch {
            return part;
        }
    });
    return { view: parts[0] || "runs", parts: parts.slice(1), parameters: new URLSearchParams(search) };
}

/** Changes the link's parameters; the view stays unless `again`. */
export function setParameters(changes, again = false) {
    const here = place();
    for (const [name, value] of Object.entries(changes)) {
        here.parameters.delete(name);
        for (const one of [value].flat()) if (one !== "" && one !== null && one !== undefined) here.parameters.append(name, one);
    }
    const search = here.parameters.toString();
    history.replaceState(null, "", `#/${[here.view, ...here.parts].map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`);
    if (again) show();
}

let ending = null;
let lastRun = null;

function shownViews() {
    return VIEWS.filter((view) => !view.hidden && (!view.ofQueue || server.queue) && (!view.ofRun || lastRun !== null));
}
const hrefOf = (view) => link(view.path, view.ofRun ? [lastRun] : []);

function showViews(current) {
    replace(byId("views"), shownViews().map((view) =>
        make("a", { href: hrefOf(view), "aria-current": view.path === current ? "page" : null }, view.title)));
}

async function show() {
    const { view: path, parts, parameters } = place();
    const view = VIEWS.find((one) => one.path === path && (!one.ofQueue || server.queue)) ?? VIEWS[0];
    const main = byId("main");
    ending?.abort();
    ending = new AbortController();
    const { signal } = ending;
    document.documentElement.removeAttribute("data-ready");
    view.keys = {};
    shown = view;
    if (["grid", "traces", "trajectory"].includes(view.path) && parts[0]) lastRun = parts[0];
    showViews(view.path === "trajectory" ? "traces" : view.path);
    document.title = `${view.title}${parts[0] ? ` · ${plain(parts[0])}` : ""} · warpgym`;
    live("");
    try {
        await view.show({ main, parts, parameters, signal, keys: view.keys });
    } catch (error) {
        if (signal.aborted) return;
        replace(main, make("h1", {}, view.title), make("p", { class: "error", role: "alert" }, `${error.message}.`));
    }
    if (!signal.aborted) document.documentElement.dataset.ready = view.path;
}

/** A run that views of one run go to. */
export function chooseRun(name) {
    if (lastRun === name) return;
    lastRun = name;
    showViews(place().view);
}

// --- keys ----------------------------------------------------------------------------------------

let shown = VIEWS[0];
const KEYS_OFF = "warpgym-keys-off";

function keyRows() {
    const views = shownViews().map((view) => [view.key, view.title]);
    const own = Object.entries(shown.keys ?? {}).map(([key, { says }]) => [key, says]);
    return [["?", "These keys"], ["/", "Search"], ["Esc", "Close, or leave a field"], ...views, ...own];
}

function openKeys() {
    replace(byId("key-list"), keyRows().map(([key, says]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, says)]));
    byId("keys-on").checked = !localStorage.getItem(KEYS_OFF);
    byId("keys").showModal();
}

function onKey(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing) typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem(KEYS_OFF)) return;
    if (document.querySelector("dialog[open]")) return;
    const view = shownViews().find((one) => one.key === event.key);
    const own = shown.keys?.[event.key];
    if (event.key === "?") openKeys();
    else if (event.key === "/") document.querySelector("main [data-search]")?.focus();
    else if (view) location.hash = hrefOf(view);
    else if (own) own.run();
    else return;
    event.preventDefault();
}

async function begin() {
    byId("help").onclick = openKeys;
    byId("keys-close").onclick = () => byId("keys").close();
    byId("keys-on").onchange = (event) =>
        event.target.checked ? localStorage.removeItem(KEYS_OFF) : localStorage.setItem(KEYS_OFF, "1");
    addEventListener("keydown", onKey);
    document.querySelector(".skip").onclick = (event) => {
        event.preventDefault();
        byId("main").focus();
    };
    Object.assign(server, await api("/v1/dashboard"));
    addEventListener("hashchange", () => {
        show();
        scrollTo(0, 0);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    await show();
}

begin().catch((error) => replace(byId("main"), make("h1", {}, "warpgym"), make("p", { class: "error", role: "alert" }, `${error.message}.`)));
