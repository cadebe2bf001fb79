// A plot: the columns of a stream, or a joint with its columns in the state, the action and the prediction.

import { state, tell, ask, make, looped, query, css, count, rate, short, place, later, clock, isUTC, moment, splits, steps } from './common.js';

const colours = 8, mostLines = 256, axisWidth = 56;
const roles = { state: { colour: 0 }, action: { colour: 1 }, prediction: { colour: 2, dash: [5, 3] } };
const chosen = new Map(); // whether a line is hidden, by panel and name, if the user chose it; also for the next episode
export const folds = new Map(); // whether a panel is folded, by name, if the user chose it

let shift = false; // whether the drag began with the shift key; the plots share it, because uPlot repeats a drag in all plots

// alone is the column that is isolated, in all streams that have it.
export const alone = { name: null };

// streamPanel returns the panel of a stream.
export function streamPanel(stream) {
  const facts = make('span', { className: 'facts', textContent: [stream.type, rate(stream.rate), count(stream.samples, 'sample'), stream.held ? 'on change' : ''].filter(x => x).join(' · ') });
  const wrong = [stream.gap_count ? count(stream.gap_count, 'gap') : '', stream.back_steps ? count(stream.back_steps, 'step') + ' back (sorted here)' : '', stream.no_times ? count(stream.no_times, 'sample') + ' without a time' : ''].filter(x => x);
  if (stream.samples && (stream.to < 0 || stream.from > state.episode.seconds)) wrong.push(`at ${clock(stream.from)}, away from all others`);
  if (wrong.length) facts.append(' · ', make('span', { className: 'warning', textContent: wrong.join(' · ') }));
  const lines = stream.columns.map((c, k) => ({ stream, k, label: c.name, name: c.name, unit: stream.units?.[k] ?? '', colour: k % colours, hidden: c.hidden || k >= mostLines }));
  return new Panel(stream.name, stream.name, lines, stream.samples, [facts, coverage(stream)]);
}

// jointPanel returns the panel of a joint.
export function jointPanel(joint) {
  const lines = joint.parts.map(p => ({ stream: state.episode.streams.find(s => s.name === p.stream), k: p.column, label: p.role, name: joint.name, unit: joint.unit, ...roles[p.role] }));
  return new Panel('', joint.name, lines, 1, [], joint);
}

// mediaRow returns the line of a camera or of clouds, which are drawn above the plots.
export function mediaRow(media) {
  const facts = [media.type, rate(media.rate), count(media.frames, 'frame')].filter(x => x).join(' · ');
  const row = make('section', { className: 'stream media' }, make('header', {}, make('b', { textContent: media.name }), make('span', { className: 'facts', textContent: facts }),
    coverage({ ...media, samples: media.frames, gap_count: media.gaps.length })));
  row.dataset.media = media.name;
  return row;
}

// coverage draws a bar with the times when a stream has samples.
function coverage(stream) {
  const whole = state.episode.seconds || 1e-3, at = t => Math.min(Math.max(t / whole, 0), 1) * 1000;
  let path = '', from = at(stream.from);
  for (const [a, b] of [...stream.gaps, [stream.to, Infinity]]) {
    path += `M${from} 0H${Math.max(at(a), from + 4)}V1H${from}z`;
    from = at(b);
  }
  const text = stream.samples ? `samples from ${clock(stream.from)} to ${clock(stream.to)}` + (stream.gap_count ? ', with ' + count(stream.gap_count, 'gap') : '') : 'no samples';
  const bar = make('span', { className: 'coverage', title: text });
  if (stream.samples) bar.innerHTML = `<svg viewBox="0 0 1000 1" preserveAspectRatio="none" role="img" aria-label="${text}"><path d="${path}"/></svg>`;
  return bar;
}

