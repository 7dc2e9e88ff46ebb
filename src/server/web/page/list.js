// A table of very many rows, of which those in sight are in the document. Rows are fetched by pages
// as they come into sight.
import { make, replace } from "./app.js";

const ROW = 34; // pixels, as .rows has it
const SPARE = 12; // rows beyond both edges
const PAGE = 200;
const PAGES_KEPT = 60;

/** heads: texts; fetchPage(from, count) → rows; cells(row) → elements or texts, the first of which is
 *  the row's link. Returns {element, setCount, refresh, keys}. */
export function longList({ label, heads, fetchPage, cells, signal }) {
    const pages = new Map(); // page → rows, or "fetching"
    const made = new Map(); // row number → element
    let count = 0;
    let active = 0;
    const body = make("div", { class: "rows-all", role: "none" });
    const scroller = make("div", { class: "rows-scroll", role: "rowgroup", tabindex: "0", "aria-label": `${label}, scrolled` }, body);
    const head = make("div", { class: "row head", role: "row" }, heads.map((one) => make("span", { role: "columnheader" }, one)));
    const element = make("div", { class: "rows", role: "table", "aria-label": label, "aria-colcount": heads.length },
        make("div", { role: "rowgroup" }, head), scroller);

    const rowAt = (i) => {
        const page = pages.get(Math.floor(i / PAGE));
        return Array.isArray(page) ? page[i % PAGE] : undefined;
    };

    /** Puts a row into place i; elements that are out of sight are used again. */
    function setRow(row, i) {
        const data = rowAt(i);
        row.style.transform = `translateY(${i * ROW}px)`;
        row.setAttribute("aria-rowindex", String(i + 2));
        const key = data ? JSON.stringify(data) : "";
        if (row.key === key) return;
        row.key = key;
        row.className = data ? "row" : "row waiting";
        replace(row, data ? cells(data, i).map((cell) => make("span", { role: "cell" }, cell)) : make("span", { role: "cell" }, "…"));
    }

    function draw() {
        const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
        const end = Math.min(count, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + SPARE);
        const spare = [];
        for (const [i, row] of made)
            if (i < first || i >= end) {
                spare.push(row);
                made.delete(i);
            }
        // A row that has the focus keeps it, where it is not needed.
        spare.sort((a, b) => Number(a.contains(document.activeElement)) - Number(b.contains(document.activeElement))).reverse();
        for (let i = first; i < end; i++) {
            const row = made.get(i) ?? spare.pop() ?? body.appendChild(make("div", { class: "row", role: "row" }));
            made.set(i, row);
            setRow(row, i);
        }
        for (const row of spare) row.remove();
        wantPages(first, end);
    }

    let waiting = 0;
    let before = 0;
    // While one scrolls fast, pages that have gone by are not fetched.
    function wantPages(first, end) {
        const fetchAll = () => {
            for (let page = Math.floor(first / PAGE); page * PAGE < end; page++) if (!pages.has(page)) getPage(page);
        };
        clearTimeout(waiting);
        if (Math.abs(first - before) < PAGE / 4) fetchAll();
        else waiting = setTimeout(fetchAll, 60);
        before = first;
    }

    async function getPage(page) {
        pages.set(page, "fetching");
        try {
            const rows = await fetchPage(page * PAGE, PAGE);
            pages.set(page, rows);
            if (pages.size > PAGES_KEPT) pages.delete(pages.keys().next().value);
        } catch (error) {
            pages.delete(page);
            if (!signal.aborted) setTimeout(draw, 2000);
            return;
        }
        if (!signal.aborted) draw();
    }

    let asked = false;
    scroller.addEventListener("scroll", () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            draw();
        });
    }, { passive: true });
    new ResizeObserver(draw).observe(scroller);

    function go(by) {
        active = Math.min(count - 1, Math.max(0, active + by));
        const top = active * ROW;
        if (top < scroller.scrollTop) scroller.scrollTop = top;
        if (top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW - scroller.clientHeight;
        draw();
        made.get(active)?.querySelector("a")?.focus({ preventScroll: true });
    }
    element.addEventListener("keydown", (event) => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (by) {
            go(by);
            event.preventDefault();
        }
    });
    element.addEventListener("focusin", (event) => {
        for (const [i, row] of made) if (row.contains(event.target)) active = i;
    });

    return {
        element,
        scroller,
        keys: { j: { says: "Next row", run: () => go(1) }, k: { says: "Row before", run: () => go(-1) } },
        setCount(now) {
            count = now;
            element.setAttribute("aria-rowcount", String(now + 1));
            body.style.height = `${now * ROW}px`;
            draw();
        },
        /** Forgets what it has: the rows are others now. */
        refresh() {
            pages.clear();
            for (const row of made.values()) row.remove();
            made.clear();
            draw();
        },
        /** Fetches what is in sight again; rows that are the same stay as they are. */
        async update() {
            const seen = [...new Set([...made.keys()].map((i) => Math.floor(i / PAGE)))];
            const rows = await Promise.all(seen.map((page) => fetchPage(page * PAGE, PAGE)));
            pages.clear();
            seen.forEach((page, i) => pages.set(page, rows[i]));
            if (!signal.aborted) draw();
        },
    };
}
