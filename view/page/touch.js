// Fingers in a plot: one moves the shown time sideways, two zoom. The page scrolls if a finger moves up or down.

import { $, state, tell } from './common.js';

const fingers = new Map(); // the place of each finger in a plot, pixels from the window's left edge

$('streams').addEventListener('pointerdown', e => {
  if (e.pointerType === 'touch' && e.target.closest('.u-over')) fingers.set(e.pointerId, e.clientX);
});

addEventListener('pointermove', e => {
  const before = [...fingers.values()];
  if (!fingers.has(e.pointerId) || !state.episode) return;
  fingers.set(e.pointerId, e.clientX);
  const after = [...fingers.values()], box = e.target.closest('.u-over')?.getBoundingClientRect();
  if (!box) return;
  const pixel = (state.to - state.from) / box.width, moment = x => state.from + (x - box.left) * pixel;
  if (before.length === 1) tell('show', state.from + (before[0] - after[0]) * pixel, state.to + (before[0] - after[0]) * pixel);
  else if (Math.abs(after[1] - after[0]) > 20) { // the two moments stay under their fingers
    const scale = (moment(before[1]) - moment(before[0])) / (after[1] - after[0]), from = moment(before[0]) - (after[0] - box.left) * scale;
    tell('show', from, from + box.width * scale);
  }
});

for (const end of ['pointerup', 'pointercancel']) addEventListener(end, e => fingers.delete(e.pointerId));
