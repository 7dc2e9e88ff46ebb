/* A Worker for pages that are opened as files, where browsers refuse one: the search runs in a hidden
 * frame, and its messages go to and fro as a worker's do. */
(() => {
    if (location.protocol !== "file:")
        return;
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            document.body.append(this.frame);
            const inside = this.frame.contentWindow;
            inside.document.open(); // from here on the frame keeps what is put into it
            inside.document.write("<!doctype html><body></body>");
            inside.document.close();
            inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
            const script = inside.document.createElement("script");
            script.src = url;
            this.early = [];
            script.onload = () => {
                const early = this.early;
                this.early = null;
                early.forEach((data) => this.postMessage(data));
            };
            inside.document.body.append(script);
        }
        postMessage(data) {
            if (this.early)
                this.early.push(data);
            else
                this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
        }
        terminate() {
            this.frame.remove();
        }
    };
})();
