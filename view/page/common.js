// The state and the functions that the parts of the page share.

export const $ = id => document.getElementById(id);

// state is the shown episode. Times are seconds from its start: from and to limit the shown time, cursor is the moment of the frames.
export const state = { dataset: null, episode: null, from: 0, to: 1, cursor: 0, playing: false, speed: 1, made: false, hz: 0, compared: false, loop: null, utc: false };

const heard = {};
export function on(what, do_) { (heard[what] ??= []).push(do_); }
export function tell(what, ...args) { for (const f of heard[what] ?? []) f(...args); }

// Refused is the server's answer to a request that fails: system is true if the file system or the network failed, cure is an advice.
export class Refused extends Error {}

export async function ask(path, options) {
  let answer;
  const send = () => fetch(path, options).catch(e => { if (e.name !== 'AbortError') tell('lost'); throw e; });
  while ((answer = await send()).status === 429) await new Promise(go => setTimeout(go, 1000 * (answer.headers.get('Retry-After') || 1)));
  const run = answer.headers.get('Run');
  if (answer.ok && state.dataset && run !== state.dataset.run) location.reload(); // the answer is from another server, with other episodes
  if (!answer.ok) {
    let why = { error: answer.statusText };
    try { why = await answer.json(); } catch { /* no JSON */ }
    if (answer.status === 403) tell('lost');
    throw Object.assign(new Refused(why.error), { system: why.system, cure: why.what_to_do });
  }
  return answer;
}

export const askJSON = async (path, options) => (await ask(path, options)).json();

export function make(tag, properties = {}, ...inside) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...inside);
  return e;
}

export const query = fields => new URLSearchParams(fields).toString();

export function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// looped marks the loop's range.
export function looped(c, x, top, height, ratio) {
  if (!state.loop) return;
  const [a, b] = state.loop.map(x);
  c.fillStyle = css('--accent');
  c.globalAlpha = 0.07;
  c.fillRect(a, top, b - a, height);
  c.globalAlpha = 1;
  for (const at of [a, b - ratio]) c.fillRect(at, top, ratio, height);
}

// short formats a number with four digits.
export function short(v) {
  if (v == null) return '–';
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e7) return String(v);
  return a !== 0 && (a >= 1e6 || a < 1e-3) ? v.toExponential(2) : v.toPrecision(4);
}

export function count(n, what) { return n.toLocaleString('en') + ' ' + what + (n === 1 ? '' : what.endsWith('s') ? '' : 's'); }

export function rate(hz) { return hz === 0 ? '' : (hz >= 100 ? hz.toFixed(0) : hz >= 10 ? hz.toFixed(1) : hz.toPrecision(2)) + ' Hz'; }

// isUTC reports whether times are shown in UTC: the user selected it, and the episode's clock counts from 1970.
export const isUTC = () => state.utc && !!state.episode?.utc;

const day = 86400;

// dayTime returns the day when the episode starts, counted from 1970, and the seconds in it.
export function dayTime() {
  const start = BigInt(state.episode.start_ns), whole = BigInt(day) * 1000000000n;
  return [Number(start / whole), Number(start % whole) / 1e9];
}

// utc formats a moment as a time with hours, minutes and seconds, and with the date if dated is set.
function utc(t, decimals, dated) {
  const [date, second] = dayTime(), all = +(second + t).toFixed(decimals), s = all - Math.floor(all / day) * day, two = n => String(Math.floor(n)).padStart(2, '0');
  const time = `${two(s / 3600)}:${two(s / 60 % 60)}:${(s % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, '0')}`;
  return dated ? new Date((date + Math.floor(all / day)) * day * 1000).toISOString().slice(0, 11).replace('T', ' ') + time : time;
}

// moment formats a time on the axis.
export function moment(t, step) {
  const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  if (isUTC()) return utc(t, decimals);
  if (state.episode.steps || Math.abs(t) < 60 && state.episode.seconds < 120) return +t.toFixed(9) + '';
  t = +t.toFixed(decimals);
  const h = Math.floor(t / 3600), m = Math.floor(t / 60) % 60, s = (t % 60).toFixed(decimals);
  return (h ? h + ':' + String(m).padStart(2, '0') : m) + ':' + s.padStart(decimals ? decimals + 3 : 2, '0');
}

// steps returns the possible distances between times on the axis. From 10 seconds on they are a clock's: 10, 15, 30, 60 and so on.
export function steps() {
  if (state.episode.steps) return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7];
  const short = [-7, -6, -5, -4, -3, -2, -1, 0].flatMap(e => [1, 2, 5].map(n => +(n * 10 ** e).toPrecision(1)));
  return [...short, ...[10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, day, 2 * day, 5 * day, 10 * day, 50 * day, 500 * day]];
}

// splits returns the times on the axis, at round numbers on the shown clock.
export function splits(u, axis, from, to, step) {
  const shift = isUTC() ? dayTime()[1] % step : 0, first = Math.ceil((from + shift) / step), list = [];
  for (let n = first; n * step - shift <= to + step * 1e-6; n++) list.push(+(n * step - shift).toFixed(9));
  return list;
}

// clock formats a moment with the decimals that the shown time needs: "4.0 s", "1:04:07.25".
export function clock(t, shown = state.to - state.from) {
  if (state.episode?.steps) return 'step ' + Math.round(t);
  const decimals = Math.max(1, Math.min(6, Math.ceil(2 - Math.log10(Math.max(shown, 1e-9)))));
  if (isUTC()) return utc(t, decimals, true);
  const abs = +Math.abs(t).toFixed(decimals), h = Math.floor(abs / 3600), m = Math.floor(abs / 60) % 60, sign = t < 0 ? '-' : '';
  if (abs < 60) return sign + abs.toFixed(decimals) + ' s';
  const s = (abs % 60).toFixed(decimals).padStart(decimals + 3, '0');
  return sign + (h ? h + ':' + String(m).padStart(2, '0') : m) + ':' + s;
}

export function length(seconds, steps) {
  if (steps) return count(Math.round(seconds) + 1, 'step');
  if (seconds < 60) return seconds.toFixed(1) + ' s';
  const h = Math.floor(seconds / 3600), m = Math.floor(seconds / 60) % 60, s = Math.floor(seconds % 60);
  return (h ? h + ' h ' : '') + m + ' min ' + (h ? '' : s + ' s');
}

// later delays a call until no other has come for a time in milliseconds.
export function later(ms, do_) {
  let timer = 0;
  return (...args) => { clearTimeout(timer); timer = setTimeout(do_, ms, ...args); };
}

// fit gives a canvas the screen's pixels. It returns the context, in the page's units, and its width and height.
export function fit(canvas) {
  const ratio = devicePixelRatio || 1, w = Math.max(1, canvas.clientWidth), h = Math.max(1, canvas.clientHeight);
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [c, w, h];
}

// place returns the index of the nearest value in an ascending list.
export function place(list, x) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid] < x) lo = mid + 1; else hi = mid;
  }
  if (lo > 0 && (lo === list.length || x - list[lo - 1] <= list[lo] - x)) lo--;
  return lo;
}
