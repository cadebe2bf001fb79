package browsertest

// watch runs in a page before the page's scripts. It counts in browsertest.unfinished the answers and pictures that the page waits for, and keeps the
// addresses that the page fetched in browsertest.requests. Timers from two seconds on are the page's own routine, not work.
const watch = `(() => {
	const [after, cancel, frame] = [setTimeout, clearTimeout, requestAnimationFrame].map(f => f.bind(window)), timers = new Set();
	const own = window.browsertest = { requests: [], unfinished: 0 };
	const idle = () => document.readyState === "complete" && !own.unfinished && !timers.size && [...document.images].every(i => i.complete);
	own.settled = async () => {
		for (let n = 0; n < 3; n++) {
			if (!idle()) return false;
			await new Promise(frame);
		}
		return idle();
	};
	for (const [on, names] of [[window, ["fetch", "createImageBitmap"]], [Response.prototype, ["json", "blob", "arrayBuffer"]]]) for (const name of names) {
		const call = on[name];
		on[name] = function (...list) {
			if (name === "fetch") own.requests.push(String(list[0]));
			own.unfinished++;
			return call.apply(this, list).finally(() => own.unfinished--);
		};
	}
	window.setTimeout = (do_, ms = 0, ...list) => {
		const timer = after(() => { timers.delete(timer); do_(...list); }, ms);
		if (ms < 2000) timers.add(timer);
		return timer;
	};
	window.clearTimeout = timer => { timers.delete(timer); cancel(timer); };
})()`

// Settle waits until the page has nothing to do: no request, no timer and no picture is left for three of its frames.
func (p *Page) Settle() {
	p.b.t.Helper()
	p.Wait(`browsertest.settled()`)
}

// Reload loads the page again.
func (p *Page) Reload() {
	p.b.t.Helper()
	p.Eval(`browsertest.old = true; location.reload()`, nil)
	p.Wait(`!browsertest.old && document.readyState === "complete"`)
}

// CollectGarbage frees what the page's scripts no longer use.
func (p *Page) CollectGarbage() {
	p.b.t.Helper()
	p.call("HeapProfiler.collectGarbage", object{}, nil)
}