class Panel {
  constructor(key, title, lines, samples, facts, joint = null) {
    Object.assign(this, { episode: state.episode, key, title, lines, samples, joint, seen: false, data: null, asked: [], parts: [] });
    this.streams = [...new Set(lines.map(l => l.stream))];
    this.note = make('span', { className: 'facts wrong-text' });
    this.aside = make('span', { className: 'facts aside' });
    const name = this.name = make('button', { className: 'name', textContent: title, title: joint ? 'fold; with shift show this joint alone' : 'fold' });
    name.addEventListener('click', e => { if (joint && e.shiftKey) tell('alone', title); else { folds.set(this.place, !this.shut); this.fold(!this.shut); } });
    this.legend = make('div', { className: 'legend', role: 'group', ariaLabel: 'columns of ' + title });
    this.plot = make('div', { className: 'plot' });
    this.root = make('section', { className: 'stream' + (joint ? ' joint' : '') }, make('header', {}, name, this.aside, ...facts, this.note), this.legend, this.plot);
    this.root.dataset[joint ? 'joint' : 'stream'] = title;
    this.values = lines.map((l, n) => this.chip(l, n));
    this.off = new Set();
    this.choose();
    this.load = later(25, () => this.fetch());
  }

  get place() { return this.joint ? 'joint ' + this.title : this.title; }

  get shut() { return this.root.classList.contains('shut'); }

  // flat reports whether a stream has only flags or states, which need little height.
  get flat() { return this.lines.length <= 4 && this.lines.every(l => l.stream.columns[l.k].integer); }

  set height(pixels) {
    this.tall = pixels;
    this.plot.style.height = pixels + 'px';
    this.chart?.setSize({ width: this.plot.clientWidth, height: pixels });
  }

  get height() { return this.tall; }

  chip(line, n) {
    const value = make('b'), chip = make('button', { title: 'hide; with shift show it alone, in all streams', className: line.dash ? 'dash' : '', tabIndex: n ? -1 : 0 }, make('i'), line.label + ' ', ...line.unit ? [make('small', { textContent: `[${line.unit}] ` })] : [], value);
    chip.firstChild.style.background = css('--c' + line.colour);
    chip.addEventListener('click', e => {
      if (e.shiftKey) return tell('alone', line.name);
      if (!this.off.delete(n)) this.off.add(n);
      chosen.set(this.key, new Map(this.lines.map((l, i) => [l.label, this.off.has(i)])));
      tell('chosen', this.key);
    });
    // While the pointer is on a name, the other lines are faint.
    chip.addEventListener('mouseenter', () => this.focus(n));
    chip.addEventListener('mouseleave', () => this.focus(-1));
    this.legend.append(chip);
    return value;
  }

  // choose draws the lines that are not hidden.
  choose() {
    const choice = chosen.get(this.key);
    this.off = new Set([...this.lines.keys()].filter(n => choice?.get(this.lines[n].label) ?? this.lines[n].hidden));
    const shown = this.shown();
    [...this.legend.children].forEach((c, n) => { c.classList.toggle('off', !shown.includes(n)); c.ariaPressed = shown.includes(n); });
    this.values.forEach((v, n) => { if (!shown.includes(n)) v.textContent = ''; });
    const names = this.lines.filter((l, n) => !shown.includes(n)).map(l => l.label);
    this.aside.textContent = names.length ? `${names.length} hidden: ${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''}` : '';
    this.aside.title = names.slice(0, 100).join(', ');
    const units = new Set(shown.map(n => this.lines[n].unit));
    this.unit = units.size === 1 ? [...units][0] : '';
    this.plot.dataset.unit = this.unit;
    this.root.classList.toggle('mixed', units.size > 1);
    this.root.classList.toggle('alone', !this.joint && shown.length === 1 && this.lines[shown[0]].name === alone.name);
    this.chart?.destroy();
    this.chart = this.data = null;
    this.fetch();
  }

  // shown returns the lines to draw.
  shown() {
    const all = [...this.lines.keys()], one = this.joint ? [] : all.filter(n => this.lines[n].name === alone.name);
    return one.length ? one : all.filter(n => !this.off.has(n));
  }

  focus(n) {
    if (!this.chart || this.asked.length < 2) return;
    const at = this.asked.indexOf(n);
    this.chart.series.forEach((s, i) => { if (i) s.alpha = at < 0 || (i - 1) % this.asked.length === at ? 1 : 0.12; });
    this.chart.redraw(false);
  }

  fold(yes) {
    this.root.classList.toggle('shut', yes);
    this.name.ariaExpanded = !yes;
    this.fetch();
  }

