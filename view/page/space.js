// Space: paths, clouds and voxels, drawn point by point into a canvas. That takes milliseconds for tens of thousands of points, on any machine and over
// any remote desktop, because it needs no GPU.

import { state, ask, askJSON, make, query, fit, css, count } from './common.js';
import { colours, colourOf, common, legend, ruler } from './colours.js';
import { gestures } from './gestures.js';

let turned = { yaw: -2.2, pitch: 0.6 }, lastChoice = '', lastVoxel = '', lastField = ''; // kept for the next episode

const axes = ['x', 'y', 'z'], rgb = ['red', 'green', 'blue'], normals = ['nx', 'ny', 'nz'];
const clay = [214, 206, 192]; // a surface without colours

export class Space {
  constructor(episode) {
    this.episode = episode;
    this.name = this.label = '3-D';
    this.canvas = make('canvas', { tabIndex: 0, role: 'img', ariaLabel: 'space: arrow keys turn, with shift they move; + and - zoom' });
    this.caption = make('div', { className: 'caption' });
    this.select = make('select', { ariaLabel: 'cloud or path' });
    episode.clouds.forEach(c => this.select.append(make('option', { value: 'cloud ' + c.name, textContent: 'cloud: ' + c.name })));
    episode.paths.forEach(p => this.select.append(make('option', { value: `path ${p.stream} ${p.columns}`, textContent: `path: ${p.stream}${p.name ? ' ' + p.name : ''}` })));
    if ([...this.select.options].some(o => o.value === lastChoice)) this.select.value = lastChoice;
    this.voxel = make('input', { ariaLabel: 'voxel size', type: 'number', min: 0, step: 'any', placeholder: 'voxel m', title: 'voxel size; none for points', value: lastVoxel });
    this.field = make('select', { ariaLabel: 'point colour', title: 'point colour' });
    this.offer([]);
    const above = make('button', { textContent: 'top', title: 'from above' });
    this.root = make('div', { className: 'scene space3d' }, this.canvas, this.caption, make('div', { className: 'choice' }, this.select, this.field, this.voxel, above));
    above.addEventListener('click', () => { Object.assign(turned, { yaw: -Math.PI / 2, pitch: Math.PI / 2 }); this.draw(); });
    this.select.addEventListener('change', () => { lastChoice = this.select.value; this.begin(); });
    this.field.addEventListener('change', () => { lastField = this.field.value; this.shown = this.range = null; this.follow(); });
    this.voxel.addEventListener('change', () => { lastVoxel = this.voxel.value; this.shown = this.range = null; this.follow(); });
    gestures(this.canvas, this);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
  }

  // whole shows all from the same side.
  whole() { Object.assign(this, { zoom: 1, moved: [0, 0, 0], box: this.points ? this.bounds() : this.box, range: null }); this.draw(); }

  turn(dx, dy) {
    if (!this.box) return;
    turned.yaw -= dx * 0.008;
    turned.pitch = Math.min(Math.max(turned.pitch + dy * 0.008, -Math.PI / 2), Math.PI / 2);
    this.draw();
  }

  // pan moves the scene along the screen.
  pan(dx, dy) {
    if (!this.box) return;
    const { yaw, pitch } = turned, right = [-Math.sin(yaw), Math.cos(yaw), 0], up = [-Math.cos(yaw) * Math.sin(pitch), -Math.sin(yaw) * Math.sin(pitch), Math.cos(pitch)];
    this.moved = this.moved.map((m, k) => m - (right[k] * dx - up[k] * dy) / this.scale);
    this.draw();
  }

  // magnify zooms about the place x, y, in pixels from the middle.
  magnify(factor, x, y) {
    if (!this.box) return;
    const zoom = Math.min(Math.max(this.zoom * factor, 0.1), 100), by = zoom / this.zoom;
    this.zoom = zoom;
    this.scale *= by;
    this.pan(x * (1 - by), y * (1 - by));
  }

  // offer lists the colours: the surface if there are normals, the axes, rgb if there is, and the points' fields.
  offer(fields) {
    this.offered = fields;
    this.colourful = rgb.every(name => fields.includes(name));
    const smooth = normals.every(name => fields.includes(name));
    this.field.replaceChildren(...[...smooth ? ['surface'] : [], ...axes, ...this.colourful ? ['rgb'] : [], ...fields.filter(f => !axes.includes(f) && f !== 'rgb')].map(f => make('option', { value: f, textContent: f })));
    this.field.value = lastField;
    if (this.field.selectedIndex < 0) this.field.value = smooth ? 'surface' : this.colourful ? 'rgb' : 'z';
  }

  show() {
    if (this.root.hidden) return;
    if (this.kind) this.follow(); else this.begin();
  }

