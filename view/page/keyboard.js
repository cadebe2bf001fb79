// Groups of buttons, such as the columns' names: the tab key reaches one button of a group, and the arrows the others.

document.addEventListener('keydown', e => {
  const now = document.activeElement, group = now.closest('.legend'), by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[e.key];
  if (!group || !by || e.ctrlKey || e.metaKey || e.altKey) return;
  const all = [...group.querySelectorAll('button')], next = all[Math.min(Math.max(all.indexOf(now) + by, 0), all.length - 1)];
  for (const b of all) b.tabIndex = b === next ? 0 : -1;
  next.focus();
  e.preventDefault();
});
