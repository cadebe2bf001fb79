// A camera: the frame at the cursor, as a video that the browser plays or as pictures from the server.

import { state, ask, make, query, count, rate, clock } from './common.js';
import { Video, plays } from './video.js';
import { colours } from './colours.js';

export class Camera {
  // before is the same camera in the previous episode, already closed, or undefined.
  constructor(media, before) {
    this.episode = state.episode;
    this.media = media;
    this.name = media.name;
    this.label = media.name.replace(/^observation[./](images?[./])?/, '');
    this.kept = new Map(); // by the frame's time: {at, until, frame, picture}
    this.high = 0; // the pictures' height, pixels
    this.canvas = make('canvas', { width: media.width || 4, height: media.height || 3 }); // its shape before there is a picture
    if (before) Object.assign(this.canvas, { width: before.canvas.width, height: before.canvas.height }); // empty, and nothing jumps
    this.caption = make('div', { className: 'caption' });
    this.wrong = make('div', { className: 'wrong', hidden: true });
    this.scale = make('div', { className: 'depth', hidden: true }); // of depth
    this.root = make('div', { className: 'scene camera' }, this.canvas, this.scale, make('div', { className: 'top', textContent: this.label }), this.caption, this.wrong);
    this.root.title = [media.name, media.encoding, media.width ? `${media.width} × ${media.height}` : '', rate(media.rate), count(media.frames, 'frame')].filter(x => x).join(' · ');
    this.root.dataset.camera = media.name;
    this.busy = this.again = false;
    if (!plays(media)) return;
    this.element = before?.element?.dataset.file === media.video ? before.element :
      make('video', { muted: true, playsInline: true, preload: 'auto', disablePictureInPicture: true, ariaLabel: this.label, width: media.width, height: media.height });
    this.canvas.replaceWith(this.element);
  }

  // show shows the frame at the cursor.
  show() {
    if (this.closed || this.root.hidden) return;
    if (!this.element) { this.picture(); return; }
    if (this.video) { this.video.follow(); return; }
    this.video = new Video(this.episode, this.media, this.element, (frame, at) => { this.wrong.hidden = true; this.tell({ frame, at }); }, broken => this.instead(broken));
  }

  // instead replaces the video by the server's pictures. A video that only missed a frame stays if there are none, or if the frame came meanwhile.
  async instead(broken) {
    this.broken ||= broken;
    if (this.busy) return; // the earlier call goes on
    await this.picture();
    if (this.closed || !this.broken && !(this.wrong.hidden && this.video?.missed)) return;
    this.element.replaceWith(this.canvas);
    this.release();
    this.show();
  }

  // rest ends the work for a camera that is not visible.
  rest() {
    this.video?.close();
    this.video = null;
  }

  // release lets the video's file go.
  release() {
    this.rest();
    this.element?.removeAttribute('src');
    this.element?.load();
    this.element = null;
  }

  find(t) {
    for (const k of this.kept.values()) if (t < k.until && (t >= k.at || k.frame === 0 && k.first)) return k;
  }

  // picture draws the frame at the cursor. It requests one frame at a time, so that requests for old moments do not delay the latest.
  async picture() {
    const high = Math.min(1080, Math.ceil(this.root.clientHeight * (devicePixelRatio || 1) / 120) * 120 || 240);
    if (high > this.high) { this.high = high; this.forget(); }
    const t = state.cursor, there = this.find(t);
    if (there) { this.draw(there); if (state.playing && !this.busy) this.ahead(there); return; }
    if (this.busy) { this.again = true; return; }
    const got = await this.fetch(t);
    if (got) this.draw(got);
    if (this.again) { this.again = false; this.show(); }
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
    const height = this.high;
    try {
      const answer = await ask(`api/episodes/${this.episode.number}/frame?` + query({ camera: this.media.name, at: t, height }));
      const where = JSON.parse(answer.headers.get('Frame'));
      const got = { ...where, ...JSON.parse(answer.headers.get('Depth')), first: t < where.at, picture: await createImageBitmap(await answer.blob(), { colorSpaceConversion: 'none' }) };
      if (this.closed) return;
      this.wrong.hidden = true;
      if (height === this.high) this.kept.set(got.at, got);
      if (this.kept.size > 24) { const [oldest] = this.kept.keys(); this.kept.get(oldest).picture.close(); this.kept.delete(oldest); }
      return got;
    } catch (err) {
      this.wrong.hidden = false;
      this.wrong.textContent = `${this.media.name}: ${err.message}`;
    } finally { this.busy = false; }
  }

  draw(k) {
    if (this.drawn !== k) {
      this.drawn = k;
      this.canvas.width = k.picture.width;
      this.canvas.height = k.picture.height;
      const c = this.canvas.getContext('2d');
      c.drawImage(k.picture, 0, 0);
      this.scale.hidden = !k.far;
      if (k.far) this.depth(c, k);
    }
    this.tell(k);
  }

  // depth colours the levels of depth: 255 is near, 40 is far, and 0 is no depth, which stays black.
  depth(c, { near, far }) {
    const map = colours(), image = c.getImageData(0, 0, this.canvas.width, this.canvas.height), d = image.data;
    for (let i = 0; i < d.length; i += 4) if (d[i]) [d[i], d[i + 1], d[i + 2]] = map[Math.min(Math.round((255 - d[i]) / 215 * 255), 255)];
    c.putImageData(image, 0, 0);
    const unit = this.media.depth ? ' m' : '', number = v => +v.toPrecision(3) + unit, bar = make('i');
    bar.style.background = `linear-gradient(to right, ${[0, 51, 102, 153, 204, 255].map(i => `rgb(${map[i]})`)})`;
    this.scale.replaceChildren(number(near), bar, number(far));
  }

  tell(k) {
    const age = state.cursor - k.at, rate = this.media.rate, far = d => this.episode.steps ? count(Math.round(d), 'step') : d.toFixed(2) + ' s';
    const off = age > 1.5 / (rate || 1) ? ` · ${far(age)} ago` : -age > (rate ? 1 / rate : 1e-6) ? ` · ${far(-age)} ahead` : '';
    this.caption.textContent = `${clock(k.at)} · frame ${k.frame}${off}`;
  }

  // late reports whether the shown frame is behind the cursor. Playing then waits, so that all cameras show one moment.
  late() {
    if (this.root.hidden) return false;
    if (this.element) return Boolean(this.video?.behind);
    return this.busy && !this.find(state.cursor) && state.cursor - (this.drawn?.at ?? 0) > Math.max(0.25, 3 / (this.media.rate || 1));
  }

  forget() { for (const k of this.kept.values()) k.picture.close(); this.kept.clear(); }

  close() { this.closed = true; this.rest(); this.forget(); }
}
