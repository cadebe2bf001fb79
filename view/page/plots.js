// The streams and joints, each in one plot, in the order that the server sends. Only the plots that are on the screen ask for data.

import { $, state, on, tell, count, later } from './common.js';
import { streamPanel, jointPanel, folds, alone } from './panel.js';

const few = 12, first = 6; // of more streams than few, only the first are open
let panels = [];
const chosen = new Map(); // whether a column is hidden, by stream and name, where someone chose: it stays so in the next episode
const shut = new Set();   // the streams that someone folded

class Panel {
  constructor(stream) {
    this.stream = stream;
    this.seen = false;
    this.data = null;
    const choice = chosen.get(stream.name);
    this.off = new Set([...stream.columns.keys()].filter(k => choice?.get(stream.columns[k].name) ?? (stream.columns[k].hidden || k >= mostLines)));
    const facts = make('span', { className: 'facts' });
    facts.textContent = [stream.type, rate(stream.rate), count(stream.samples, 'sample'), stream.held ? 'on change' : ''].filter(x => x).join(' · ');
    const wrong = [stream.gap_count ? count(stream.gap_count, 'gap') : '', stream.back_steps ? count(stream.back_steps, 'step') + ' back (sorted here)' : '', stream.no_times ? count(stream.no_times, 'sample') + ' without a time' : ''].filter(x => x);
    if (stream.samples && (stream.to < 0 || stream.from > state.episode.seconds)) wrong.push(`at ${clock(stream.from)}, away from all others`);
    if (wrong.length) facts.append(' · ', make('span', { className: 'warning', textContent: wrong.join(' · ') }));
    this.aside = make('span', { className: 'facts aside' });
    this.note = make('span', { className: 'facts wrong-text' });
    const name = this.name = make('button', { className: 'name', textContent: stream.name, title: 'fold', ariaExpanded: !shut.has(stream.name) });
    name.addEventListener('click', () => this.fold());
    this.legend = make('div', { className: 'legend', role: 'group', ariaLabel: 'columns of ' + stream.name });
    this.plot = make('div', { className: 'plot' });
    this.root = make('section', { className: 'stream' + (shut.has(stream.name) ? ' shut' : '') }, make('header', {}, name, this.aside, facts, this.note), this.legend, this.plot);
    this.root.dataset.stream = stream.name;
    this.values = stream.columns.map((c, k) => this.chip(c, k));
    this.dim();
    this.load = later(25, () => this.fetch());
  }

  // flat is a stream of flags and the like, which needs little height.
  get flat() { return this.stream.columns.length <= 4 && this.stream.columns.every(c => c.integer); }

  set height(pixels) {
    this.tall = pixels;
    this.plot.style.height = pixels + 'px';
    this.chart?.setSize({ width: this.plot.clientWidth, height: pixels });
  }

  get height() { return this.tall; }

  chip(column, k) {
    const value = make('b');
    const chip = make('button', { title: 'hide; with shift show it alone', tabIndex: k ? -1 : 0 }, make('i'), column.name + ' ', value);
    chip.firstChild.style.background = css('--c' + k % colours);
    chip.addEventListener('click', e => {
      const all = [...this.stream.columns.keys()], others = all.filter(i => i !== k);
      if (e.shiftKey) {
        const alone = others.every(i => this.off.has(i)) && !this.off.has(k);
        this.off.clear();
        if (!alone) others.forEach(i => this.off.add(i));
      } else if (!this.off.delete(k)) this.off.add(k);
      chosen.set(this.stream.name, new Map(this.stream.columns.map((c, i) => [c.name, this.off.has(i)])));
      this.dim();
      this.rebuild();
    });
    // While the pointer is on a name, the other lines are faint.
    chip.addEventListener('mouseenter', () => this.focus(k));
    chip.addEventListener('mouseleave', () => this.focus(-1));
    this.legend.append(chip);
    return value;
  }

  focus(k) {
    if (!this.chart || this.asked.length < 2) return;
    const n = this.asked.indexOf(k);
    this.chart.series.forEach((s, i) => { if (i) s.alpha = n < 0 || (i - 1) % this.asked.length === n ? 1 : 0.12; });
    this.chart.redraw(false);
  }

  fold() {
    const now = this.root.classList.toggle('shut');
    this.name.ariaExpanded = !now;
    if (now) shut.add(this.stream.name); else shut.delete(this.stream.name);
    this.fetch();
  }