  async fetch() {
    const shown = this.shown();
    if (!this.seen || this.shut) return;
    this.asking?.abort();
    if (!shown.length || !this.samples) return;
    const asking = this.asking = new AbortController();
    const q = { from: state.from, to: state.to, width: Math.max(50, this.wide()) };
    if (state.made && !this.episode.steps) q.hz = state.dataset.plan && state.hz === state.dataset.rate ? 0 : state.hz;
    let parts;
    try {
      parts = await Promise.all(this.streams.map(async stream => {
        const rows = [...shown.keys()].filter(r => this.lines[shown[r]].stream === stream);
        const got = rows.length ? await (await ask(`api/episodes/${this.episode.number}/series?` + query({ ...q, stream: stream.name, columns: rows.map(r => this.lines[shown[r]].k) }), { signal: asking.signal })).json() : { t: [], v: [], gaps: [] };
        return { ...got, rows };
      }));
    } catch (e) {
      if (e.name !== 'AbortError') this.note.textContent = e.message;
      return;
    }
    if (asking.signal.aborted) return;
    this.parts = parts;
    this.asked = shown;
    const drawn = parts.some(p => p.made?.t), refused = parts.find(p => p.made?.error);
    this.note.textContent = refused && !drawn ? 'not resampled: ' + refused.made.error : '';
    this.data = joined(parts, shown.length, drawn);
    if (this.chart && this.drawn !== drawn) { this.chart.destroy(); this.chart = null; }
    this.drawn = drawn;
    if (this.chart) this.chart.setData(this.data, false), this.chart.setScale('x', { min: state.from, max: state.to });
    else this.create(shown, drawn);
    this.follow();
  }

