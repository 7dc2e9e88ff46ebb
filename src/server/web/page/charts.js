// Curves over steps: Chart.js where the build has it, and the same numbers as a table in any case.
import { make, number, plotting, table } from "./app.js";

const DASHES = [[], [6, 3], [2, 3], [10, 3, 2, 3], [14, 4], [1, 4], [8, 2, 2, 2, 2, 2], [4, 8]];
const COLOURS = 8;

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The half width of the 95 % interval of a bucket's mean, as if its steps were independent. */
const halfWidth = (points, i) => (points.count[i] > 1 ? (1.96 * points.deviation[i]) / Math.sqrt(points.count[i]) : 0);

/** Two lines that bound the interval, and the mean on top of them. */
function datasetsOf(line, colour) {
    const { points } = line;
    const at = (value) => points.mean.map((_, i) => ({ x: (points.first[i] + points.last[i]) / 2, y: value(i) }));
    const edge = { borderWidth: 0, pointRadius: 0, pointHitRadius: 0, isEdge: true };
    return [
        { ...edge, data: at((i) => points.mean[i] - halfWidth(points, i)), fill: false },
        { ...edge, data: at((i) => points.mean[i] + halfWidth(points, i)), fill: "-1", backgroundColor: `${colour}2e` },
        {
            label: line.label, data: at((i) => points.mean[i]), borderColor: colour, backgroundColor: colour,
            borderWidth: 2, borderDash: line.dash, pointRadius: points.mean.length < 40 ? 2 : 0, pointHitRadius: 8, spanGaps: true,
        },
    ];
}

const optionsOf = (share) => {
    const soft = colourOf("--soft");
    const axis = { grid: { color: colourOf("--grid") }, ticks: { color: soft, maxTicksLimit: 6 } };
    return {
        animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        scales: {
            x: { type: "linear", bounds: "data", ...axis, ticks: { ...axis.ticks, includeBounds: false, precision: 0 }, title: { display: true, text: "step", color: soft } },
            y: { ...axis, ...(share ? { min: 0, max: 1 } : {}), ticks: { ...axis.ticks, callback: (value) => (share ? `${Math.round(100 * value)} %` : number(value, 3)) } },
        },
        plugins: {
            legend: { display: false },
            tooltip: {
                filter: (item) => !item.dataset.isEdge,
                callbacks: { title: (items) => (items.length ? `step ${number(items[0].parsed.x)}` : ""), label: (item) => `${item.dataset.label}: ${number(item.parsed.y)}` },
            },
        },
    };
};

const stepsOf = (points, i) => (points.first[i] === points.last[i] ? String(points.first[i]) : `${points.first[i]}–${points.last[i]}`);

const numbersOf = (title, lines) => () =>
    lines.map((line) => table(`${title}: ${line.label}`, ["Steps", "#Mean", "#± 95 %", "#Least", "#Greatest"],
        line.points.mean.map((_, i) => [stepsOf(line.points, i), number(line.points.mean[i]), number(halfWidth(line.points, i)),
            number(line.points.least[i]), number(line.points.greatest[i])])));

/** A <details> whose content is made when it is first opened. */
export function later(summary, content, attributes = {}) {
    const details = make("details", attributes, make("summary", {}, summary));
    const open = () => details.childElementCount === 1 && details.append(make("div", {}, content()));
    details.addEventListener("toggle", () => details.open && open());
    if (attributes.open) open();
    return details;
}

/** lines: [{label, points, colour: 0.., dash: 0..}], points as /v1/runs/:name/metrics has them. */
export async function curve(title, lines, { share = false, signal } = {}) {
    const Chart = await plotting();
    const given = lines.map((line) => ({ ...line, dash: DASHES[line.dash % DASHES.length], name: `--s${line.colour % COLOURS}` }));
    const last = (line) => line.points.mean.at(-1);
    const legend = make("ul", { class: "legend" }, given.map((line) =>
        make("li", {}, keyOf(line), `${line.label}: `, make("b", {}, share ? `${number(100 * last(line), 3)} %` : number(last(line))))));
    const canvas = make("canvas", { role: "img", "aria-label": `${title}: ${given.map((line) => `${line.label} is ${number(last(line))} at step ${line.points.last.at(-1)}`).join("; ")}` });
    const figure = make("figure", { class: "card chart" }, make("figcaption", {}, make("h3", {}, title)), legend,
        Chart ? make("div", { class: "canvas" }, canvas) : null,
        later("Numbers", numbersOf(title, given), { class: "numbers", open: !Chart }));
    if (!Chart) return figure;
    const datasets = given.flatMap((line) => datasetsOf(line, colourOf(line.name)));
    // Its size follows from the element's, which it has once it is in the page.
    requestAnimationFrame(() => {
        if (signal?.aborted) return;
        const chart = new Chart(canvas, { type: "line", data: { datasets }, options: optionsOf(share) });
        signal?.addEventListener("abort", () => chart.destroy(), { once: true });
    });
    return figure;
}

/** A short line as the curve has it: colour and dashes. */
function keyOf(line) {
    const key = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const set = (element, attributes) => Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    set(key, { width: 28, height: 8, class: "key", "aria-hidden": "true" });
    set(stroke, { x1: 0, x2: 28, y1: 4, y2: 4, class: `stroke-${line.name.slice(2)}`, "stroke-dasharray": line.dash.join(" ") });
    key.append(stroke);
    return key;
}
