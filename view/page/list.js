// The list of episodes. Only the rows on the screen are in the page, so that a hundred thousand episodes are as quick as ten.

import { $, state, tell, askJSON, make, length, count } from './common.js';

const height = 58;
const known = new Map(); // summaries by number
export let numbers = []; // of all episodes, ascending: the dataset's own
let shown = [];  // the numbers of the filtered episodes, in order
let selected = -1;
let received = 0; // summaries; an episode comes again if its findings change
const rows = new Map(); // of the page, by number
const only = { found: false, marked: false };
let marks = new Set();
let focused = -1; // number of the row that gets the focus when it is drawn

const store = () => `robocache view: ${state.dataset.name} (${state.dataset.format}, ${state.dataset.episodes})`;

export function begin() {
  const d = state.dataset;
  $('name').textContent = $('name').title = d.name;
  try { marks = new Set(JSON.parse(localStorage.getItem(store()) ?? '[]')); } catch { /* not kept */ }
  numbers = d.numbers ?? [...Array(d.episodes).keys()];
  document.body.classList.toggle('plain', d.episodes === 1);
  filter();
  poll();
}

// poll requests new summaries until all episodes are read. Then it requests the findings from the comparison of all episodes.
async function poll() {
  let done = false;
  try {
    const { episodes, done: all } = await askJSON(`api/episodes?after=${received}`);
    received += episodes.length;
    for (const e of episodes) {
      known.set(e.number, e);
      drop(e.number);
    }
    if (episodes.length) filter();
    if (all) {
      state.compared = true;
      state.dataset.findings = (await askJSON('api/dataset')).findings;
      const e = state.episode;
      if (e) e.findings = (await askJSON(`api/episodes/${e.number}`)).findings;
      tell('findings');
      done = true;
    }
  } catch { /* the server may be back soon */ }
  facts();
  if (!done) setTimeout(poll, 500);
}

function facts() {
  const d = state.dataset, found = [...known.values()].filter(e => e.errors + e.warnings).length, read = known.size;
  $('facts').textContent = `${d.format} · ${count(d.episodes, 'episode')}` + (read < d.episodes ? ` · ${read} read` : '');
  $('only-found').textContent = found ? `findings ${found}` : 'findings';
}

export const marked = number => marks.has(number);

export function mark(number) {
  if (!marks.delete(number)) marks.add(number);
  try { localStorage.setItem(store(), JSON.stringify([...marks].sort((a, b) => a - b))); } catch { /* not kept */ }
  drop(number);
  filter();
}

// drop removes a row that changed. The row that takes its place gets its focus.
function drop(number) {
  if (rows.has(number) && rows.get(number) === document.activeElement) focused = number;
  rows.get(number)?.remove();
  rows.delete(number);
}

function filter() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(w => w);
  shown = [];
  for (const i of numbers) {
    const e = known.get(i);
    if (only.marked && !marks.has(i)) continue;
    if (only.found && !(e && e.errors + e.warnings)) continue;
    if (words.length) {
      const text = `${i} ${e?.name ?? ''} ${e?.task ?? ''} ${e?.kinds.join(' ') ?? ''} ${e?.error ?? ''}`.toLowerCase();
      if (!words.every(w => text.includes(w))) continue;
    }
    shown.push(i);
  }
  $('rows-all').style.height = shown.length * height + 'px';
  $('only-marked').textContent = marks.size ? `marked ${marks.size}` : 'marked';
  $('copy').title = 'copy the command that converts the dataset without the marked episodes: ' + command();
  draw();
}

