"use strict";
// The table of problems: filters, order, and what the models wrote. Texts of strangers come into
// the page as text nodes only; trusted types (see the policy) would refuse anything else.
(() => {
    const byId = (id) => document.getElementById(id);

    // ---- what a mark in a plot stands for

    const tip = byId("tip");
    document.addEventListener("pointermove", (event) => {
        const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
        tip.hidden = !mark;
        if (!mark) return;
        tip.textContent = mark.getAttribute("data-tip");
        const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
        const above = event.clientY - tip.offsetHeight - 12;
        tip.style.transform = `translate(${Math.max(left, 8)}px, ${above > 4 ? above : event.clientY + 18}px)`;
    });

    const table = document.querySelector("table.problems");
    if (!table) {
        document.documentElement.dataset.ready = "0";
        return;
    }
    const body = table.tBodies[0];
    const rows = [...body.rows];

    const make = (tag, options = {}, ...children) => {
        const element = document.createElement(tag);
        for (const [key, value] of Object.entries(options)) {
            if (key === "class") element.className = value;
            else element.setAttribute(key, value);
        }
        element.append(...children.filter((child) => child !== null && child !== undefined));
        return element;
    };

    // Marks that turn the direction of text would let code read as what it is not.
    const plain = (text) =>
        String(text).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
            (mark) => `\u27e8U+${mark.charCodeAt(0).toString(16).toUpperCase()}\u27e9`);

    // ---- filters

    const filters = { level: byId("level"), category: byId("category") };
    for (const [name, select] of Object.entries(filters)) {
        const values = new Set(rows.map((row) => row.dataset[name]).filter(Boolean));
        for (const value of [...values].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })))
            select.append(make("option", { value }, value));
        select.parentElement.hidden = values.size < 2;
    }

    const detailOf = (row) => {
        const next = row.nextElementSibling;
        return next && next.className === "detail" ? next : null;
    };

    const filter = () => {
        const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
        const state = byId("show").value;
        let shown = 0;
        for (const row of rows) {
            const data = row.dataset;
            const text = `${row.cells[0].dataset.v} ${data.level} ${data.category}`.toLowerCase();
            const fits = words.every((word) => text.includes(word)) &&
                (!state || data.state.split(" ").includes(state)) &&
                Object.entries(filters).every(([name, select]) => !select.value || select.value === data[name]);
            row.hidden = !fits;
            const detail = detailOf(row);
            if (detail) detail.hidden = !fits;
            shown += fits;
        }
        byId("count").textContent = shown === rows.length ? `${shown} problems` : `${shown} of ${rows.length}`;
    };
    for (const id of ["find", "show", "level", "category"]) byId(id).addEventListener("input", filter);

    // ---- order

    table.tHead.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        const head = button.parentElement;
        const numbers = button.dataset.type === "number";
        const before = head.getAttribute("aria-sort");
        const falling = before ? before === "ascending" : numbers;
        for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const value = (row) => row.cells[head.cellIndex].dataset.v;
        const compare = numbers
            ? (a, b) => Number(value(a)) - Number(value(b))
            : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
        const order = [...rows].sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
        const parts = order.flatMap((row) => [row, detailOf(row)].filter(Boolean));
        body.append(...parts);
    });

    // ---- episodes

    const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
    const number = (value, digits = 3) => (isNumber(value) ? Number(value.toPrecision(digits)).toString() : "–");
    const words = (name) => name.replace(/_/g, " ");

    const listing = (text) => {
        const pre = make("pre", { class: "lines" });
        for (const line of plain(text).replace(/\n$/, "").split("\n")) pre.append(make("span", {}, line));
        return pre;
    };

    const textPart = (title, text, open) => {
        if (!text) return null;
        const pre = make("pre", { class: "wrap" }, plain(text));
        return open
            ? make("div", { class: "text" }, make("h5", {}, title), pre)
            : make("details", { class: "text" }, make("summary", {}, title), pre);
    };

    const list = (pairs) => {
        const element = make("dl", { class: "facts" });
        for (const [name, value] of pairs)
            if (value !== null && value !== undefined && value !== "")
                element.append(make("dt", {}, name), make("dd", {}, plain(value)));
        return element;
    };

    const findings = (items) =>
        Array.isArray(items) ? items.map((item) => `${item.code}: ${item.evidence}`).join("; ") : "";

    const timing = (time) => {
        if (!time || !time.candidate || !time.reference) return "";
        const roof = isNumber(time.roofline_fraction) ? `, ${number(100 * time.roofline_fraction)} % of the roofline` : "";
        return `${number(time.candidate.median)} ms, the reference ${number(time.reference.median)} ms${roof}` +
            (time.note ? ` (${time.note})` : "");
    };

    const kernels = (items) =>
        Array.isArray(items)
            ? items.map((item) => `${item.name} ${number(item.time_us)} µs × ${item.launches}${item.own ? "" : " (not its own)"}`).join("; ")
            : "";

    const parts = (object) =>
        Object.entries(object || {}).filter(([, value]) => isNumber(value)).map(([key, value]) => `${key} ${number(value)}`).join(", ");

    const usage = (use) =>
        use && use.completion_tokens >= 0 ? `${use.prompt_tokens} in, ${use.completion_tokens} out` : "";

    const factsOf = (turn) => {
        const facts = turn.facts || {};
        const error = facts.error || {};
        const correctness = facts.correctness;
        return list([
            ["Error", error.message ? `${error.class}: ${error.message}` : ""],
            ["Trials", correctness ? `${correctness.passed} of ${correctness.trials} passed` : ""],
            ["Time", timing(facts.timing)],
            ["Kernels", kernels(facts.kernels)],
            ["Violations", facts.integrity ? findings(facts.integrity.violations) : ""],
            ["Warnings", facts.integrity ? findings(facts.integrity.warnings) : ""],
            ["Reward", `${number(turn.reward)} (return ${number(turn.return)})${turn.parts ? `: ${parts(turn.parts)}` : ""}`],
            ["Tokens", usage(turn.usage)],
            ["Took", [["answer", turn.answer_ms], ["judging", turn.judge_ms]].filter(([, ms]) => isNumber(ms))
                .map(([name, ms]) => `${name} ${number(ms / 1000)} s`).join(", ")],
            ["Device", facts.device],
        ]);
    };

    const bodyOf = (turn) => {
        const error = (turn.facts && turn.facts.error) || {};
        return make("div", { class: "body" },
            factsOf(turn),
            textPart("What the compiler or the run said", error.excerpt, true),
            turn.code ? make("div", { class: "text" }, make("h5", {}, "Candidate"), listing(turn.code)) : null,
            textPart("Feedback", turn.feedback, true),
            textPart("Thought", turn.thought, false),
            textPart("Whole answer", turn.answer, false));
    };

    const speed = (turn) => {
        if (!(turn.speedup > 0)) return "";
        const interval = turn.low > 0 ? ` (${turn.low.toFixed(2)} to ${turn.high.toFixed(2)})` : "";
        return `${turn.speedup.toFixed(2)}×${interval}`;
    };

    const turnPart = (turn) => {
        const details = make("details", { class: "turn", "data-speedup": String(turn.correct ? turn.speedup : -1) },
            make("summary", {},
                make("span", {}, `turn ${turn.turn}`),
                make("span", { class: `chip st-${turn.status}` }, make("i"), words(turn.status)),
                make("b", {}, speed(turn)),
                make("small", {}, turn.excluded ? "says nothing of the candidate" : `reward ${number(turn.reward)}`)));
        details.addEventListener("toggle", () => {
            if (details.open && details.children.length === 1) details.append(bodyOf(turn));
        });
        return details;
    };

    const several = document.querySelectorAll(".run").length > 1;
    const episodePart = (id) => {
        const block = byId(`e${id}`);
        const episode = block ? JSON.parse(block.textContent) : null;
        if (!episode) return make("div", { class: "episode" }, "This episode could not be read.");
        const iteration = episode.iteration > 0 ? `, iteration ${episode.iteration}` : "";
        const head = make("h4", {},
            `${several ? `${plain(episode.run)}, ` : ""}sample ${episode.sample}${iteration} `,
            make("span", {}, plain([episode.model, episode.language, `ended: ${episode.end}`,
                `return ${number(episode.return)}`, episode.episode].filter(Boolean).join(" · "))));
        const part = make("div", { class: "episode" }, head, ...episode.turns.map(turnPart));
        if (!episode.whole)
            part.append(make("p", { class: "more" }, "The page is full: its texts are in trajectories.jsonl only."));
        return part;
    };

    const toggle = (row, button) => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        if (open) {
            detailOf(row).remove();
            return;
        }
        const ids = row.dataset.episodes.split(" ").filter(Boolean);
        const cell = make("div", { class: "episodes" }, ...ids.map(episodePart));
        if (ids.length === 0) cell.append("This problem was not reached.");
        row.after(make("tr", { class: "detail" }, make("td", { colspan: String(row.cells.length) }, cell)));
    };
    body.addEventListener("click", (event) => {
        const button = event.target.closest("th > button");
        if (button) toggle(button.closest("tr"), button);
    });

    // page.html#problem=NAME shows that problem, with the fastest of its turns.
    const follow = () => {
        const [, name] = location.hash.match(/^#problem=(.*)$/) || [];
        const row = name && rows.find((one) => one.cells[0].dataset.v === decodeURIComponent(name));
        if (!row) return;
        const button = row.querySelector("th > button");
        if (!detailOf(row)) toggle(row, button);
        const turns = [...detailOf(row).querySelectorAll("details.turn")];
        const speedOf = (turn) => Number(turn.dataset.speedup);
        if (turns.length) turns.reduce((best, turn) => (speedOf(turn) > speedOf(best) ? turn : best)).open = true;
        row.scrollIntoView();
    };
    addEventListener("hashchange", follow);

    filter();
    addEventListener("DOMContentLoaded", follow);
    document.documentElement.dataset.ready = String(rows.length);
})();