  columns() { return [...this.stream.columns.keys()].filter(k => !this.off.has(k)); }

  rebuild() {
    this.chart?.destroy();
    this.chart = null;
    this.data = null;
    this.fetch();
  }

  async fetch() {
    const columns = this.columns();
    if (!this.seen || this.root.classList.contains('shut') || !state.episode) return;
    this.asking?.abort();
    if (!columns.length || !this.stream.samples) return;
    const asking = this.asking = new AbortController();
    const width = Math.max(50, this.wide());
    const q = { stream: this.stream.name, from: state.from, to: state.to, width, columns };
    if (state.made && !state.episode.steps) q.hz = state.dataset.plan && state.hz === state.dataset.rate ? 0 : state.hz;
    let got;
    try {
      got = await (await ask(`api/episodes/${state.episode.number}/series?` + query(q), { signal: asking.signal })).json();
    } catch (e) {
      if (e.name !== 'AbortError') this.note.textContent = e.message;
      return;
    }
    if (asking.signal.aborted) return;
    this.note.textContent = got.made?.error ? 'not resampled: ' + got.made.error : '';
    this.got = got;
    this.asked = columns;
    const data = joined(got, columns.length), drawn = !!got.made?.t;
    this.data = data;
    if (this.chart && this.drawn !== drawn) { this.chart.destroy(); this.chart = null; }
    this.drawn = drawn;
    if (this.chart) this.chart.setData(data, false), this.chart.setScale('x', { min: state.from, max: state.to });
    else this.create(data, columns, drawn);
    this.follow();
  }

  // dim marks the names of hidden columns, clears their values, and lists them beside the stream's name.
  dim() {
    [...this.legend.children].forEach((c, i) => { c.classList.toggle('off', this.off.has(i)); c.ariaPressed = !this.off.has(i); });
    for (const k of this.off) this.values[k].textContent = '';
    const names = this.stream.columns.filter((c, k) => this.off.has(k)).map(c => c.name);
    this.aside.textContent = names.length ? `${names.length} hidden: ${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''}` : '';
    this.aside.title = names.slice(0, 100).join(', ');
  }

