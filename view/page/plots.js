// The streams and joints, each in one plot, in the server's order. Only the plots on the screen request data.

import { $, state, on, tell, count, later } from './common.js';
import { streamPanel, jointPanel, mediaRow, folds, alone } from './panel.js';

const few = 12, first = 6; // if there are more than few streams, only the first are open
let panels = [], rows = []; // rows: one for each camera and cloud

const watch = new IntersectionObserver(entries => {
  for (const e of entries) {
    const p = panels.find(p => p.root === e.target);
    if (!p) continue;
    const came = e.isIntersecting && !p.seen;
    p.seen = e.isIntersecting;
    if (came) { p.chart?.setScale('x', { min: state.from, max: state.to }); p.fetch(); p.follow(); }
  }
}, { root: $('streams'), rootMargin: '100px' });

// heights divides the free height between the plots.
function heights() {
  const tall = panels.filter(p => !p.flat && p.samples && !p.shut && !p.root.hidden);
  panels.forEach(p => { p.height = !p.samples ? 0 : p.flat ? 62 : p.joint ? 104 : 132; });
  const left = $('streams').clientHeight - 10 - [...$('streams').children].reduce((n, e) => n + e.offsetHeight, 0);
  if (left > 0) tall.forEach(p => { p.height = Math.min(p.height + Math.floor(left / tall.length), 420); });
}

// some shows the streams that have all words of the filter in their names, types or columns. If a joint is isolated, it hides the others.
function some() {
  const words = $('which').value.toLowerCase().split(/\s+/).filter(w => w), streams = panels.filter(p => !p.joint);
  const only = panels.some(p => p.joint && p.title === alone.name);
  for (const p of panels) {
    const text = [p.title, ...p.streams.flatMap(s => [s.type, ...p.joint ? [] : s.columns.map(c => c.name)])].join(' ').toLowerCase();
    p.root.hidden = !words.every(w => text.includes(w)) || only && p.joint && p.title !== alone.name;
  }
  for (const r of rows) r.hidden = !words.every(w => r.dataset.media.toLowerCase().includes(w));
  const left = streams.filter(p => !p.root.hidden);
  $('alone').hidden = alone.name == null;
  $('alone').textContent = `${alone.name} alone ✕`;
  $('which-count').textContent = words.length ? `${left.length} of ${count(streams.length, 'stream')}` : count(streams.length, 'stream');
  // A stream is folded if the joints' plots have all its columns, or if it is not among the first of many.
  const joints = new Set(panels.filter(p => p.joint).flatMap(p => p.lines.map(l => `${l.k} ${l.stream.name}`)));
  const other = left.filter(p => !p.lines.length || !p.lines.every(l => joints.has(`${l.k} ${l.stream.name}`)));
  for (const p of panels) p.fold(folds.get(p.place) ?? !(p.joint || other.includes(p) && (other.length <= few || other.indexOf(p) < first)));
  heights();
}

function foldAll(yes) {
  for (const p of panels) if (!p.root.hidden) { folds.set(p.place, yes); p.fold(yes); }
  heights();
}

// isolate shows a column alone in all streams that have it. A second call with the same name shows all columns again.
function isolate(name) {
  alone.name = alone.name === name ? null : name;
  some();
  for (const p of panels) p.choose();
}

$('which').addEventListener('input', some);
$('alone').addEventListener('click', () => isolate(alone.name));
$('fold').addEventListener('click', () => foldAll(true));
$('unfold').addEventListener('click', () => foldAll(false));

function clear() {
  for (const p of panels) { watch.unobserve(p.root); p.close(); }
  panels = [];
}

on('closed', () => { clear(); $('choose').hidden = true; });
on('episode', () => {
  const top = $('streams').scrollTop;
  clear();
  panels = [...state.episode.joints.map(jointPanel), ...state.episode.streams.map(streamPanel)];
  if (!panels.some(p => p.lines.some(l => l.name === alone.name))) alone.name = null;
  rows = [...state.episode.media, ...state.episode.clouds].map(mediaRow);
  $('streams').replaceChildren(...panels.map(p => p.root), ...rows);
  $('choose').hidden = panels.length < 6;
  some();
  $('streams').scrollTop = top;
  for (const p of panels) watch.observe(p.root);
});
on('view', () => panels.forEach(p => p.view()));
on('cursor', () => panels.forEach(p => p.follow()));
on('findings', () => panels.forEach(p => p.chart?.redraw(false)));
on('loops', () => panels.forEach(p => p.chart?.redraw(false)));
on('made', () => panels.forEach(p => p.fetch()));
on('alone', isolate);
on('chosen', key => panels.forEach(p => { if (p.key === key) p.choose(); }));
on('stream', name => {
  const panel = panels.find(p => p.key === name);
  panel?.fold(false);
  panel?.root.scrollIntoView({ block: 'nearest' });
});

// Ctrl and the wheel zoom, as on maps. Shift and the wheel, or a sideways wheel, moves.
$('streams').addEventListener('wheel', e => {
  const over = panels.find(p => p.chart && p.root.contains(e.target))?.chart;
  if (!over || !state.episode) return;
  const sideways = e.shiftKey ? e.deltaY || e.deltaX : Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : 0;
  if (e.ctrlKey || e.metaKey) {
    e.preventDefault();
    tell('zoom', Math.exp(e.deltaY * 0.004), over.posToVal(e.clientX - over.over.getBoundingClientRect().left, 'x'));
  } else if (sideways) {
    e.preventDefault();
    const by = sideways / over.over.clientWidth * (state.to - state.from);
    tell('show', state.from + by, state.to + by);
  }
}, { passive: false });

// The height changes with the window and with the parts above.
new ResizeObserver(later(60, () => {
  heights();
  for (const p of panels) { p.chart?.setSize({ width: p.plot.clientWidth, height: p.height }); p.fetch(); }
})).observe($('streams'));
for (const what of ['theme', 'utc']) on(what, () => { if (state.episode) tell('episode'); });
