package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Limits for the length of a video's stretch: a run of consecutive frames that is decoded and cached as one. Starting a decoder costs as
// much as decoding four million pixels.
const (
	// If all frames that are drawn from at a time fit the cache, each is decoded once. Longer stretches would delay the first batches.
	longPixels                = 20 << 20
	leastStretch, mostStretch = 64, 256
	// If they do not fit, a stretch may be dropped before it is used again. Each frame of a stretch adds half the cost of a frame.
	shortPixels  = 2 << 20
	shortStretch = 32 // at most
	keptShare    = 2  // if the cache holds less than 1/keptShare of the frames, it is not used
)

// chooseStretches sets each camera's stretch length, in frames; 0 decodes each frame when a batch needs it. Frames that are no
// video's are cached only if all fit, because they are used once an epoch.
func (m *cameraReader) chooseStretches(l *Loader, opt *Options) {
	m.stretches = make([]int, len(m.cameras))
	cache := opt.frames
	if cache == nil {
		cache = newFrameCache(opt.FrameCache)
	}
	share := 1.0 // of the frames that batches are drawn from at a time
	switch o := l.order; {
	case !o.Shuffle:
		share = 0
	case o.ShardWindows > 0:
		share = min(1, float64(o.ShardWindows)*float64(o.MixShards)/float64(o.Count))
	}
	all, videos, size := 0.0, 0.0, 0 // bytes: all frames, the video frames drawn from at a time, and one frame of each camera
	for i, cam := range m.cameras {
		frame, frames := cam.Height*cam.Width*3, float64(l.report.Cameras[i].Frames)
		if size += frame; m.videos[i] {
			videos += share * frames * float64(frame)
		} else {
			frame += stretchOverhead
		}
		all += frames * float64(frame)
	}
	limit := float64(cache.report.Limit)
	most := int(limit) / size / max(16, 2*m.workers) // so that every worker has room
	for i, pixels := range m.pixels {
		length := 0
		switch {
		case !m.videos[i] && all <= limit:
			length = 1
		case m.videos[i] && videos <= limit:
			length = min(max(longPixels/max(pixels, 1), leastStretch), mostStretch, most)
		case m.videos[i] && videos <= keptShare*limit:
			length = min(shortPixels/max(pixels, 1), shortStretch, most)
		}
		if length > 1 || length == 1 && !m.videos[i] {
			m.cache, m.stretches[i] = cache, length
		}
	}
}

// readCached copies the frames with the ascending numbers in run from the cache, and reports whether it has all. If media is not nil, it
// decodes missing stretches first. If the result is false, some targets have no frame yet. The error is ctx's, or about memory.
func (m *cameraReader) readCached(ctx context.Context, s *shot, sc *scene, run []int, media *dataset.Media) (done bool, err error) {
	length := m.stretches[sc.camera]
	if length == 0 {
		return false, nil
	}
	all := 0
	if media != nil {
		all = media.Len()
	}
	first, last := run[0], run[len(run)-1]
	cam := m.cameras[sc.camera]
	size := cam.Height * cam.Width * 3
	held, missing := m.cache.acquire(stretchKey{cam, sc.episode, first / length, length}, last/length, all)
	used := 0
	defer m.cache.release(held, &used)
	if len(missing) > 0 {
		m.decodeStretches(ctx, sc, media, missing)
	}
	for _, st := range held {
		select {
		case <-st.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if st.first+st.frames <= min(last, st.first+st.want-1) {
			return false, nil
		}
	}
	if len(held) == 0 {
		return false, nil
	}
	pixels, err := tensor.Data[uint8](s.frames[sc.camera])
	if err != nil {
		return false, err
	}
	for _, f := range run {
		st := held[f/length-first/length]
		for _, k := range sc.wants[f] {
			copy(pixels[k*size:(k+1)*size], st.pixels[(f-st.first)*size:])
			used++
		}
	}
	return true, nil
}

// decodeStretches decodes stretches, in ascending order. Adjacent ones are decoded by one decoder. A stretch has no frames from the first
// undecodable one on.
func (m *cameraReader) decodeStretches(ctx context.Context, sc *scene, media *dataset.Media, missing []*stretch) {
	defer m.cache.publish(missing)
	for k := 0; k < len(missing); {
		n := k + 1
		for n < len(missing) && missing[n].number == missing[n-1].number+1 {
			n++
		}
		done, err := m.decodeRun(ctx, sc.camera, media, missing[k:n])
		if k += done; err != nil {
			if ctx.Err() != nil || errors.Is(err, dataset.ErrClosed) {
				for _, s := range missing[k:] {
					s.isDropped = true
				}
				return
			}
			k++
		}
	}
}

// decodeRun decodes adjacent stretches. It returns how many are complete, and the error of the next one; nil if all are complete.
func (m *cameraReader) decodeRun(ctx context.Context, camera int, media *dataset.Media, run []*stretch) (done int, err error) {
	last := run[len(run)-1]
	size := m.cameras[camera].Height * m.cameras[camera].Width * 3
	for picture, err := range media.DecodeRange(ctx, run[0].first, last.first+last.want) {
		if err != nil {
			return done, err
		}
		if done == len(run) {
			break
		}
		s := run[done]
		if s.pixels == nil {
			s.pixels = make([]byte, s.want*size)
		}
		if err := shrink(s.pixels[s.frames*size:(s.frames+1)*size], m.cameras[camera], picture); err != nil {
			return done, err
		}
		if s.frames++; s.frames == s.want {
			done++
		}
	}
	if done < len(run) {
		return done, fmt.Errorf("%d of %d stretches: %w", done, len(run), dataset.ErrMissing)
	}
	return done, nil
}

// runsOf cuts ascending frame numbers into runs that are decoded together. A video's frames that are close to each other are one run.
func runsOf(frames []int, video bool) (runs [][]int) {
	most := 0
	if video {
		most = longestSkip
	}
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n]-frames[n-1] <= most {
			n++
		}
		runs, frames = append(runs, frames[:n]), frames[n:]
	}
	return runs
}
