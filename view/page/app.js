// The page: the episode, the shown time, playing, and the keys.

import { $, state, on, tell, askJSON, Refused, clock, isUTC, length, later } from './common.js';
import * as list from './list.js';
import './plots.js';
import './overview.js';
import * as time from './time.js';
import { late } from './scenes.js';
import * as findings from './findings.js';
import * as trouble from './trouble.js';
import './drawers.js';
import './touch.js';
import './keyboard.js';

let wanted = -1, requests = 0; // the episode that was requested last, and how many were

// open shows an episode, and adds it to the browser's history unless it comes from there.
async function open(number, at = {}, entry = true) {
  const place = list.numbers.indexOf(number);
  if (place < 0) return;
  if (entry && wanted >= 0 && wanted !== number) {
    keep();
    history.pushState(null, '', '#e=' + number);
  }
  wanted = number;
  list.select(number);
  const request = ++requests;
  let episode, compared;
  try {
    do { // again if the comparison of all episodes ended meanwhile
      compared = state.compared;
      episode = await askJSON(`api/episodes/${number}`);
    } while (compared !== state.compared);
  } catch (e) {
    if (request !== requests || !(e instanceof Refused)) return;
    const failed = { kind: 'unreadable', severity: 'error', streams: [], ranges: [], count: 1, why: e.message, what_to_do: e.cure ?? '' };
    play(false);
    Object.assign(state, { episode: null, failed, loop: null });
    tell('closed');
    moved();
    $('episode').textContent = `${number}`;
    $('task').textContent = '';
    star();
    trouble.unreadable(number, e, () => open(number));
    remember();
    return;
  }
  if (request !== requests) return; // another was requested meanwhile
  trouble.clear();
  Object.assign(state, { episode, loop: null });
  Object.assign(state, within(at.from ?? 0, at.to ?? limits()), { cursor: Math.min(Math.max(at.cursor ?? 0, 0), limits()) });
  $('episode').textContent = state.dataset.episodes > 1 ? `${number} · ${episode.name}` : episode.name;
  $('task').textContent = episode.task;
  star();
  $('made').hidden = episode.steps; // no rate
  state.hz ||= +(episode.streams.find(s => s.rate)?.rate ?? 50).toPrecision(2); // that of the first stream of a plan
  $('hz').value = state.hz;
  document.title = `${episode.name} – robocache view`;
  document.querySelector('main').classList.toggle('bare', !episode.streams.length);
  tell('episode');
  if (trouble.isEmpty(episode)) trouble.empty(episode);
  moved();
  if (place + 1 < list.numbers.length) fetch(`api/episodes/${list.numbers[place + 1]}?ahead`).catch(() => {}); // so that the server has it in memory
}

const limits = () => state.episode?.seconds || 1e-3;

// within limits a range of time to the episode and to a microsecond or more.
function within(from, to) {
  const whole = limits(), width = Math.min(Math.max(to - from, Math.min(1e-6, whole)), whole);
  from = Math.min(Math.max(from, 0), whole - width);
  return { from, to: from + width };
}

function view(from, to) {
  Object.assign(state, within(from, to));
  tell('view');
  moved();
}

// seek moves the cursor. The shown time moves along if the cursor leaves it.
function seek(t) {
  state.cursor = Math.min(Math.max(t, 0), limits());
  const width = state.to - state.from;
  if (state.cursor < state.from || state.cursor > state.to) {
    const from = state.cursor > state.to ? state.cursor - width * 0.1 : state.cursor - width * 0.9;
    view(state.playing ? state.cursor : from, (state.playing ? state.cursor : from) + width);
  }
  tell('cursor');
  moved();
}

