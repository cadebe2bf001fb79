// Point colours by a number, and the scales beside them.

import { css, short } from './common.js';

const viridis = [[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37]];
const build = stops => Array.from({ length: 256 }, (_, i) => {
  const at = i / 255 * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2), f = at - k;
  return stops[k].map((v, c) => Math.round(v + f * (stops[k + 1][c] - v)));
});
const maps = { light: build(viridis), dark: build([[168, 96, 204], [126, 104, 202], [84, 106, 172], ...viridis.slice(3)]) };

// colours returns the 256 colours for the theme: dark violet cannot be seen on a dark page.
export const colours = () => maps[css('color-scheme')] ?? maps.light;

const none = [128, 128, 128];

// colourOf returns a number's colour between the ends of a scale.
export const colourOf = (map, v, [low, high]) => v === v ? map[Math.min(Math.max(Math.round((v - low) / (high - low || 1) * 255), 0), 255)] : none;

// common returns the range that most numbers have: the outermost hundredth at each end does not count.
export function common(numbers) {
  const list = Float32Array.from(numbers).filter(v => v === v).sort(), n = list.length;
  return n ? [list[Math.floor(n / 100)], list[n - 1 - Math.floor(n / 100)]] : [0, 1];
}

// legend draws a colour scale at the right edge.
export function legend(c, w, h, map, name, [low, high]) {
  const top = 46, long = Math.min(110, h - 110), x = w - 18;
  if (long < 20) return;
  for (let y = 0; y < long; y++) {
    c.fillStyle = `rgb(${map[Math.round((1 - y / long) * 255)]})`;
    c.fillRect(x, top + y, 10, 1.5);
  }
  c.fillStyle = css('--soft');
  c.font = '11px system-ui, sans-serif';
  c.textAlign = 'right';
  c.fillText(name, w - 8, top - 6);
  c.fillText(short(high), x - 4, top + 8);
  c.fillText(short(low), x - 4, top + long);
  c.textAlign = 'left';
}

// ruler draws a scale bar with a round number in metres, where scale is pixels a metre.
export function ruler(c, w, h, scale) {
  const most = Math.min(120, w / 4) / scale, ten = 10 ** Math.floor(Math.log10(most)), metres = ten * [5, 2, 1].find(k => k * ten <= most);
  const long = metres * scale, right = w - 8, y = h - 24;
  c.strokeStyle = c.fillStyle = css('--text');
  c.lineWidth = 1.5;
  c.beginPath();
  for (const [px, py] of [[right - long, y - 4], [right - long, y], [right, y], [right, y - 4]]) c.lineTo(px, py);
  c.stroke();
  c.textAlign = 'center';
  c.fillText(metres < 0.01 ? `${+(metres * 1000).toPrecision(1)} mm` : metres < 1 ? `${+(metres * 100).toPrecision(1)} cm` : metres < 1000 ? `${metres} m` : `${metres / 1000} km`, right - long / 2, y - 5);
  c.textAlign = 'left';
}
