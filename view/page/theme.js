// The theme: light, dark, or the system's. It is no module, because it must run before the page is drawn.
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)'), names = ['system', 'light', 'dark'], signs = { system: '◐', light: '☀', dark: '☾' };
  let theme = 'system';
  try { theme = localStorage.getItem('robocache theme') ?? theme; } catch { /* not kept */ }
  function set() {
    document.documentElement.dataset.theme = theme === 'system' ? dark.matches ? 'dark' : 'light' : theme;
    const button = document.getElementById('theme');
    if (button) Object.assign(button, { textContent: signs[theme], title: `theme: ${theme} (t)` });
    dispatchEvent(new Event('theme'));
  }
  set();
  dark.addEventListener('change', set);
  addEventListener('DOMContentLoaded', () => {
    document.getElementById('theme').addEventListener('click', () => {
      theme = names[(names.indexOf(theme) + 1) % names.length];
      try { localStorage.setItem('robocache theme', theme); } catch { /* not kept */ }
      set();
    });
    set();
  });
})();
