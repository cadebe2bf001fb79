// The side: the episode's findings, facts, metadata and notes.

import { $, state, on, tell, make, count, length } from './common.js';

let chosen = -1, nth = 0, shown; // the selected finding, the index of its shown place, and the episode

function draw() {
  const side = $('side'), e = state.episode;
  side.replaceChildren();
  const all = state.dataset.findings;
  if (all.length) side.append(make('h2', { textContent: count(all.length, 'finding') + ' about the dataset' }), ...all.slice(0, 30).map(f => card(f, -2)));
  if (all.length > 30) side.append(make('p', { className: 'soft', textContent: `and ${all.length - 30} more, which robocache doctor lists` }));
  if (!e) {
    if (state.failed) side.append(make('h2', { textContent: '1 finding' }), card(state.failed, -2));
    return;
  }
  side.append(make('h2', { textContent: (e.findings.length ? count(e.findings.length, 'finding') : 'No findings') + (all.length ? ' about this episode' : '') }));
  e.findings.forEach((f, i) => side.append(card(f, i)));
  const facts = [];
  facts.push(e.steps ? length(e.seconds, true) : length(e.seconds), count(e.streams.reduce((n, s) => n + s.samples, 0), 'sample') + ' in ' + count(e.streams.length, 'stream'));
  if (e.frames) facts.push(count(e.frames, 'row'));
  if (!e.steps && e.start_ns !== '0') facts.push('starts at ' + e.start_ns + ' ns');
  if (e.success !== null) facts.push(e.success ? 'success' : 'failure');
  section('Episode', facts);
  section('Metadata', Object.entries(e.attributes ?? {}).map(([k, v]) => `${k}: ${v.length > 200 ? v.slice(0, 200) + ' …' : v}`));
  for (const [title, kind] of [['Remarks', 'remark'], ['Left out', 'left-out']]) {
    const notes = [...state.dataset.notes, ...e.notes].filter(n => n.class === kind);
    section(title, [...new Set(notes.map(n => n.text.includes(n.subject) ? n.text : `${n.subject}: ${n.text}`))]);
  }
}

function section(title, lines) {
  if (!lines.length) return;
  $('side').append(make('h2', { textContent: title }), ...lines.slice(0, 60).map(l => make('p', { className: 'soft', textContent: l })));
  if (lines.length > 60) $('side').append(make('p', { className: 'soft', textContent: `and ${lines.length - 60} more` }));
}

// names joins the first streams, and counts the others.
const names = (list, most) => list.slice(0, most).join(', ') + (list.length > most ? ` and ${list.length - most} more` : '');

function card(f, i) {
  const head = make('div', { className: 'head' }, make('button', { className: 'kind', ariaExpanded: chosen === i }, make('b', { textContent: f.kind })));
  const places = f.ranges.length;
  head.append(make('span', { className: 'of', textContent: chosen === i && places ? `${nth + 1} of ${places}${f.count > places ? ` (${f.count})` : ''}` : f.count > 1 ? `${f.count}×` : '' }));
  if (chosen === i && places > 1) {
    const go = (text, by) => {
      const b = make('button', { textContent: text });
      b.addEventListener('click', e => { e.stopPropagation(); choose(i, (nth + by + places) % places); });
      return b;
    };
    head.append(go('‹', -1), go('›', 1));
  }
  const where = [names(f.streams, chosen === i ? Infinity : 3), ...(f.columns?.length && f.streams.length === 1 ? [f.columns.slice(0, 6).join(', ') + (f.columns.length > 6 ? ' …' : '')] : [])].filter(x => x).join(': ');
  const c = make('div', { className: `finding ${f.severity}${chosen === i ? ' on' : ''}` }, head,
    make('div', { className: 'stream-name', textContent: where }), make('p', { textContent: f.why }), make('p', { className: 'what', textContent: f.what_to_do }));
  c.dataset.kind = f.kind;
  if (i >= 0) c.addEventListener('click', () => choose(i, 0));
  else c.addEventListener('click', () => c.classList.toggle('on'));
  return c;
}

// choose shows a place of a finding: a second on each side, or the time of 40 samples if that is longer.
function choose(i, place) {
  chosen = i;
  nth = place;
  const f = state.episode.findings[i];
  const inside = $('side').querySelector(':focus-visible');
  draw();
  const card = $('side').querySelector('.finding.on');
  card?.scrollIntoView({ block: 'nearest' });
  if (inside) card?.querySelector('.kind').focus();
  tell('stream', f.streams[0]);
  if (!f.ranges.length) return;
  const s = [...state.episode.streams, ...state.episode.media].find(x => f.streams.includes(x.name)), [a, b] = f.ranges[place];
  const around = Math.max(s?.rate ? 40 / s.rate : state.episode.steps ? 40 : 1, b - a);
  tell('show', a - around, b + around);
  tell('seek', a);
}

// step shows the next or previous place of any finding, in the order of time.
export function step(by) {
  const places = state.episode.findings.flatMap((f, i) => f.ranges.map(([t], k) => ({ t, i, k })));
  if (!places.length) { if (state.episode.findings.length) choose((chosen + by + state.episode.findings.length) % state.episode.findings.length, 0); return; }
  places.sort((a, b) => a.t - b.t || a.i - b.i);
  let at = places.findIndex(p => p.i === chosen && p.k === nth);
  if (at < 0) at = by > 0 ? Math.max(places.findIndex(p => p.t >= state.cursor), 0) : places.findLastIndex(p => p.t <= state.cursor);
  else at += by;
  const p = places[(at + places.length) % places.length];
  choose(p.i, p.k);
}

on('episode', () => {
  const other = shown !== state.episode; // otherwise the theme changed
  shown = state.episode;
  if (other) chosen = -1;
  draw();
  if (other) $('side').scrollTop = 0;
});
on('findings', draw);
on('closed', draw);
