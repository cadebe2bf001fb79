package lerobot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
)

// checkBackend returns an *OptionError for an unknown Options.VideoBackend, or for a Tolerance that no backend uses.
func checkBackend(opt *Options) error {
	switch {
	case opt.VideoBackend != "" && !slices.Contains(dataset.VideoBackends, opt.VideoBackend):
		return &dataset.OptionError{Arg: "VideoBackend", Got: opt.VideoBackend, Want: strings.Join(dataset.VideoBackends, " or ")}
	case !(opt.Tolerance >= 0) || opt.Tolerance > 0 && opt.VideoBackend == "":
		return &dataset.OptionError{Arg: "Tolerance", Got: fmt.Sprint(opt.Tolerance), Want: "0 or more seconds, with a video backend"}
	}
	return nil
}

// pairAsLeRobot finds each row's frame as LeRobotDataset does with Options.VideoBackend: see the package comment. begin is the episode's
// begin in the video, in seconds. Times are compared in float32, as there.
func (r *reader) pairAsLeRobot(name string, track *mp4.Track, begin float64, own []int64) (frames []int32, times []int64, err error) {
	find, rate := nearestFrame, 0.0
	if r.set.opt.VideoBackend == "torchcodec" {
		find, rate = numberedFrame, cmp.Or(track.BaseRate(), r.set.header.fps)
	}
	far, worst := float32(0), 0
	for i := range r.rows {
		at := float64(r.shown[i]) / 1e9
		if r.stamps != nil {
			at = r.stamps[i]
		}
		at = begin + float64(float32(at))
		frame := find(track, at, rate)
		off := float32(math.Inf(1))
		if frame >= 0 {
			off = distance(track, frame, at)
		}
		if off <= float32(r.set.opt.FrameTolerance()) {
			frames, times = append(frames, int32(frame)), append(times, own[i])
		} else if off > far {
			far, worst = off, i
		}
	}
	missing := r.rows - len(frames)
	if missing > 0 || r.set.header.major == 2 {
		if err := r.trackDamage(name, track, missing); err != nil {
			return nil, nil, err
		}
	}
	return frames, times, r.damage(dataset.Note{Code: dataset.CodeRowWithoutFrame, Subject: name, Count: missing, Row: dataset.At(worst)},
		fmt.Sprintf("%s without a frame, or %g s away, at row %d", name, far, worst),
		fmt.Sprintf("within %g s, by %s's rule", r.set.opt.FrameTolerance(), r.set.opt.VideoBackend))
}

// trackDamage adds the notes about damage in a video from which an episode lacks frames.
func (r *reader) trackDamage(name string, track *mp4.Track, lacks int) error {
	for _, d := range track.Notes.Damage() {
		d.Subject, d.Count, d.Bytes = name, max(d.Count, 1), 0
		if r.set.header.major > 2 { // the rest belongs to other episodes in the file, which count it
			d.Count = min(d.Count, max(lacks, 1))
		}
		if err := r.lose(d); err != nil {
			return err
		}
	}
	return nil
}

func seconds(track *mp4.Track, frame int) float64 {
	ticks, timescale := track.Time(frame)
	return float64(ticks) / float64(timescale)
}

// distance returns how far a frame is from a time in the video, in seconds.
func distance(track *mp4.Track, frame int, at float64) float32 {
	off := float32(at) - float32(seconds(track, frame))
	return max(off, -off)
}

// nearestFrame returns the frame nearest to a time, the first of equally near ones; -1 without frames. It looks at no frame after the first
// one at or after the time, as the decoding with PyAV ends there.
func nearestFrame(track *mp4.Track, at, _ float64) int {
	n := track.Len()
	frame := min(sort.Search(n, func(i int) bool { return seconds(track, i) >= at }), n-1)
	for frame > 0 && distance(track, frame-1, at) <= distance(track, frame, at) {
		frame--
	}
	return frame
}

// numberedFrame returns the frame that torchcodec decodes for number round(at*rate): the first one at or after the time that the number has
// at the rate, counted from the video's first frame. It returns -1 if there is none.
func numberedFrame(track *mp4.Track, at, rate float64) int {
	number := math.RoundToEven(at * rate)
	if track.Len() == 0 || !(number >= 0) || number >= float64(track.Len()+track.Hidden) {
		return -1
	}
	from := math.Round((seconds(track, 0) + number/rate) * float64(track.Timescale))
	frame := sort.Search(track.Len(), func(i int) bool { ticks, _ := track.Time(i); return float64(ticks) >= from })
	if frame == track.Len() {
		return -1
	}
	return frame
}
