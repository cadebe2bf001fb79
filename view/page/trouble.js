// The pages in place of an episode: each has a title, the cause, the cure, and a button if another try can help.

import { $, make, state, on, tell } from './common.js';

const main = document.querySelector('main');

// trouble shows a page, and hides the plots behind it.
function trouble(title, cause, cure, again) {
  const button = again && make('button', { textContent: 'try again' });
  button?.addEventListener('click', again);
  $('message').replaceChildren(make('h2', { textContent: title }), make('p', { className: 'cause', textContent: cause }), make('p', { textContent: cure }), ...button ? [make('p', {}, button)] : []);
  $('message').hidden = false;
  main.classList.add('halted');
}

export function clear() {
  $('message').hidden = true;
  main.classList.remove('halted');
}

export const isEmpty = e => [...e.streams.map(s => s.samples), ...[...e.media, ...e.clouds].map(m => m.frames)].every(n => n === 0);

// empty shows why an episode has no samples: doctor's findings about it, which include the reader's notes about damage.
export function empty(e) {
  const whys = e.findings.map(f => f.why), cures = [...new Set(e.findings.map(f => f.what_to_do))];
  const damaged = e.findings.some(f => f.severity === 'error');
  if (!damaged) cures.push('If it should have samples, check that its topics were published while it was recorded: robocache inspect lists its streams.');
  trouble(e.name + (damaged ? ': no sample can be read' : ' is empty'), whys.join('\n') || 'no stream, camera or cloud of it has a sample', cures.join(' '));
}

export function unreadable(number, error, again) {
  trouble(`Episode ${number} cannot be read`, error.message, error.cure || (error.system ? 'The system or the network failed. Try again, and check the disk if it stays so.' : ''), again);
}

export function noEpisodes(d) {
  trouble(`${d.name} has no episodes`, `a dataset in the format ${d.format}, which lists no episodes`, 'Record an episode or convert one into it, then start robocache view again.');
}

// While the server does not answer, watch repeats a request. Then the page goes on where it was, or it reloads if the server is another one.
let last = '', timer = 0;
const show = (kind, ...page) => { if (last !== kind) trouble(...page); last = kind; };

async function watch() {
  if (!document.hidden) {
    try {
      const answer = await fetch('api/dataset', { method: 'HEAD' });
      if (answer.status === 403) show('other', 'Another server answers', `A server that was started later listens at ${location.host}. It does not accept the address of the earlier one.`, 'Open the address that it printed when it started: the new address has a new token.', watch);
      else if (state.dataset && answer.headers.get('Run') !== state.dataset.run) location.reload();
      else if (last) { last = ''; tell('back'); }
    } catch {
      show('gone', 'The server has ended', `Nothing answers at ${location.host}: robocache view was stopped, the computer sleeps, or the tunnel to it is closed.`, 'Start robocache view again and open the address that it prints. If only the connection was lost, this page goes on when it is back.', watch);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(watch, last ? 1000 : 5000);
}

document.addEventListener('visibilitychange', watch);
on('lost', watch);
timer = setTimeout(watch, 5000);
