package lerobot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/dataset/mp4"
)

// video creates media from an episode's video.
func (r *reader) video(ctx context.Context, name string) error {
	file, at, why := r.set.videoOf(r.of.number, name)
	if why != "" {
		r.leave(name, r.rows, dataset.CodeVideoUnplaced, dataset.Detail{Cause: errors.New(why)})
		return nil
	}
	open, err := r.set.videos.Get(r.set.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		r.leave(name, r.rows, dataset.CodeMediaFileMissing, dataset.Detail{Names: []string{file}})
		return nil
	}
	if err != nil {
		return r.passOver(name, err)
	}
	defer r.set.videos.Give(open)
	track := open.File.Track
	own, err := r.frameTimes(ctx, name)
	if err != nil {
		return err
	}
	var frames []int32
	var times []int64
	if r.set.opt.VideoBackend != "" {
		frames, times, err = r.pairAsLeRobot(name, track, at.from, own)
	} else {
		frames, times, err = r.pair(name, track, at, own)
	}
	if err != nil || len(frames) == 0 {
		return err
	}
	source := &footage.Source{
		Videos: &r.set.videos, Path: open.Path, Frames: frames, Whole: len(frames) == r.rows,
		Origin: footage.Origin{Feature: footage.Feature{Dataset: videoStats{r.set}, Name: name}, Episode: r.of.number},
	}
	m := dataset.Media{Name: name, Times: times, Encoding: track.Codec, Width: track.Width, Height: track.Height, Rate: rateOf(track), Source: source}
	if info := source.Origin.Dataset.Info(name).Depth; info != "" && track.Bits == 12 {
		if source.Levels = depthLevels(info); source.Levels != nil {
			m.Depth = &dataset.DepthCamera{Scale: 1}
		}
	}
	r.e.Media = append(r.e.Media, m)
	return nil
}

// pair finds each row's frame. For the rows that have one, it returns the frame's number in the file and the row's timestamp from own. The
// frame is the one nearest in time, counted from the episode's start, if it is within half a frame period and after the previous row's
// frame. If frames are left over and rows lack one, the video's times do not match the rows, so row n has the episode's frame n.
func (r *reader) pair(name string, track *mp4.Track, at video, own []int64) (frames []int32, times []int64, err error) {
	begin, half := int64(math.Round(at.from*1e9)), halfFrame(r.set.header.fps, track)
	first, off := track.Nearest(begin)
	if first < 0 {
		return nil, nil, r.damage(dataset.Note{Code: dataset.CodeVideoEmpty, Subject: name, Count: 1}, name, fmt.Sprintf("%d frames", r.rows))
	}
	end, bounded := track.Len(), r.set.header.major == 2
	if at.to > at.from {
		end, bounded = frameFrom(track, at.to, half), true
	}
	got, want := "", ""
	if at.all == int64(track.Len()) && int64(first) != at.before && max(off, -off) > layout.Tolerance {
		got, want = fmt.Sprintf("%s from frame %d on", name, first), fmt.Sprintf("%d: the ones before are in other episodes", at.before)
		first, end = int(at.before), int(at.before+at.count)
	} else if off < -half { // it is in another episode, because this one's first row has no frame
		first = min(first+1, end)
	}
	far, worst, drifts, last := int64(0), 0, 0, int32(-1)
	for i := 0; i < r.rows && want == ""; i++ {
		frame, off := track.Nearest(begin + r.shown[i])
		if off = max(off, -off); frame >= end || off > half || int32(frame) <= last {
			continue
		}
		if off > layout.Tolerance {
			if drifts++; off > far {
				far, worst = off, i
			}
		}
		last = int32(frame)
		frames, times = append(frames, last), append(times, own[i])
	}
	there := max(min(r.rows, end-first), 0)
	if want == "" && len(frames) < there {
		got, want = fmt.Sprintf("%s with frames for %d rows", name, len(frames)), fmt.Sprintf("%d, each within half the time of a frame", there)
	}
	if len(frames) < r.rows || drifts > 0 || r.set.header.major == 2 { // otherwise other episodes report the damage
		lacks := r.rows - len(frames)
		if want != "" {
			lacks = r.rows - there
		}
		if err := r.trackDamage(name, track, lacks); err != nil {
			return nil, nil, err
		}
	}
	if want != "" {
		if err := r.damage(dataset.Note{Code: dataset.CodeVideoTimes, Subject: name, Count: 1}, got, want); err != nil {
			return nil, nil, err
		}
		frames, times, drifts = frames[:0], own[:there], 0
		for i := range there {
			frames = append(frames, int32(first+i))
		}
	}
	drift := fmt.Sprintf("%s: %d ns at row %d", name, far, worst)
	if err := r.damage(dataset.Note{Code: dataset.CodeFrameDrift, Subject: name, Count: drifts, Row: dataset.At(worst)}, drift, ""); err != nil {
		return nil, nil, err
	}
	got = fmt.Sprintf("%s with %d frames", name, end-first)
	if missing := r.rows - len(frames); missing > 0 {
		return frames, times, r.damage(dataset.Note{Code: dataset.CodeRowWithoutFrame, Subject: name, Count: missing}, got, fmt.Sprint(r.rows))
	}
	if more := end - first - r.rows; bounded && more > 0 {
		if err := r.damage(dataset.Note{Code: dataset.CodeFrameWithoutRow, Subject: name, Count: more}, got, fmt.Sprint(r.rows)); err != nil {
			return nil, nil, err
		}
	}
	if more := at.beyond(track, first, end, half); more > 0 {
		r.leave(name, more, dataset.CodeFramesWithoutEpisode, dataset.Detail{})
		got = fmt.Sprintf("%s in a file of %d frames, %d of which are in no episode", name, track.Len(), more)
		return frames, times, r.damage(dataset.Note{Code: dataset.CodeFrameWithoutRow, Subject: name, Count: more}, got, fmt.Sprintf("%d, the rows of its episodes: it may be another file", at.all))
	}
	return frames, times, nil
}