  create(data, columns, drawn) {
    const soft = css('--soft'), line = css('--line');
    const series = [{}];
    for (const k of columns) series.push(this.line(k, drawn ? '66' : '', drawn ? 1 : 1.25, false));
    if (drawn) for (const k of columns) series.push(this.line(k, '', 1.5, true));
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: '11px system-ui, sans-serif' };
    this.chart = new uPlot({
      width: this.plot.clientWidth, height: this.height, legend: { show: false }, padding: [6, 12, 0, 0],
      scales: { x: { time: false, auto: false, range: (u, min, max) => [min, max] }, y: { range: (u, low, high) => {
        if (low == null) return [0, 1];
        const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
        return [low - room, high + room];
      } } },
      axes: [
        { ...axis, size: 22, gap: 2, values: (u, at) => at.map(v => moment(v, at.length > 1 ? at[1] - at[0] : 1)) },
        { ...axis, size: axisWidth, gap: 3, space: 26, values: (u, at) => at.map(number) },
      ],
      cursor: { sync: { key: 'streams', scales: ['x', null], setSeries: false }, drag: { x: true, y: false, setScale: false, dist: 4 }, points: { size: 6 }, y: false, bind: { dblclick: () => () => tell('show', 0, state.episode.seconds) } },
      series,
      hooks: {
        drawClear: [u => this.shade(u)],
        setCursor: [u => this.show(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') : null)],
        setSelect: [u => {
          const { left, width } = u.select;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (width > 3) tell('show', u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
        }],
      },
    }, data, this.plot);
    this.chart.setScale('x', { min: state.from, max: state.to });
    this.cursor = make('div', { className: 'cursor' });
    this.chart.under.append(this.cursor, ...this.chart.over.querySelectorAll('.u-cursor-x')); // below the curves
    let down = null;
    this.chart.over.addEventListener('mousedown', e => { down = e.clientX; });
    this.chart.over.addEventListener('click', e => {
      if (down === null || Math.abs(e.clientX - down) > 3) return;
      tell('play', false);
      tell('seek', this.chart.posToVal(e.clientX - this.chart.over.getBoundingClientRect().left, 'x'));
    });
  }

  // line is how a column is drawn: whole numbers as steps.
  line(k, alpha, width, madeOf) {
    const c = this.stream.columns[k], stroke = css('--c' + k % colours) + alpha;
    return { stroke, width, paths: c.integer || this.stream.held ? uPlot.paths.stepped({ align: 1 }) : undefined, spanGaps: false,
      points: { size: madeOf ? 3 : 5, stroke: css('--c' + k % colours), fill: madeOf ? css('--c' + k % colours) : css('--back'), width: 1,
        show: (u, i, first, last) => this.each(madeOf) && (last - first) * 6 < u.bbox.width / devicePixelRatio } };
  }

  each(madeOf) { return madeOf ? this.got?.made?.each : this.got?.each; }

  // shade marks gaps, and what was found in the stream.
  shade(u) {
    const c = u.ctx, { left, top, width, height } = u.bbox, x = t => Math.min(Math.max(u.valToPos(t, 'x', true), left), left + width), ratio = devicePixelRatio;
    c.save();
    c.fillStyle = css('--gap');
    for (const [a, b] of this.got?.gaps ?? []) c.fillRect(x(a), top, Math.max(x(b) - x(a), ratio), height);
    for (const f of state.episode.findings) {
      if (f.severity === 'information' || !f.streams.includes(this.stream.name)) continue;
      c.fillStyle = css('--' + f.severity);
      for (const [a, b] of f.ranges) {
        if (b < state.from || a > state.to) continue;
        if (x(b) - x(a) > 8 * ratio) { // a range, with an end where it is in view
          c.fillRect(x(a), top - 5 * ratio, x(b) - x(a), 3 * ratio);
          for (const t of [a, b]) if (t >= state.from && t <= state.to) c.fillRect(x(t) - ratio / 2, top - 5 * ratio, ratio, 9 * ratio);
          continue;
        }
        if (a < state.from) continue;
        c.beginPath();
        c.moveTo(x(a) - 4 * ratio, top - 5 * ratio);
        c.lineTo(x(a) + 4 * ratio, top - 5 * ratio);
        c.lineTo(x(a), top + 2 * ratio);
        c.fill();
      }
    }
    c.restore();
  }

  // show writes the values at a moment beside the columns' names, at the cursor unless given.
  show(t) {
    const at = t ?? state.cursor, list = this.data?.[0];
    if (!list?.length) return;
    const i = place(list, at);
    this.asked.forEach((k, n) => { this.values[k].textContent = this.value(n + 1, i); });
  }

  value(row, i) {
    const x = this.data[0], y = this.data[row];
    if (this.got.each) {
      for (let d = 0; d < 4; d++) for (const j of [i - d, i + d]) if (y[j] != null) return short(y[j]);
      return '–';
    }
    // The least and the greatest of a pixel stand half a pixel apart.
    const pixel = (state.to - state.from) / Math.max(1, this.wide());
    let low = Infinity, high = -Infinity;
    for (const j of [i - 1, i, i + 1]) if (y[j] != null && Math.abs(x[j] - x[i]) < 0.75 * pixel) low = Math.min(low, y[j]), high = Math.max(high, y[j]);
    return low > high ? '–' : low === high ? short(low) : short(low) + ' … ' + short(high);
  }

  // wide is the width of what is drawn in, between the axis and the margin.
  wide() { return this.plot.clientWidth - axisWidth - 12; }

  // follow moves the cursor's line.
  follow() {
    if (!this.chart || !this.seen) return;
    const px = (state.cursor - state.from) / (state.to - state.from) * this.wide(), inside = state.cursor >= state.from && state.cursor <= state.to;
    this.cursor.style.display = inside ? '' : 'none';
    this.cursor.style.transform = `translateX(${px}px)`;
    if (!(this.chart.cursor.left >= 0)) this.show(null);
  }

  view() {
    if (!this.seen) return;
    this.chart?.setScale('x', { min: state.from, max: state.to }); // what is there, until what was asked for comes
    this.follow();
    this.load();
  }

  close() {
    this.asking?.abort();
    this.chart?.destroy();
    this.root.remove();
  }
}

// joined puts samples and what was made of them on one axis; undefined is where the other has a point.
function joined(got, width) {
  if (!got.made?.t) return [got.t, ...got.v];
  const m = got.made, n = got.t.length + m.t.length, out = Array.from({ length: 1 + 2 * width }, () => new Array(n));
  for (let i = 0, j = 0, at = 0; at < n; at++) {
    if (j === m.t.length || i < got.t.length && got.t[i] <= m.t[j]) {
      out[0][at] = got.t[i];
      for (let k = 0; k < width; k++) out[1 + k][at] = got.v[k][i];
      i++;
    } else {
      out[0][at] = m.t[j];
      m.columns.forEach((k, l) => { out[1 + width + k][at] = m.v[l][j]; });
      j++;
    }
  }
  return out;
}

// number writes a value beside the axis in little room.
function number(v) {
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e5 || a < 1e-3)) return v.toExponential(1).replace('e+', 'e');
  return String(+v.toPrecision(5));
}

