package lerobot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// tolerance is how far a frame may be from its row, ns: what LeRobot allows.
const tolerance = int64(100 * time.Microsecond)

const unrowed = "video frames without a row"

// footage is an open video.
type footage struct {
	file  *mp4.File
	track *mp4.Track
}

func openFootage(path string) (*footage, error) {
	file, err := mp4.Open(path)
	if err != nil {
		return nil, err
	}
	track, err := file.Video()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &footage{file, track}, nil
}

func (f *footage) Close() error { return f.file.Close() }

// videoOf returns the file of an episode's video and which part of it, or why nobody knows. Version 2 has a file for each episode.
func (s *Set) videoOf(number int64, key string) (name string, at video, why string) {
	pattern := s.header.videoPath
	numbers := map[string]int64{"episode_index": number, "episode_chunk": number / s.header.chunkSize}
	at = video{from: 0, to: -1, all: -1, next: -1}
	if s.header.major == 2 {
		if pattern == "" {
			pattern = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
		}
	} else {
		if pattern == "" {
			pattern = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
		}
		d := s.declared[number]
		if d == nil {
			return "", at, "meta/episodes does not have the episode"
		}
		var ok bool
		if at, ok = d.videos[key]; !ok || at.chunk < 0 || at.file < 0 || !(at.from >= 0 && at.from < 1e9) {
			return "", at, "meta/episodes does not say where it is"
		}
		numbers["chunk_index"], numbers["file_index"] = at.chunk, at.file
	}
	if name = expand(pattern, numbers, key); !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", at, fmt.Sprintf("the path %.100q leads out of the dataset", name)
	}
	return name, at, ""
}

// compareVideos looks for the videos' files.
func (s *Set) compareVideos(ctx context.Context) error {
	var files storage.Listing
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		there := map[string]bool{}
		for _, e := range s.episodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			name, _, why := s.videoOf(e.number, f.Name)
			if why != "" {
				s.problems.add("feature "+f.Name, "videos that cannot be found", fmt.Sprintf("episode %d: %s", e.number, why))
				continue
			}
			if s.header.major == 3 {
				if _, known := there[name]; known {
					continue
				}
				there[name] = true
			}
			if !files.Has(ctx, s.path(name)) {
				s.problems.add("feature "+f.Name, "video files that are missing", name)
			}
		}
	}
	return nil
}

// video makes media of an episode's video.
func (r *reader) video(ctx context.Context, name string) error {
	file, at, why := r.set.videoOf(r.of.number, name)
	if why != "" {
		r.leave(name, r.rows, dataset.CodeVideoUnplaced, dataset.Detail{Cause: errors.New(why)})
		return nil
	}
	open, err := r.set.videos.Get(r.set.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		r.leave(name, r.rows, dataset.CodeFileMissing, dataset.Detail{Names: []string{file}})
		return nil
	}
	if err != nil {
		return r.passOver(name, err)
	}
	defer r.set.videos.Give(open)
	track := open.File.track
	own, err := r.frameTimes(ctx, name)
	if err != nil {
		return err
	}
	frames, times, err := r.pair(name, track, at, own)
	if err != nil || len(frames) == 0 {
		return err
	}
	r.e.Media = append(r.e.Media, dataset.Media{
		Name: name, Times: times, Encoding: track.Codec, Width: track.Width, Height: track.Height, Rate: rateOf(track),
		Source: &frameSource{set: r.set, path: open.Path, frames: frames, of: toldOf{r.of.number, name}, all: len(frames) == r.rows},
	})
	return nil
}