  create(shown, drawn) {
    const soft = css('--soft'), line = css('--line');
    const series = [{}];
    const over = new Set(this.parts.flatMap(p => (p.made?.columns ?? []).map(k => shown[p.rows[k]]))); // these are faint below their resampled values
    for (const n of shown) series.push(this.line(n, over.has(n) ? '66' : '', over.has(n) ? 1 : 1.25, false));
    if (drawn) for (const n of shown) series.push(this.line(n, '', 1.5, true));
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 }, font: '11px system-ui, sans-serif' };
    this.chart = new uPlot({
      width: this.plot.clientWidth, height: this.height, legend: { show: false }, padding: [6, 12, 0, 0],
      scales: { x: { time: false, auto: false, range: (u, min, max) => [min, max] }, y: { range: (u, low, high) => {
        if (low == null) return [0, 1];
        const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
        return [low - room, high + room];
      } } },
      axes: [
        { ...axis, size: 22, gap: 2, space: isUTC() ? 80 : 50, incrs: steps(), splits, values: (u, at) => at.map(v => moment(v, at.length > 1 ? at[1] - at[0] : 1)) },
        { ...axis, gap: 3, space: 26, values: (u, at) => at.map(number), ...this.unit ? { label: this.unit, labelSize: 14, labelGap: 0, labelFont: axis.font, size: axisWidth - 14 } : { size: axisWidth } },
      ],
      cursor: { sync: { key: 'streams', scales: ['x', null], setSeries: false }, drag: { x: true, y: false, setScale: false, dist: 4 }, points: { size: 6 }, y: false, bind: { dblclick: () => () => tell('show', 0, this.episode.seconds) } },
      series,
      hooks: {
        drawClear: [u => this.shade(u)],
        setCursor: [u => this.show(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, 'x') : null)],
        setSelect: [u => {
          const { left, width } = u.select;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (width > 3) tell(shift ? 'loop' : 'show', u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
        }],
      },
    }, this.data, this.plot);
    this.chart.setScale('x', { min: state.from, max: state.to });
    this.cursor = make('div', { className: 'cursor' });
    this.chart.under.append(this.cursor, ...this.chart.over.querySelectorAll('.u-cursor-x')); // below the curves
    let down = null;
    this.chart.over.addEventListener('mousedown', e => { down = e.clientX; shift = e.shiftKey; });
    this.chart.over.addEventListener('click', e => {
      if (down === null || Math.abs(e.clientX - down) > 3) return;
      tell('play', false);
      tell('seek', this.chart.posToVal(e.clientX - this.chart.over.getBoundingClientRect().left, 'x'));
    });
  }

  // line returns uPlot's options for a line. Whole numbers are steps.
  line(n, alpha, width, madeOf) {
    const { stream, k, colour, dash } = this.lines[n], full = css('--c' + colour);
    return { stroke: full + alpha, width, dash, paths: stream.columns[k].integer || stream.held ? uPlot.paths.stepped({ align: 1 }) : undefined, spanGaps: false,
      points: { size: madeOf ? 3 : 5, stroke: full, fill: madeOf ? full : css('--back'), width: 1,
        show: (u, i, first, last) => this.each(this.asked.indexOf(n), madeOf) && (last - first) * 6 < u.bbox.width / devicePixelRatio } };
  }

  // each reports whether the points of a row are samples.
  each(row, madeOf) {
    const part = this.parts.find(p => p.rows.includes(row));
    return madeOf ? part?.made?.each : part?.each;
  }

  // shade marks gaps, the loop, and the findings in the streams.
  shade(u) {
    const c = u.ctx, { left, top, width, height } = u.bbox, x = t => Math.min(Math.max(u.valToPos(t, 'x', true), left), left + width), ratio = devicePixelRatio;
    c.save();
    looped(c, x, top, height, ratio);
    c.fillStyle = css('--gap');
    for (const [a, b] of this.parts.find(p => p.rows.length)?.gaps ?? []) c.fillRect(x(a), top, Math.max(x(b) - x(a), ratio), height);
    for (const f of this.episode.findings) {
      if (f.severity === 'information' || !this.streams.some(s => f.streams.includes(s.name)) || this.joint && f.columns?.length && !f.columns.some(c => c === this.title || c.endsWith('.' + this.title))) continue;
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

  // show writes the values at a moment next to the columns' names. Without a moment they are those at the cursor.
  show(t) {
    const at = t ?? state.cursor, list = this.data?.[0];
    if (!list?.length) return;
    const i = place(list, at);
    this.asked.forEach((n, row) => { this.values[n].textContent = this.value(row, i); });
  }

  value(row, i) {
    const x = this.data[0], y = this.data[row + 1];
    if (this.each(row)) {
      for (let d = 0; d < 4; d++) for (const j of [i - d, i + d]) if (y[j] != null) return short(y[j]);
      return '–';
    }
    // The least and the greatest value of a pixel are half a pixel apart.
    const pixel = (state.to - state.from) / Math.max(1, this.wide());
    let low = Infinity, high = -Infinity;
    for (const j of [i - 1, i, i + 1]) if (y[j] != null && Math.abs(x[j] - x[i]) < 0.75 * pixel) low = Math.min(low, y[j]), high = Math.max(high, y[j]);
    return low > high ? '–' : low === high ? short(low) : short(low) + ' … ' + short(high);
  }

  // wide returns the width between the axis and the margin.
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
    this.chart?.setScale('x', { min: state.from, max: state.to }); // the old values, until the new ones arrive
    this.follow();
    this.load();
  }

  close() {
    this.seen = false; // because a late load would request it
    this.asking?.abort();
    this.chart?.destroy();
    this.root.remove();
  }
}

// joined puts the samples and the resampled values of all parts on one time axis. A value is undefined if only another part has a point there.
function joined(parts, rows, drawn) {
  const tables = parts.map(p => ({ t: p.t, v: p.v, at: p.rows.map(r => 1 + r), i: 0 }));
  for (const p of parts) if (p.made?.t) tables.push({ t: p.made.t, v: p.made.v, at: p.made.columns.map(k => 1 + rows + p.rows[k]), i: 0 });
  if (tables.length === 1) return [tables[0].t, ...tables[0].v];
  const out = Array.from({ length: 1 + rows * (drawn ? 2 : 1) }, () => []);
  for (let n = 0; ; n++) {
    const now = Math.min(...tables.map(b => b.i < b.t.length ? b.t[b.i] : Infinity));
    if (now === Infinity) break;
    for (const list of out) list.push(undefined);
    out[0][n] = now;
    for (const b of tables) if (b.t[b.i] === now) {
      b.at.forEach((row, k) => { out[row][n] = b.v[k][b.i]; });
      b.i++;
    }
  }
  return out;
}

// number formats a value for the axis.
function number(v) {
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e5 || a < 1e-3)) return v.toExponential(1).replace('e+', 'e');
  return String(+v.toPrecision(5));
}