function draw() {
  const box = $('rows'), first = Math.max(0, Math.floor(box.scrollTop / height) - 3);
  const last = Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + 3);
  const seen = new Set();
  for (let at = first; at < last; at++) {
    const number = shown[at];
    seen.add(number);
    if (!rows.has(number)) {
      const r = row(number);
      rows.set(number, r);
      $('rows-all').append(r);
    }
    const r = rows.get(number);
    r.style.top = at * height + 'px';
    r.classList.toggle('on', number === selected);
    r.ariaCurrent = number === selected;
    if (number === focused) { r.focus({ preventScroll: true }); focused = -1; }
  }
  for (const [number, r] of rows) if (!seen.has(number)) { r.remove(); rows.delete(number); }
  const reached = rows.get(selected) ?? rows.get(shown[first]); // the tab key reaches one row, and the arrows the others
  for (const r of rows.values()) r.tabIndex = r === reached ? 0 : -1;
}

// load requests two pictures at a time, the latest rows on the screen first. Pictures take long, and other requests must not wait for them.
const waiting = [];
let loading = 0;
function load() {
  while (loading < 2 && waiting.length) {
    const [picture, number] = waiting.pop();
    if (!picture.isConnected) continue; // it is off the screen again
    loading++;
    picture.onload = picture.onerror = () => { loading--; load(); };
    picture.src = `api/episodes/${number}/thumbnail?run=${state.dataset.run}`;
  }
}

function row(number) {
  const e = known.get(number);
  const picture = make('img', { alt: '' });
  if (e && !e.error) { waiting.push([picture, number]); setTimeout(load); }
  const name = make('div', {}, marks.has(number) ? make('span', { className: 'star', textContent: '★ ' }) : '', make('b', { textContent: number }), ` ${e?.name ?? '…'}`);
  const task = make('div', { className: 'soft', textContent: e?.error ?? e?.task ?? '', title: e?.error ?? e?.task ?? '' });
  const found = make('div', { className: 'soft' });
  if (e?.errors) found.append(make('span', { className: 'badge error', textContent: e.errors, title: e.kinds.join(', ') }));
  if (e?.warnings) found.append(make('span', { className: 'badge warning', textContent: e.warnings, title: e.kinds.join(', ') }));
  if (e && !e.error) found.append(length(e.seconds, e.steps) + (e.success === undefined ? '' : e.success ? ' · success' : ' · failure'));
  const r = make('button', { className: 'episode' }, picture, make('div', {}, name, task, found));
  r.dataset.number = number;
  r.addEventListener('click', () => tell('open', number));
  return r;
}

export function select(number) {
  selected = number;
  if ($('rows').contains(document.activeElement)) focused = number;
  const at = shown.indexOf(number), box = $('rows');
  if (at >= 0 && (at * height < box.scrollTop || (at + 1) * height > box.scrollTop + box.clientHeight)) box.scrollTop = at * height - box.clientHeight / 2 + height / 2;
  draw();
}

// step opens the next or previous episode among the filtered ones.
export function step(by) {
  const after = by > 0 ? shown.find(n => n > selected) : shown.findLast(n => n < selected);
  if (after !== undefined) tell('open', after);
}

$('rows').addEventListener('scroll', draw);
addEventListener('resize', draw);
$('filter').addEventListener('input', filter);
for (const what of ['found', 'marked']) {
  $('only-' + what).addEventListener('click', e => {
    only[what] = !only[what];
    e.currentTarget.classList.toggle('on', only[what]);
    e.currentTarget.ariaPressed = only[what];
    filter();
  });
}
// command returns the command that converts the dataset without the marked episodes.
function command() {
  const quote = s => /^[\w@%+=:,.\/-]+$/.test(s) ? s : `'${s.replaceAll("'", "'\\''")}'`;
  const { path, name } = state.dataset, list = [...marks].sort((x, y) => x - y);
  return `robocache convert ${quote(path)} -o ${quote(name + '-selected')} --to lerobot${list.length ? ' --leave-out ' + list : ''}`;
}

$('copy').addEventListener('click', async e => {
  const b = e.currentTarget;
  try {
    await navigator.clipboard.writeText(command());
    b.textContent = 'done';
  } catch { b.textContent = 'refused'; }
  setTimeout(() => { b.textContent = 'copy'; }, 1200);
});