function zoom(factor, about = state.cursor) {
  const at = Math.min(Math.max(about, state.from), state.to);
  view(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

// address returns the part of the page's address with the episode and the moment.
function address() {
  const q = new URLSearchParams({ e: wanted });
  if (state.episode) {
    if (state.cursor) q.set('t', +state.cursor.toFixed(6));
    if (state.from > 0 || state.to < limits()) q.set('from', +state.from.toFixed(6)), q.set('to', +state.to.toFixed(6));
  }
  return '#' + q;
}

// keep writes the moment into the page's address, unless the next episode is not shown yet: its address may have a moment.
function keep() { if (!state.episode || state.episode.number === wanted) history.replaceState(null, '', address()); }
const remember = later(300, keep);

function moved() {
  $('time').textContent = state.episode ? clock(state.cursor) + (isUTC() ? '' : ` / ${state.episode.steps ? length(state.episode.seconds, true) : clock(limits())}`) : '';
  Object.assign($('overview'), { ariaValueMax: limits(), ariaValueNow: state.cursor, ariaValueText: $('time').textContent });
  $('out').classList.toggle('on', state.from > 0 || state.to < limits());
  remember();
}

// Playing.
let last = 0, frame = 0;
function tick(now) {
  if (!state.playing) return;
  const t = state.cursor + (late() ? 0 : (now - last) / 1000 * state.speed);
  last = now;
  const [a, b] = state.loop ?? [0, limits()];
  if (t >= b && !state.loop) play(false);
  seek(state.loop && (t >= b || t < a) ? a : t);
  frame = requestAnimationFrame(tick);
}

function play(yes = !state.playing) {
  if (!state.episode) return;
  if (yes && state.cursor >= limits()) seek(0);
  state.playing = yes;
  $('play').textContent = yes ? '❚❚' : '▶';
  $('play').ariaLabel = yes ? 'stop' : 'play';
  last = performance.now();
  cancelAnimationFrame(frame);
  if (yes) frame = requestAnimationFrame(tick);
}

function speed(step) {
  const s = $('speed');
  s.selectedIndex = Math.min(Math.max(s.selectedIndex + step, 0), s.options.length - 1);
  state.speed = +s.value;
}

// step returns the time between frames of the fastest camera, or between samples of the fastest stream if no camera has a rate.
function step() {
  const e = state.episode;
  if (e.steps) return 1;
  const fastest = Math.max(...e.media.map(m => m.rate)) > 0 ? Math.max(...e.media.map(m => m.rate)) : Math.max(0, ...e.streams.map(s => s.rate));
  return fastest > 0 ? 1 / fastest : limits() / 100;
}

function made() {
  state.made = $('made-on').checked;
  state.hz = +$('hz').value || 0;
  tell('made');
}

function mark() {
  if (wanted < 0) return;
  list.mark(wanted);
  star();
}

function star() {
  $('mark').textContent = list.marked(wanted) ? '★' : '☆';
  $('mark').ariaPressed = list.marked(wanted);
}

export const keys = {
  j: () => list.step(1), k: () => list.step(-1), ArrowDown: () => list.step(1), ArrowUp: () => list.step(-1),
  ' ': () => play(), '[': () => speed(-1), ']': () => speed(1),
  ArrowLeft: e => seek(state.cursor - (e.shiftKey ? (state.to - state.from) / 10 : step())),
  ArrowRight: e => seek(state.cursor + (e.shiftKey ? (state.to - state.from) / 10 : step())),
  Home: () => seek(0), End: () => seek(limits()),
  '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': () => view(0, limits()), Escape: () => { time.loop(null); view(0, limits()); },
  f: () => findings.step(1), F: () => findings.step(-1),
  l: () => time.loop(), g: e => $('go').focus(), u: () => time.utc(), t: () => $('theme').click(),
  m: mark, r: () => { $('made-on').checked = !$('made-on').checked; made(); },
  '/': () => { $('filter').focus(); $('filter').select(); }, s: () => { $('which').focus(); $('which').select(); }, '?': () => $('help').showModal(),
};

// A control that was clicked by mouse or finger shows no focus. The next key takes the focus away, so that space plays.
let down = false, clicked = null;
addEventListener('pointerdown', () => { down = true; }, true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => { down = false; }, true);
addEventListener('focusin', e => { clicked = down ? e.target : null; });
addEventListener('keydown', () => { if (clicked === document.activeElement && !clicked.matches('input:not([type=checkbox])')) clicked.blur(); }, true);

addEventListener('keydown', e => {
  const control = document.activeElement;
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
  if (control.matches('select, input:not([type=checkbox])')) {
    if (e.key === 'Escape' || e.key === 'Enter') control.blur();
    return;
  }
  if ((e.key === ' ' || e.key === 'Enter') && control.matches('button, input')) return; // it presses the control
  const do_ = keys[e.key];
  if (!do_ || !state.dataset || !state.episode && !'jkmt/?ArrowDownArrowUp'.includes(e.key)) return;
  e.preventDefault();
  do_(e);
});

const click = (id, do_) => $(id).addEventListener('click', do_);
click('previous', () => list.step(-1));
click('next', () => list.step(1));
click('mark', mark);
click('play', () => play());
click('out', () => view(0, limits()));
click('keys', () => $('help').showModal());
$('speed').addEventListener('change', () => { state.speed = +$('speed').value; });
$('made-on').addEventListener('change', made);
$('hz').addEventListener('change', () => { $('made-on').checked = true; made(); });
on('open', open);
on('seek', seek);
on('show', view);
on('zoom', zoom);
on('play', play);
on('back', () => state.dataset?.episodes ? open(wanted, { cursor: state.cursor, from: state.from, to: state.to }) : begin());

// moments returns the episode and the moment in the page's address.
function moments() {
  const q = new URLSearchParams(location.hash.slice(1)), got = k => q.has(k) && isFinite(q.get(k)) ? +q.get(k) : undefined;
  return [list.numbers.findLast(n => n <= got('e')) ?? list.numbers[0], { cursor: got('t'), from: got('from'), to: got('to') }];
}

addEventListener('popstate', () => { if (list.numbers.length) open(...moments(), false); });

async function begin() {
  try {
    state.dataset = await askJSON('api/dataset');
  } catch { return; } // the page of a lost server is shown
  const d = state.dataset;
  $('hz').value = state.hz = d.rate;
  state.made = $('made-on').checked = d.plan;
  list.begin();
  if (d.episodes === 0) { $('episode').textContent = d.name; trouble.noEpisodes(d); }
  else await open(...moments());
}

begin();