  rest() {}

  close() { this.resized.disconnect(); this.closed = true; }

  // begin loads the selected cloud or path.
  async begin() {
    const { value } = this.select, [kind, ...rest] = value.split(' ');
    this.kind = kind;
    this.voxel.hidden = this.field.hidden = kind !== 'cloud';
    Object.assign(this, { points: null, path: null, shown: null, box: null, range: null, zoom: 1, moved: [0, 0, 0] });
    if (kind === 'cloud') { this.cloud = rest.join(' '); this.follow(); return; }
    const p = this.episode.paths.find(p => `${p.stream} ${p.columns}` === rest.join(' '));
    try {
      const path = await askJSON(`api/episodes/${this.episode.number}/path?` + query({ stream: p.stream, columns: p.columns }));
      if (this.closed || this.select.value !== value) return;
      this.path = path;
      this.bound([path.x, path.y, path.z]);
      this.caption.textContent = `${p.stream} ${p.name}`;
    } catch (e) { this.caption.textContent = e.message; }
    this.draw();
  }

  bound(axes) {
    this.box = axes.map(list => {
      let low = Infinity, high = -Infinity;
      for (const v of list) if (v != null) { if (v < low) low = v; if (v > high) high = v; }
      return low > high ? [0, 1] : [low, high];
    });
  }

  // follow shows the cloud at the cursor, or the path's position there.
  async follow() {
    if (this.kind === 'path') { this.draw(); return; }
    const t = state.cursor, size = +this.voxel.value || 0;
    if (this.shown?.size === size && this.shown.name === this.cloud && t < this.shown.until && (t >= this.shown.at || this.shown.first)) return;
    if (this.busy) { this.again = true; return; }
    this.busy = true;
    const name = this.cloud, field = this.field.value, fields = size || axes.includes(field) ? [] : field === 'rgb' ? rgb : field === 'surface' ? [...normals, ...this.colourful ? rgb : []] : [field];
    try {
      const answer = await ask(`api/episodes/${this.episode.number}/cloud?` + query([['cloud', name], ['at', t], ['voxel', size], ...fields.map(f => ['field', f])]));
      const head = JSON.parse(answer.headers.get('Cloud')), data = new Float32Array(await answer.arrayBuffer());
      if (!this.closed && this.kind === 'cloud' && this.cloud === name && this.field.value === field) this.take({ ...head, fields: answer.headers.get('Fields'), first: t < head.at, size, name, field }, data);
    } catch (e) { this.caption.textContent = e.message; } finally { this.busy = false; }
    if (this.again && !this.closed) { this.again = false; this.follow(); }
  }

  // take shows a cloud that arrived.
  take(head, data) {
    const { size, field } = head;
    Object.assign(this, { shown: head, size, coloured: field });
    this.points = { data, width: head.width, n: data.length / head.width };
    this.at = axes.includes(field) ? axes.indexOf(field) : field === 'surface' && head.width > 6 ? 6 : 3;
    this.spacing = 0;
    if (field === 'surface' && !size) {
      this.spacing = this.apart();
      if (!this.faced) this.face();
    }
    const own = this.bounds(); // the box moves only if no point is in it
    if (!this.box || own.some(([a, b], k) => b < this.box[k][0] || a > this.box[k][1])) Object.assign(this, { box: own, range: null, zoom: 1, moved: [0, 0, 0] });
    const n = this.points.n, whole = count(head.points, 'point');
    const shown = size ? `${count(n, 'voxel')}${head.cut ? ' (the first of more)' : ''} of ${whole}` : n < head.points - head.not_finite ? `${n.toLocaleString('en')} of ${whole}` : whole;
    this.caption.textContent = `${head.name} · cloud ${head.cloud} · ${shown}${head.not_finite ? ` · ${head.not_finite.toLocaleString('en')} not finite` : ''}`;
    this.draw();
    const fields = [...new URLSearchParams(head.fields).keys()];
    if (fields.join() !== this.offered.join()) this.offer(fields);
    if (this.field.value !== field) { this.shown = this.range = null; this.again = true; } // the list of colours gained or lost the earlier choice
  }

  // face turns the front of a surface to the eye, once.
  face() {
    const { data, width, n } = this.points, [x, y, z] = [3, 4, 5].map(k => { let sum = 0; for (let i = 0; i < n; i++) sum += data[i * width + k]; return sum; });
    this.faced = true;
    if (x || y || z) turned = { yaw: Math.atan2(y, x), pitch: Math.atan2(z, Math.hypot(x, y)) };
  }

