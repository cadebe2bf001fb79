// Time: the loop, the field that goes to a time, and UTC.

import { $, state, on, tell, dayTime, isUTC } from './common.js';

// loop repeats a range while the page plays: the given one, or else the shown time. A second call without a range ends it.
export function loop(from, to) {
  state.loop = from == null && (state.loop || from === null) ? null : [from ?? state.from, to ?? state.to];
  show();
  tell('loops');
  if (state.loop && !(state.cursor >= state.loop[0] && state.cursor < state.loop[1])) tell('seek', state.loop[0]);
}

// parse reads a time in seconds from the start: "12.5", "1:02.5", "1:00:03", a date with a time, or nanoseconds as in a report. In UTC, "19:24:48" is a
// time of the day. It returns NaN for anything else.
function parse(text) {
  text = text.trim().replace(/ ?(s|UTC)$/i, '');
  const e = state.episode, dated = /^\d{4}-\d\d-\d\d[ T]\d\d?:/.test(text);
  if (/^\d{15,}$/.test(text)) return Number(BigInt(text) - BigInt(e.start_ns)) / 1e9;
  if (dated && e.utc) {
    const [date, ...rest] = text.split(/[ T]/), [day, second] = dayTime();
    return Date.parse(date + 'T00:00:00Z') / 1000 - day * 86400 + sum(rest.join('').replace('Z', '')) - second;
  }
  if (isUTC() && text.split(':').length === 3) {
    const t = sum(text) - dayTime()[1];
    return t < -43200 ? t + 86400 : t; // past midnight
  }
  return sum(text.replace(/^step /, ''));
}

const sum = text => /^-?[\d.]+(:[\d.]+){0,2}$/.test(text) ? text.split(':').reduce((all, part) => all * 60 + +part, 0) : NaN;

function go() {
  const field = $('go'), t = field.value && state.episode ? parse(field.value) : 0, wrong = Number.isNaN(t);
  field.setAttribute('aria-invalid', wrong);
  if (!field.value || wrong || !state.episode) return;
  field.value = '';
  tell('play', false);
  tell('seek', t);
}

const kept = 'robocache utc';
function show() {
  $('utc').hidden = !state.episode?.utc;
  for (const k of ['utc', 'loop']) {
    $(k).classList.toggle('on', !!state[k]);
    $(k).ariaPressed = !!state[k];
  }
}

// utc switches between seconds from the start and UTC.
export function utc() {
  state.utc = !state.utc;
  try { localStorage.setItem(kept, state.utc ? '1' : ''); } catch { /* not kept */ }
  tell('utc');
  tell('seek', state.cursor);
}

try { state.utc = !!localStorage.getItem(kept); } catch { /* not kept */ }
$('go').addEventListener('change', go);
$('loop').addEventListener('click', () => loop());
$('utc').addEventListener('click', utc);
addEventListener('theme', () => tell('theme'));
on('loop', loop);
on('episode', show);
on('utc', show);
on('closed', show);
