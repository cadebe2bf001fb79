// The cameras and space, above the plots. Each can fill the width, and be hidden.

import { $, state, on, make } from './common.js';
import { Camera } from './camera.js';
import { Space } from './space.js';

let cameras = [], space = null;
let large = ''; // the name of the scene that fills the width, also in the next episode
let hidden = null; // names, read from the browser's storage once

const choice = make('div', { id: 'shown' });
$('scenes').before(choice);

const all = () => space ? [...cameras, space] : cameras;
const store = () => `robocache view, hidden: ${state.dataset.name} (${state.dataset.format})`;

export const late = () => cameras.some(c => c.late());

// arrange applies large and hidden.
function arrange() {
  const shown = all().filter(s => !hidden.has(s.name)), one = shown.find(s => s.name === large);
  $('scenes').classList.toggle('large', Boolean(one));
  $('scenes').hidden = !shown.length;
  for (const s of all()) {
    s.root.hidden = one ? s !== one : hidden.has(s.name);
    s.root.classList.toggle('large', s === one);
    const title = s === one ? 'as small as before (Esc)' : `${s.label}: fill the width (double click)`;
    Object.assign(s.button, { title, ariaLabel: title, textContent: s === one ? '⤡' : '⤢' });
    if (s.root.hidden) s.rest(); else s.show();
  }
}

function enlarge(scene) {
  large = large === scene.name ? '' : scene.name;
  arrange();
}

// chooser adds a checkbox for each scene.
function chooser() {
  const scenes = all();
  choice.hidden = scenes.length < 2 && !state.episode.streams.length;
  choice.replaceChildren(...scenes.map(s => {
    const box = make('input', { type: 'checkbox', checked: !hidden.has(s.name) });
    box.addEventListener('change', () => {
      if (box.checked) hidden.delete(s.name); else hidden.add(s.name);
      try { localStorage.setItem(store(), JSON.stringify([...hidden])); } catch { /* not kept */ }
      arrange();
    });
    return make('label', { title: s.name }, box, s.label);
  }));
}

addEventListener('keydown', e => {
  if (e.key !== 'Escape' || !$('scenes').classList.contains('large') || document.body.dataset.drawer || document.activeElement.matches('select, input:not([type=checkbox])') || $('help').open) return;
  e.preventDefault(); // else it shows the whole episode too
  large = '';
  arrange();
}, { capture: true });

function clear() {
  const before = new Map(cameras.map(c => [c.name, c]));
  cameras.forEach(c => c.close());
  cameras = [];
  space?.close();
  space = null;
  choice.replaceChildren();
  $('scenes').replaceChildren();
  return before;
}

on('closed', () => clear().forEach(c => c.release()));
on('episode', () => {
  if (!hidden) try { hidden = new Set(JSON.parse(localStorage.getItem(store()) ?? '[]')); } catch { hidden = new Set(); }
  const e = state.episode, before = clear();
  cameras = e.media.map(m => new Camera(m, before.get(m.name)));
  for (const c of before.values()) if (!cameras.some(other => other.element === c.element)) c.release();
  if (e.paths.length || e.clouds.length) space = new Space(e);
  for (const s of all()) {
    s.button = make('button', { className: 'enlarge' });
    s.button.addEventListener('click', () => enlarge(s));
    if (s !== space) s.root.addEventListener('dblclick', () => enlarge(s));
    s.root.append(s.button);
  }
  before.clear(); // the functions above would keep the earlier cameras
  $('scenes').append(...all().map(s => s.root));
  chooser();
  arrange();
});
on('cursor', () => { cameras.forEach(c => c.show()); space?.show(); });
