// The strip at the top: the whole episode with its findings, the shown time and the cursor.

import { $, state, on, tell, fit, css, askJSON, query, looped } from './common.js';

const canvas = $('overview');
let shape = null; // of the first stream, flags last
const left = 66, right = 22; // as the plots below

const width = () => canvas.clientWidth - left - right;
const x = t => left + t / (state.episode.seconds || 1e-3) * width();
const t = px => Math.min(Math.max((px - left) / width(), 0), 1) * (state.episode.seconds || 1e-3);

async function load() {
  shape = null;
  draw();
  const e = state.episode, full = e.streams.filter(s => s.samples && s.columns.length), s = full.find(s => s.columns.some(c => !c.integer)) ?? full[0];
  if (!s) return;
  try {
    const got = await askJSON(`api/episodes/${e.number}/series?` + query({ stream: s.name, width: 600, columns: [...s.columns.keys()].filter(k => !s.columns[k].hidden).slice(0, 3) }));
    if (state.episode === e) { shape = got; draw(); }
  } catch { /* the plots report it */ }
}

function draw() {
  const [c, w, h] = fit(canvas), e = state.episode;
  c.clearRect(0, 0, w, h);
  if (!e) return;
  c.fillStyle = css('--panel');
  c.fillRect(left, 0, width(), h);
  gaps(c, h);
  looped(c, x, 0, h, 1);
  c.fillStyle = css('--accent');
  c.fillRect(x(state.cursor) - 1, 0, 2, h); // below the curves
  if (shape) {
    c.globalAlpha = 0.55;
    shape.v.forEach((list, k) => {
      let low = Infinity, high = -Infinity;
      for (const v of list) if (v != null) { low = Math.min(low, v); high = Math.max(high, v); }
      if (!(high > low)) return;
      c.strokeStyle = css('--c' + k);
      c.lineWidth = 1;
      c.beginPath();
      let drawing = false;
      list.forEach((v, i) => {
        if (v == null) { drawing = false; return; }
        const y = h - 4 - (v - low) / (high - low) * (h - 18);
        if (drawing) c.lineTo(x(shape.t[i]), y); else c.moveTo(x(shape.t[i]), y);
        drawing = true;
      });
      c.stroke();
    });
    c.globalAlpha = 1;
  }
  for (const severity of ['warning', 'error']) {
    c.fillStyle = css('--' + severity);
    for (const f of e.findings) if (f.severity === severity) for (const [a, b] of f.ranges) {
      if (x(b) - x(a) > 4 && b - a < e.seconds / 2) { // a range, unless it is most of the episode
        c.globalAlpha = 0.25;
        c.fillRect(x(a), 0, x(b) - x(a), h);
        c.globalAlpha = 1;
      }
      for (const t of [a, b]) c.fillRect(x(t) - 1, 0, 2, 8);
      c.fillRect(x(a), 0, x(b) - x(a), 3);
    }
  }
  if (state.from > 0 || state.to < e.seconds) {
    c.fillStyle = css('--shade');
    c.fillRect(left, 0, x(state.from) - left, h);
    c.fillRect(x(state.to), 0, left + width() - x(state.to), h);
    c.strokeStyle = css('--accent');
    c.lineWidth = 1;
    c.strokeRect(x(state.from) + 0.5, 0.5, Math.max(x(state.to) - x(state.from) - 1, 2), h - 1);
  }
}

// gaps shades the time when streams have gaps: darker if more streams have one.
function gaps(c, h) {
  const all = [...state.episode.streams, ...state.episode.media, ...state.episode.clouds], n = Math.max(Math.ceil(width()), 1), steps = new Int32Array(n + 2);
  for (const s of all) {
    for (const [a, b] of s.gaps) {
      const from = Math.min(Math.max(Math.round(x(a) - left), 0), n), to = Math.min(Math.max(Math.round(x(b) - left), from + 1), n + 1);
      steps[from]++;
      steps[to]--;
    }
  }
  c.fillStyle = css('--c1');
  for (let i = 0, now = 0; i < n; i++) {
    now += steps[i];
    c.globalAlpha = now ? 0.08 + 0.3 * now / all.length : 0;
    if (now) c.fillRect(left + i, 10, 1, h - 10);
  }
  c.globalAlpha = 1;
}

let dragging = false;
canvas.addEventListener('pointerdown', e => {
  if (!state.episode) return;
  dragging = true;
  canvas.setPointerCapture(e.pointerId);
  tell('play', false);
  tell('seek', t(e.offsetX));
});
canvas.addEventListener('pointermove', e => { if (dragging && state.episode) tell('seek', t(e.offsetX)); });
canvas.addEventListener('pointerup', () => { dragging = false; });
canvas.addEventListener('dblclick', () => state.episode && tell('show', 0, state.episode.seconds));
canvas.addEventListener('wheel', e => {
  if (!state.episode) return;
  e.preventDefault();
  tell('zoom', Math.exp(e.deltaY * 0.002), t(e.offsetX));
}, { passive: false });

on('episode', load);
on('closed', draw);
on('findings', draw);
on('view', draw);
on('cursor', draw);
addEventListener('resize', draw);
on('loops', draw);
