// Mouse, fingers and keys on a canvas in space: they turn, move and zoom it.

const arrows = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] }, zooms = { '+': 1.25, '=': 1.25, '-': 0.8 };

// gestures calls scene.turn(dx, dy), scene.pan(dx, dy), scene.magnify(factor, x, y) and scene.whole(), in the page's pixels; x and y from the middle.
export function gestures(canvas, scene) {
  const touching = new Map(); // places by pointer
  const listen = (name, do_) => canvas.addEventListener(name, do_, { passive: false });
  const middle = () => { // between the pointers, and how far they are apart
    const [a, b = a] = [...touching.values()];
    return { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2, apart: Math.hypot(a[0] - b[0], a[1] - b[1]) };
  };
  const about = (x, y) => { const box = canvas.getBoundingClientRect(); return [x - box.left - box.width / 2, y - box.top - box.height / 2]; };
  listen('pointerdown', e => { touching.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
  listen('pointermove', e => {
    if (!touching.has(e.pointerId)) return;
    const from = middle();
    touching.set(e.pointerId, [e.clientX, e.clientY]);
    const to = middle(), dx = to.x - from.x, dy = to.y - from.y;
    if (touching.size > 1) {
      scene.pan(dx, dy);
      if (from.apart > 0) scene.magnify(to.apart / from.apart, ...about(to.x, to.y));
    } else if (e.shiftKey || e.buttons & 6) scene.pan(dx, dy); // the right or the middle button
    else scene.turn(dx, dy);
  });
  for (const name of ['pointerup', 'pointercancel']) listen(name, e => touching.delete(e.pointerId));
  listen('keydown', e => {
    const by = arrows[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || document.activeElement !== canvas) return;
    if (by && e.shiftKey) scene.pan(...by);
    else if (by) scene.turn(...by);
    else if (zooms[e.key]) scene.magnify(zooms[e.key], 0, 0);
    else if (e.key === '0') scene.whole();
    else return;
    e.preventDefault();
  });
  listen('contextmenu', e => e.preventDefault());
  listen('dblclick', () => scene.whole());
  listen('wheel', e => { e.preventDefault(); scene.magnify(Math.exp(-e.deltaY * 0.0015), ...about(e.clientX, e.clientY)); });
}