  // apart returns the median distance from a point to the next, because a mesh has them in the order of places.
  apart() {
    const { data, width, n } = this.points;
    const list = Float32Array.from({ length: Math.max(n - 1, 0) }, (_, i) => Math.hypot(...[0, 1, 2].map(k => data[(i + 1) * width + k] - data[i * width + k])));
    return list.sort()[list.length >> 1] ?? 0;
  }

  bounds() { return [0, 1, 2].map(k => this.extent(k)); }

  // extent returns the range of a number in most points.
  extent(k) {
    const { data, width, n } = this.points;
    return common(Array.from({ length: n }, (_, i) => data[i * width + k]));
  }

  draw() {
    const [c, w, h] = fit(this.canvas);
    c.clearRect(0, 0, w, h);
    if (!this.box) return;
    const middle = this.box.map(([a, b], k) => (a + b) / 2 + this.moved[k]), { yaw, pitch } = turned;
    const cy = Math.cos(yaw), sy = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch);
    // The vector (cos yaw cos pitch, sin yaw cos pitch, sin pitch) points at the eye.
    const right = (x, y) => -sy * x + cy * y, up = (x, y, z) => -cy * sp * x - sy * sp * y + cp * z;
    // The scale is the largest with all corners of the box on the canvas.
    let wide = 0, high = 0;
    for (let i = 0; i < 8; i++) {
      const [x, y, z] = this.box.map(([a, b], k) => (i >> k & 1 ? 1 : -1) * (b - a) / 2);
      wide = Math.max(wide, Math.abs(right(x, y)));
      high = Math.max(high, Math.abs(up(x, y, z)));
    }
    const scale = this.scale = (Math.min((w - 60) / 2 / (wide || 1e-9), (h - 44) / 2 / (high || 1e-9), 1e9)) * this.zoom;
    const project = (x, y, z) => {
      x -= middle[0]; y -= middle[1]; z -= middle[2];
      return [w / 2 + right(x, y) * scale, h / 2 - up(x, y, z) * scale, cy * cp * x + sy * cp * y + sp * z];
    };
    this.map = colours();
    this.eye = [cy * cp, sy * cp, sp];
    this.light = [0.9 * this.eye[0] + 0.25 * sy - 0.35 * cy * sp, 0.9 * this.eye[1] - 0.25 * cy - 0.35 * sy * sp, 0.9 * sp + 0.35 * cp]; // from above on the left
    this.dot = Math.min(Math.ceil(1.2 * this.spacing * scale), 12);
    if (this.points) this.range ??= this.at < 3 ? this.box[this.at] : this.extent(this.at);
    this.floor(c, project);
    if (this.points && this.size) this.cubes(c, project, this.eye);
    else if (this.points) this.splat(c, project);
    if (this.path) this.line(c, project);
    this.axes(c, project, middle, h, scale);
    ruler(c, w, h, scale);
    if (this.points && !this.painted()) legend(c, w, h, this.map, this.at < 3 ? `${axes[this.at]}, m` : this.size ? 'points' : this.coloured, this.range);
  }

  // floor draws a grid below the scene. Its distance is a round number in metres.
  floor(c, project) {
    const [[x0, x1], [y0, y1], [z0]] = this.box, wide = Math.max(x1 - x0, y1 - y0) || 1;
    let step = 10 ** Math.floor(Math.log10(wide / 4));
    if (wide / step > 20) step *= 5; else if (wide / step > 8) step *= 2;
    const a = Math.floor(x0 / step) * step, b = Math.ceil(x1 / step) * step, d = Math.floor(y0 / step) * step, e = Math.ceil(y1 / step) * step;
    c.strokeStyle = css('--line');
    c.lineWidth = 1;
    c.beginPath();
    const to = (...p) => { const [px, py] = project(...p); return [px, py]; };
    for (let x = a; x <= b + step / 2; x += step) { c.moveTo(...to(x, d, z0)); c.lineTo(...to(x, e, z0)); }
    for (let y = d; y <= e + step / 2; y += step) { c.moveTo(...to(a, y, z0)); c.lineTo(...to(b, y, z0)); }
    c.stroke();
    this.step = step;
  }

  // painted reports whether the recording has the points' colours.
  painted() { return this.points.width >= 6; }

  colour(i) {
    const { data, width } = this.points, at = i * width;
    if (!this.painted()) return colourOf(this.map, data[at + this.at], this.range);
    const most = this.range[1] <= 1 ? 255 : 1, smooth = this.coloured === 'surface';
    const own = smooth && width === 6 ? clay : [0, 1, 2].map(k => data[at + this.at + k] * most);
    const bright = smooth ? 0.3 + 0.7 * Math.max(this.facing(i, this.light), 0) : 1;
    return own.map(v => Math.min(Math.max(v * bright, 0), 255));
  }

  // facing returns the product of a point's normal and a direction.
  facing(i, [x, y, z]) {
    const { data, width } = this.points, at = i * width + 3;
    return data[at] * x + data[at + 1] * y + data[at + 2] * z;
  }

  // splat draws points in their colours, near ones over far ones. A surface has no points that face away.
  splat(c, project) {
    const { data, width, n } = this.points, ratio = devicePixelRatio || 1, W = this.canvas.width, H = this.canvas.height;
    const image = c.getImageData(0, 0, W, H), pixels = new Uint32Array(image.data.buffer), far = new Float32Array(W * H).fill(-Infinity);
    const smooth = this.coloured === 'surface', side = Math.max(1, Math.round((n * 10 < W * H ? 1.6 : 1) * ratio), this.dot * ratio);
    for (let i = 0; i < n; i++) {
      if (smooth && this.facing(i, this.eye) <= 0) continue;
      const z = data[i * width + 2], [x, y, depth] = project(data[i * width], data[i * width + 1], z), [r, g, b] = this.colour(i);
      const px = Math.round(x * ratio - side / 2), py = Math.round(y * ratio - side / 2);
      for (let v = Math.max(py, 0); v < Math.min(py + side, H); v++) {
        for (let u = Math.max(px, 0); u < Math.min(px + side, W); u++) {
          const at = v * W + u;
          if (depth <= far[at]) continue;
          far[at] = depth;
          pixels[at] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
        }
      }
    }
    c.putImageData(image, 0, 0);
  }

  // cubes draws voxels from the farthest to the nearest. The eye sees the same three faces in each.
  cubes(c, project, eye) {
    const { data, width, n } = this.points, half = this.size / 2, middle = this.box.map(([a]) => a), o = project(...middle);
    const edge = [0, 1, 2].map(k => { const p = project(...middle.map((m, i) => m + (i === k ? half : 0))); return [p[0] - o[0], p[1] - o[1]]; });
    const faces = [0, 1, 2].map(k => {
      const s = eye[k] < 0 ? -1 : 1, [u, v] = [edge[(k + 1) % 3], edge[(k + 2) % 3]], f = edge[k];
      return { light: [0.72, 0.86, 1][k], corners: [[1, 1], [1, -1], [-1, -1], [-1, 1]].map(([a, b]) => [s * f[0] + a * u[0] + b * v[0], s * f[1] + a * u[1] + b * v[1]]) };
    });
    const list = Array.from({ length: n }, (_, i) => [...project(data[i * width], data[i * width + 1], data[i * width + 2]), i]).sort((a, b) => a[2] - b[2]);
    for (const [x, y, , i] of list) {
      const [r, g, b] = this.colour(i);
      for (const { light, corners } of faces) {
        c.fillStyle = `rgb(${r * light},${g * light},${b * light})`;
        c.beginPath();
        for (const [dx, dy] of corners) c.lineTo(x + dx, y + dy);
        c.fill();
      }
    }
  }

  // line draws the path: bold up to the cursor, with a dot there.
  line(c, project) {
    const { t, x, y, z } = this.path;
    let now = null;
    for (const past of [false, true]) {
      c.strokeStyle = css('--c0') + (past ? '' : '55');
      c.lineWidth = past ? 2 : 1;
      c.beginPath();
      let drawing = false;
      for (let i = 0; i < t.length; i++) {
        if (past && t[i] > state.cursor) break;
        if (x[i] == null || y[i] == null || z[i] == null) { drawing = false; continue; }
        const p = project(x[i], y[i], z[i]);
        if (drawing) c.lineTo(p[0], p[1]); else c.moveTo(p[0], p[1]);
        drawing = true;
        if (past) now = p;
      }
      c.stroke();
    }
    if (!now) return;
    c.fillStyle = css('--c1');
    c.beginPath();
    c.arc(now[0], now[1], 5, 0, 7);
    c.fill();
  }

  axes(c, project, middle, h, scale) {
    const at = [34, h - 52], o = project(...middle), long = 24 / scale;
    c.font = '11px system-ui, sans-serif';
    [['x', '--error'], ['y', '--c2'], ['z', '--c0']].forEach(([name, colour], k) => {
      const p = project(...middle.map((m, i) => m + (i === k ? long : 0))), dx = p[0] - o[0], dy = p[1] - o[1];
      c.strokeStyle = c.fillStyle = css(colour);
      c.lineWidth = 2;
      c.beginPath();
      c.moveTo(...at);
      c.lineTo(at[0] + dx, at[1] + dy);
      c.stroke();
      c.fillText(name, at[0] + dx * 1.3 - 3, at[1] + dy * 1.3 + 4);
    });
    c.fillStyle = css('--soft');
    c.fillText(`grid ${+this.step.toPrecision(2)} m`, 8, h - 20);
  }
}