// beyond counts the frames in a file that belong to no episode: those between this episode and the next one (or the file's end), and
// those before the first. Frames from a key frame on that the next episode needs for decoding do not count. The count is limited to the
// difference between the file's frames and its episodes' rows, because drifting times make frames only seem to be outside.
func (v *video) beyond(track *mp4.Track, first, end int, half int64) int {
	if v.all <= 0 || int64(track.Len()) <= v.all {
		return 0
	}
	next := track.Len()
	if v.next >= 0 {
		next = keyBefore(track, frameFrom(track, v.next, half))
	}
	outside, last := 0, 0
	for i := first; i < end; i++ {
		last = max(last, track.Decoded(i))
	}
	for i := end; i < next; i++ {
		if track.Decoded(i) > last { // otherwise decoding the episode may need it
			outside++
		}
	}
	if v.before == 0 {
		outside += keyBefore(track, first)
	}
	return min(outside, track.Len()-int(v.all))
}

// keyBefore returns the last key frame at or before a frame.
func keyBefore(track *mp4.Track, frame int) int {
	for frame > 0 && (frame >= track.Len() || !track.Key(frame)) {
		frame--
	}
	return frame
}

// frameFrom returns the first frame shown at or after a time in seconds, minus half a frame period. If there is none, it returns the
// frame count.
func frameFrom(track *mp4.Track, sec float64, half int64) int {
	frame, early := track.Nearest(int64(math.Round(sec*1e9)) - half)
	if early < 0 {
		frame++
	}
	return frame
}

// halfFrame returns half a frame period in ns: from fps, or if that is unknown, from the video's own times.
func halfFrame(fps float64, track *mp4.Track) int64 {
	if fps > 0 {
		return int64(5e8 / fps)
	}
	if rate := rateOf(track); rate > 0 {
		return int64(5e8 / rate)
	}
	return 5e8
}

// rateOf returns a video's frames per second; 0 if it has one frame, or all have the same time.
func rateOf(track *mp4.Track) float64 {
	last := track.Len() - 1
	if last < 1 {
		return 0
	}
	from, timescale := track.Time(0)
	to, _ := track.Time(last)
	if to <= from || timescale <= 0 {
		return 0
	}
	return float64(last) * float64(timescale) / float64(to-from)
}

// Cut returns rows from to to-1 of a media stream that is a video in a LeRobot dataset. The result has its own times, and a Writer
// copies its frames without encoding them. Cut returns false for other media streams, because their frames cannot be copied.
func Cut(m *dataset.Media, from, to int) (cut dataset.Media, ok bool) {
	source, ok := m.Source.(*footage.Source)
	if !ok || from < 0 || from > to || to > len(source.Frames) {
		return dataset.Media{}, false
	}
	cut = *m
	cut.Times = m.Times[from:to]
	part := *source
	part.Frames, part.Whole = source.Frames[from:to], source.Whole && to-from == len(source.Frames)
	cut.Source = &part
	return cut, true
}

// Packets returns a media stream that is a video in a LeRobot dataset with packets as its frames, which can be decoded without the file.
// Example: h264 with start codes and with the parameter sets in each key frame. It returns false for other media streams, and for videos
// with B-frames, lost frames, rows that are not next to each other in the file, or a depth map.
func Packets(m *dataset.Media) (packets dataset.Media, ok bool, err error) {
	packets = *m
	if source, is := m.Source.(*footage.Source); is {
		packets.Source, ok, err = source.Packets()
	}
	return packets, ok, err
}
