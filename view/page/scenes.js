// What is beside the plots: the cameras' frames at the cursor, and space.

import { $, state, on, ask, make, query, count, rate, clock } from './common.js';
import { Space } from './space.js';

let cameras = [], space = null;

// A Camera shows the frame at the cursor, and has the next one there while it plays.
class Camera {
  constructor(media) {
    this.media = media;
    this.kept = new Map(); // by the frame's time: {at, until, frame, picture}
    this.canvas = make('canvas', { width: media.width || 4, height: media.height || 3 }); // of its shape before there is a picture
    this.caption = make('div', { className: 'caption' });
    this.wrong = make('div', { className: 'wrong', hidden: true });
    this.root = make('div', { className: 'scene camera' }, this.canvas, make('div', { className: 'top', textContent: media.name.replace(/^observation[./](images?[./])?/, '') }), this.caption, this.wrong);
    this.root.dataset.camera = media.name;
    this.busy = this.again = false;
  }

  find(t) {
    for (const k of this.kept.values()) if (t < k.until && (t >= k.at || k.frame === 0 && k.first)) return k;
  }

  // show draws the frame at the cursor. While one is on its way no other is asked for, so that the last that is wanted is never far behind.
  async show() {
    const t = state.cursor, there = this.find(t);
    if (there) { this.draw(there); if (state.playing && !this.busy) this.ahead(there); return; }
    if (this.busy) { this.again = true; return; }
    const got = await this.fetch(t);
    if (got) this.draw(got);
    if (this.again && !this.closed) { this.again = false; this.show(); }
  }

  async ahead(from) {
    for (let k = from, n = 0; n < 3 && k && k.until < 1e300; n++) {
      const next = this.find(k.until) ?? await this.fetch(k.until);
      if (this.again) { this.again = false; this.show(); return; }
      k = next;
    }
  }

  async fetch(t) {
    this.busy = true;
    const e = state.episode, height = Math.min(1080, Math.ceil(this.root.clientHeight * (devicePixelRatio || 1) / 120) * 120 || 240);
    try {
      const answer = await ask(`api/episodes/${e.number}/frame?` + query({ camera: this.media.name, at: t, height }));
      const where = JSON.parse(answer.headers.get('Frame'));
      const got = { ...where, first: t < where.at, picture: await createImageBitmap(await answer.blob()) };
      if (state.episode !== e) return;
      this.wrong.hidden = true;
      this.kept.set(got.at, got);
      if (this.kept.size > 24) { const [oldest] = this.kept.keys(); this.kept.get(oldest).picture.close(); this.kept.delete(oldest); }
      return got;
    } catch (err) {
      if (state.episode !== e) return;
      this.wrong.hidden = false;
      this.wrong.textContent = `${this.media.name}: ${err.message}`;
    } finally { this.busy = false; }
  }

  draw(k) {
    if (this.drawn === k) { this.tell(k); return; }
    this.drawn = k;
    this.canvas.width = k.picture.width;
    this.canvas.height = k.picture.height;
    this.canvas.getContext('2d').drawImage(k.picture, 0, 0);
    this.tell(k);
  }

  tell(k) {
    const age = state.cursor - k.at, far = d => state.episode.steps ? count(Math.round(d), 'step') : d.toFixed(2) + ' s';
    this.caption.textContent = `${clock(k.at)} · frame ${k.frame}${age > 1.5 / (this.media.rate || 1) ? ` · ${far(age)} ago` : age < -1e-6 ? ` · ${far(-age)} ahead` : ''}`;
  }

  close() { this.closed = true; for (const k of this.kept.values()) k.picture.close(); this.kept.clear(); }
}

// late reports whether a camera's frame has not come that the cursor left behind: playing waits for it, so that all cameras show one moment.
export const late = () => cameras.some(c => c.busy && !c.find(state.cursor) && state.cursor - (c.drawn?.at ?? 0) > Math.max(0.25, 3 / (c.media.rate || 1)));

function clear() {
  cameras.forEach(c => c.close());
  cameras = [];
  space?.close();
  space = null;
  $('scenes').replaceChildren();
}

on('closed', clear);
on('episode', () => {
  const e = state.episode, before = new Map(cameras.map(c => [c.media.name, c.canvas]));
  clear();
  cameras = e.media.map(m => new Camera(m));
  for (const c of cameras) { // empty, and of the last picture's shape until the new one is there, so that nothing jumps
    const { width, height } = before.get(c.media.name) ?? c.canvas;
    Object.assign(c.canvas, { width, height });
  }
  $('scenes').append(...cameras.map(c => c.root));
  for (const c of cameras) c.root.title = [c.media.name, c.media.encoding, c.media.width ? `${c.media.width} × ${c.media.height}` : '', rate(c.media.rate), count(c.media.frames, 'frame')].filter(x => x).join(' · ');
  if (e.paths.length || e.clouds.length) {
    space = new Space(e);
    $('scenes').append(space.root);
    space.begin();
  }
  cameras.forEach(c => c.show());
});
on('cursor', () => { cameras.forEach(c => c.show()); space?.follow(); });