function moment(t, step) {
  if (state.episode.steps || Math.abs(t) < 60 && state.episode.seconds < 120) return +t.toFixed(9) + '';
  const decimals = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step)));
  t = +t.toFixed(decimals);
  const h = Math.floor(t / 3600), m = Math.floor(t / 60) % 60, s = (t % 60).toFixed(decimals);
  return (h ? h + ':' + String(m).padStart(2, '0') : m) + ':' + s.padStart(decimals ? decimals + 3 : 2, '0');
}

const watch = new IntersectionObserver(entries => {
  for (const e of entries) {
    const p = panels.find(p => p.root === e.target);
    if (!p) continue;
    const came = e.isIntersecting && !p.seen;
    p.seen = e.isIntersecting;
    if (came) { p.chart?.setScale('x', { min: state.from, max: state.to }); p.fetch(); p.follow(); }
  }
}, { root: $('streams'), rootMargin: '100px' });

// heights gives the plots the room that there is.
function heights() {
  const tall = panels.filter(p => !p.flat && p.samples && !p.shut && !p.root.hidden);
  panels.forEach(p => { p.height = !p.samples ? 0 : p.flat ? 62 : p.joint ? 104 : 132; });
  const left = $('streams').clientHeight - 10 - panels.reduce((n, p) => n + p.root.offsetHeight, 0);
  if (left > 0) tall.forEach(p => { p.height = Math.min(p.height + Math.floor(left / tall.length), 420); });
}

// some shows the streams that have all words in their names, types or columns, of logs with many, and no joint but the isolated one.
function some() {
  const words = $('which').value.toLowerCase().split(/\s+/).filter(w => w), streams = panels.filter(p => !p.joint);
  const only = panels.some(p => p.joint && p.title === alone.name);
  for (const p of panels) {
    const text = [p.title, ...p.streams.flatMap(s => [s.type, ...p.joint ? [] : s.columns.map(c => c.name)])].join(' ').toLowerCase();
    p.root.hidden = !words.every(w => text.includes(w)) || only && p.joint && p.title !== alone.name;
  }
  const left = streams.filter(p => !p.root.hidden);
  $('alone').hidden = alone.name == null;
  $('alone').textContent = `${alone.name} alone ✕`;
  $('which-count').textContent = words.length ? `${left.length} of ${count(streams.length, 'stream')}` : count(streams.length, 'stream');
  // Open are the first of many streams, and those whose columns are not in the plots of joints already.
  const joints = new Set(panels.filter(p => p.joint).flatMap(p => p.lines.map(l => `${l.k} ${l.stream.name}`)));
  const other = left.filter(p => !p.lines.length || !p.lines.every(l => joints.has(`${l.k} ${l.stream.name}`)));
  for (const p of panels) p.fold(folds.get(p.place) ?? !(p.joint || other.includes(p) && (other.length <= few || other.indexOf(p) < first)));
  heights();
}

function foldAll(yes) {
  for (const p of panels) if (!p.root.hidden) { folds.set(p.place, yes); p.fold(yes); }
  heights();
}

// isolate shows a column alone in all streams that have it, or again all columns.
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
  $('streams').replaceChildren(...panels.map(p => p.root));
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

// Ctrl and the wheel zoom, as on maps; shift and the wheel, or a wheel that goes sideways, moves.
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

// The room changes with the window, and with what stands above.
new ResizeObserver(later(60, () => {
  heights();
  for (const p of panels) { p.chart?.setSize({ width: p.plot.clientWidth, height: p.height }); p.fetch(); }
})).observe($('streams'));
for (const what of ['theme', 'utc']) on(what, () => { if (state.episode) tell('episode'); });
