// A table of very many rows, of which those in sight are in the document. Rows are fetched by pages
// as they come into sight.
import { make } from "./app.js";

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

    function makeRow(i) {
        const data = rowAt(i);
        const row = make("div", { class: data ? "row" : "row waiting", role: "row", "aria-rowindex": i + 2 },
            data ? cells(data, i).map((cell) => make("span", { role: "cell" }, cell)) : make("span", { role: "cell" }, "…"));
        row.style.transform = `translateY(${i * ROW}px)`;
        row.has = Boolean(data);
        return row;
    }

    function draw() {
        const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - SPARE);
        const end = Math.min(count, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + SPARE);
        for (const [i, row] of made)
            if ((i < first || i >= end || (!row.has && rowAt(i))) && !row.contains(document.activeElement)) {
                row.remove();
                made.delete(i);
            }
        const fresh = [];
        for (let i = first; i < end; i++)
            if (!made.has(i)) {
                made.set(i, makeRow(i));
                fresh.push(made.get(i));
            }
        body.append(...fresh);
        wantPages(first, end);
    }

    let waiting = 0;
    // While one scrolls fast, pages that have gone by are not asked for.
    function wantPages(first, end) {
        clearTimeout(waiting);
        waiting = setTimeout(() => {
            for (let page = Math.floor(first / PAGE); page * PAGE < end; page++) if (!pages.has(page)) getPage(page);
        }, 60);
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
    };
}
