// A camera's video, played by the browser itself. The browser reports the file's time for each frame on the screen, and the server has the frames' times.

import { state, ask, query } from './common.js';

const codecs = { h264: 'avc1.640028', hevc: 'hvc1.1.6.L93.B0', av1: 'av01.0.08M.08', vp9: 'vp09.00.10.08' };

// plays reports whether the browser can play a camera's file, by its own account.
export const plays = media => Boolean(media.video) && 'requestVideoFrameCallback' in HTMLVideoElement.prototype &&
  document.createElement('video').canPlayType(`video/mp4; codecs="${codecs[media.encoding]}"`) !== '';

// last returns the place in ascending times: the latest that is not after t, or the first.
function last(times, t) {
  let lo = 0, hi = times.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (times[mid] <= t) lo = mid + 1; else hi = mid;
  }
  return Math.max(lo - 1, 0);
}

const exact = 2e-3; // seconds: the browser rounds times, and frames are farther apart
const patience = 360; // of the page's frames, until a video frame that is ready must be on the screen

export class Video {
  // The element may be the previous episode's if the file is the same. Video calls shown with a frame's number and time when it is on the screen, and
  // failed if the browser cannot play the file (broken is true) or the frame at the cursor does not come.
  constructor(episode, media, element, shown, failed) {
    Object.assign(this, { episode, media, element, shown, failed, frame: -1, target: -1 });
    const kept = element.dataset.file === media.video;
    this.behind = true;
    element.style.visibility = 'hidden'; // until this episode has a frame there
    const heard = { signal: (this.stopped = new AbortController()).signal };
    element.addEventListener('error', () => this.fail(), heard);
    element.addEventListener('loadedmetadata', () => this.follow(), heard);
    element.addEventListener('seeked', () => this.sought(), heard);
    if (!kept) {
      element.dataset.file = media.video;
      delete element.onScreen;
      element.src = this.url();
    }
    this.listen();
    this.begin();
  }

  url(fields) { return `api/episodes/${this.episode.number}/video?` + query({ camera: this.media.name, ...fields }); }

  async begin() {
    try {
      const pairs = new Float64Array(await (await ask(this.url({ times: 1 }), this.stopped)).arrayBuffer());
      this.at = pairs.filter((_, i) => i % 2 === 0); // in the recording
      this.times = pairs.filter((_, i) => i % 2 === 1); // in the file
    } catch { this.fail(); return; }
    if (this.element.error) this.fail();
    else if (this.element.onScreen === undefined) this.follow();
    else this.presented(this.element.onScreen);
  }

  fail() {
    if (this.stopped.signal.aborted) return;
    this.close();
    this.failed(true);
  }

  // close ends the video. The element keeps its file, because the next episode may be in it.
  close() {
    this.stopped.abort();
    this.target = -1; // for patient
    this.element.pause();
    this.element.cancelVideoFrameCallback(this.callback);
  }

  // follow brings the frame at the cursor onto the screen: by playing if the time in the file passes as evenly as on the page, else by seeking.
  follow() {
    const { element, at, times } = this;
    if (this.stopped.signal.aborted || !at || element.readyState < 1) return;
    const k = last(at, state.cursor), next = k + 1 < at.length ? k + 1 : k, long = times[next] - times[k];
    if (state.playing && long > 0) {
      const pace = long / (at[next] - at[k]), want = times[k] + Math.max(0, state.cursor - at[k]) * pace;
      const rate = state.speed * pace, off = element.currentTime - want;
      if (rate > 0.09 && rate <= 16) { // as fast as browsers play
        this.behind = element.seeking || off < -0.25 * Math.max(1, rate);
        this.target = -1;
        if (element.seeking) return;
        if (Math.abs(off) > 0.4 * Math.max(1, rate)) element.currentTime = want;
        const pull = Math.min(rate * Math.min(Math.max(1 - 2 * off / Math.max(1, rate), 0.7), 1.4), 16);
        if (Math.abs(element.playbackRate / pull - 1) > 0.02) element.playbackRate = pull;
        if (element.paused) element.play().catch(() => {}); // another pause came before it began
        return;
      }
    }
    if (!element.paused) element.pause();
    this.behind = this.frame !== k && state.playing;
    if (this.frame === k || this.target === k) { if (this.frame === k) this.shown(k, at[k]); return; }
    if (element.seeking) return; // sought continues
    Object.assign(this, { target: k, lost: -1 });
    element.currentTime = times[k] + (long > 0 ? Math.min(long, 0.1) / 2 : exact); // past the border to the previous frame
  }

  // sought continues if the cursor moved during the seek. It leaves out a late answer to patient.
  sought() {
    if (this.at && last(this.at, state.cursor) === this.lost) return;
    this.follow();
    if (!this.waits) this.patient();
  }

  // patient calls failed if the requested frame does not come onto the screen. It counts the page's frames after a seek, which a busy machine draws slowly
  // and a hidden page not at all. Meanwhile it seeks again, because browsers may lose a frame's report.
  patient() {
    const { element, target } = this;
    this.waits = target >= 0 && this.frame !== target;
    if (!this.waits) return;
    if (this.awaited !== target) Object.assign(this, { awaited: target, left: patience });
    if (--this.left % 60 === 0 && this.left && !element.seeking) element.currentTime += 0;
    if (this.left) { requestAnimationFrame(() => this.patient()); return; }
    Object.assign(this, { target: -1, awaited: -1, waits: false, behind: false, missed: true, lost: target });
    this.failed(false);
  }

  listen() {
    this.callback = this.element.requestVideoFrameCallback((_, on) => {
      this.element.onScreen = on.mediaTime;
      this.listen();
      this.presented(on.mediaTime);
    });
  }

  presented(time) {
    if (!this.times) return;
    const k = last(this.times, time + exact), known = Math.abs(this.times[k] - time) <= exact;
    this.frame = known ? k : -1;
    if (known) {
      this.missed = false;
      this.element.style.visibility = '';
      this.shown(k, this.at[k]);
    }
    if (!state.playing || this.element.paused) this.follow();
  }
}