// pair finds the frame of each row, and returns the rows that have one: the frame whose time in the file is nearest to that of the row, from where the
// episode begins, if it is within half the time of a frame. Where frames are left over that should have rows, the times of the video are not those of
// the rows, and frames are counted.
func (r *reader) pair(name string, track *mp4.Track, at video, own []int64) (frames []int32, times []int64, err error) {
	begin, half := int64(math.Round(at.from*1e9)), halfFrame(r.set.header.fps, track)
	first, off := track.Nearest(begin)
	if first < 0 {
		return nil, nil, r.damage("videos without frames", 1, name, fmt.Sprintf("%d frames", r.rows))
	}
	end, bounded := track.Len(), r.set.header.major == 2
	if at.to > at.from && at.to < 1e9 {
		end, bounded = frameFrom(track, at.to, half), true
	}
	got, want := "", ""
	if at.all == int64(track.Len()) && int64(first) != at.before && max(off, -off) > tolerance {
		got, want = fmt.Sprintf("%s from frame %d on", name, first), fmt.Sprintf("%d: those before are of other episodes", at.before)
		first, end = int(at.before), int(at.before+at.count)
	}
	far, worst, drifts, last := int64(0), 0, 0, int32(-1)
	for i := 0; i < r.rows && want == ""; i++ {
		frame, off := track.Nearest(begin + r.shown[i])
		if off = max(off, -off); frame >= end || off > half || int32(frame) <= last {
			continue
		}
		if off > tolerance {
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
	if len(frames) < r.rows || drifts > 0 || r.set.header.major == 2 { // else what is broken is of other episodes
		lacks := r.rows - len(frames)
		if want != "" {
			lacks = r.rows - there
		}
		for _, d := range track.Damage {
			count := max(d.Count, 1)
			if r.set.header.major > 2 { // the others are of other episodes in the file, which count them
				count = min(count, max(lacks, 1))
			}
			if err := r.lose(name+": "+d.What, count, d.First); err != nil {
				return nil, nil, err
			}
		}
	}
	if want != "" {
		if err := r.damage("videos whose times are not those of the rows: their frames are counted", 1, got, want); err != nil {
			return nil, nil, err
		}
		frames, times, drifts = frames[:0], own[:there], 0
		for i := range there {
			frames = append(frames, int32(first+i))
		}
	}
	drift := fmt.Sprintf("%s: %d ns at row %d", name, far, worst)
	if err := r.damage("video frames that are more than 0.1 ms from their rows", drifts, drift, ""); err != nil {
		return nil, nil, err
	}
	got = fmt.Sprintf("%s with %d frames", name, end-first)
	if missing := r.rows - len(frames); missing > 0 {
		r.leave(name, missing, dataset.CodeRowsWithoutFrame, dataset.Detail{Of: r.rows})
		return frames, times, r.damage("rows without a video frame", missing, got, fmt.Sprint(r.rows))
	}
	if more := end - first - r.rows; bounded && more > 0 {
		r.leave(name, more, dataset.CodeFramesWithoutRow, dataset.Detail{})
		if err := r.damage(unrowed, more, got, fmt.Sprint(r.rows)); err != nil {
			return nil, nil, err
		}
	}
	if more := at.beyond(track, first, end, half); more > 0 {
		r.leave(name, more, dataset.CodeFramesWithoutEpisode, dataset.Detail{})
		got = fmt.Sprintf("%s in a file of %d frames, %d of which are in no episode", name, track.Len(), more)
		return frames, times, r.damage(unrowed, more, got, fmt.Sprintf("%d, the rows of its episodes: it may be another file", at.all))
	}
	return frames, times, nil
}

// beyond counts the frames of a file that lie in no episode: those from the end of this one to the beginning of the next, or to the file's end, and before
// the first. Those from a key frame on, which an episode's first frame needs to be decoded, are none. They are not more than the file has more than its
// episodes have rows: where times drift, frames only seem to be outside.
func (v *video) beyond(track *mp4.Track, first, end int, half int64) int {
	if v.all <= 0 || int64(track.Len()) <= v.all {
		return 0
	}
	next := track.Len()
	if v.next >= 0 {
		next = keyBefore(track, frameFrom(track, v.next, half))
	}
	outside := max(next-end, 0)
	if v.before == 0 {
		outside += keyBefore(track, first)
	}
	return min(outside, track.Len()-int(v.all))
}

// keyBefore returns the last key frame that is not behind a frame.
func keyBefore(track *mp4.Track, frame int) int {
	for frame > 0 && (frame >= track.Len() || !track.Key(frame)) {
		frame--
	}
	return frame
}

// frameFrom returns the first frame that is shown at a time in seconds, or half the time of a frame before it, or later; the number of frames if none is.
func frameFrom(track *mp4.Track, sec float64, half int64) int {
	frame, early := track.Nearest(int64(math.Round(sec*1e9)) - half)
	if early < 0 {
		frame++
	}
	return frame
}

// halfFrame is half the time of a frame, ns: by fps, or by the video's own times where nobody says.
func halfFrame(fps float64, track *mp4.Track) int64 {
	if fps > 0 {
		return int64(5e8 / fps)
	}
	if rate := rateOf(track); rate > 0 {
		return int64(5e8 / rate)
	}
	return 5e8
}

// rateOf returns how many frames a second a video has; 0 if it has one, or all at one time.
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

// countFrames finds out which number the first frame of each episode has in its file, where each row has a frame, and whether episodes overlap there.
func (s *Set) countFrames() {
	half := 0.5
	if s.header.fps > 0 {
		half /= s.header.fps
	}
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		in := map[[2]int64][]int64{}
		for _, n := range s.order {
			if v, ok := s.declared[n].videos[f.Name]; ok && v.file >= 0 {
				in[[2]int64{v.chunk, v.file}] = append(in[[2]int64{v.chunk, v.file}], n)
			}
		}
		of := func(n int64) video { return s.declared[n].videos[f.Name] }
		overlaps := []int64{}
		for _, list := range in {
			slices.SortStableFunc(list, func(a, b int64) int { return cmp.Compare(of(a).from, of(b).from) })
			all := int64(0)
			for i, n := range list {
				if i > 0 && of(n).from < of(list[i-1]).to-half {
					overlaps = append(overlaps, n)
				}
				if length := s.declared[n].length; length >= 0 && length <= math.MaxInt32 && all >= 0 {
					all += length
				} else {
					all = -1
				}
			}
			before := int64(0)
			for i, n := range list {
				v := of(n)
				v.before, v.count, v.all, v.next = before, s.declared[n].length, all, -1
				if i+1 < len(list) {
					v.next = of(list[i+1]).from
				}
				before += v.count
				s.declared[n].videos[f.Name] = v
			}
		}
		slices.Sort(overlaps)
		if len(overlaps) > 0 {
			s.problems.add("feature "+f.Name, "episodes whose videos begin before that of another in the file ends", ranges(spansOf(overlaps)))
		}
	}
}

// frameSource reads an episode's frames of a video.
type frameSource struct {
	set    *Set
	path   string
	frames []int32 // of the file, ascending
	// Which episode's video they are, and whether they are all of it: then what the dataset tells of it is true of them.
	of  toldOf
	all bool
}

// ReadFrame returns a frame as it is encoded.
func (s *frameSource) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	open, err := s.set.videos.Get(s.path)
	if err != nil {
		return nil, err
	}
	defer s.set.videos.Give(open)
	return open.File.track.ReadFrame(ctx, int(s.frames[i]))
}

// DecodeFrames decodes frames from to to-1, those that follow each other in the file in one go.
func (s *frameSource) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		open, err := s.set.videos.Get(s.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.set.videos.Give(open)
		for from < to {
			end := from + 1
			for end < to && s.frames[end] == s.frames[end-1]+1 {
				end++
			}
			for t, err := range open.File.track.DecodeFrames(ctx, int(s.frames[from]), int(s.frames[end-1])+1) {
				if !yield(t, err) || err != nil {
					return
				}
			}
			from = end
		}
	}
}
