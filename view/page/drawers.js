// The list and the findings as drawers. In a narrow window they are closed at first, and a button in the bar opens each.

import { $, state, on, count } from './common.js';

const body = document.body;
const opener = { list: $('show-list'), side: $('show-side') };

// show opens a drawer and moves the focus into it. An empty name closes the open one, and its button gets the focus if the drawer had it.
function show(name) {
  const last = body.dataset.drawer;
  if (name) body.dataset.drawer = name; else delete body.dataset.drawer;
  for (const k in opener) opener[k].setAttribute('aria-expanded', k === name);
  if (name) ($(name).querySelector('.episode.on, .finding.on .kind') ?? $(name).querySelector('button'))?.focus();
  else if (last && $(last).contains(document.activeElement)) opener[last].focus();
}

for (const k in opener) {
  opener[k].addEventListener('click', e => { e.stopPropagation(); show(k); });
  $(k).addEventListener('focusout', e => { if (body.dataset.drawer === k && e.relatedTarget && !$(k).contains(e.relatedTarget)) show(''); });
}
document.addEventListener('click', e => { if (body.dataset.drawer && !e.target.closest('#list, #side')) show(''); });
addEventListener('keydown', e => {
  if (e.key !== 'Escape' || !body.dataset.drawer) return;
  e.preventDefault();
  show('');
}, true);
matchMedia('(max-width: 999px)').addEventListener('change', () => body.dataset.drawer && show(''));

// label writes the number of findings on their button.
function label() {
  const n = state.episode ? state.episode.findings.length : +!!state.failed;
  Object.assign(opener.side, { textContent: '⚠ ' + n, ariaLabel: count(n, 'finding'), title: 'findings and metadata' });
}

$('more').addEventListener('click', () => { $('more').ariaExpanded = $('bar').classList.toggle('open'); });

on('open', () => show(''));
on('stream', () => show('')); // the place of a finding is shown
on('episode', label);
on('findings', label);
on('closed', label);
