package lerobot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/tensor"
)

// tolerance is how far a frame may be from its row, ns: what LeRobot allows.
const tolerance = int64(100 * time.Microsecond)

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
	at = video{from: 0, to: -1}
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
func (s *Set) compareVideos() {
	for _, f := range s.header.features {
		if f.DType != "video" {
			continue
		}
		there := map[string]bool{}
		for _, e := range s.episodes {
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
			if st, err := os.Stat(s.path(name)); err != nil || !st.Mode().IsRegular() {
				s.problems.add("feature "+f.Name, "video files that are missing", name)
			}
		}
	}
}

// video makes media of an episode's video.
func (r *reader) video(ctx context.Context, name string) error {
	file, at, why := r.set.videoOf(r.of.number, name)
	if why != "" {
		r.leave(name, r.rows, "a video, and "+why)
		return nil
	}
	open, err := r.set.videos.get(r.set.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		r.leave(name, r.rows, "there is no file "+file)
		return nil
	}
	if err != nil {
		return r.passOver(name, err)
	}
	defer r.set.videos.give(open)
	track := open.file.track
	for _, d := range track.Damage {
		if err := r.lose(name+": "+d.What, max(d.Count, 1), d.First); err != nil {
			return err
		}
	}
	frames, err := r.pair(name, track, at)
	if err != nil || len(frames) == 0 {
		return err
	}
	r.e.Media = append(r.e.Media, dataset.Media{
		Name: name, Times: r.times[:len(frames)], Encoding: track.Codec, Width: track.Width, Height: track.Height,
		Source: &frameSource{r.set, open.path, frames},
	})
	return nil
}

// pair finds the frame of each row: the one whose time in the file is nearest to that of the row, from where the episode begins. Where these do not
// ascend, because the times of the video are not those of the rows, it counts frames. Fewer frames than rows give the first rows one each.
func (r *reader) pair(name string, track *mp4.Track, at video) ([]int32, error) {
	begin := int64(math.Round(at.from * 1e9))
	first, _ := track.Nearest(begin)
	if first < 0 {
		return nil, r.damage("videos without frames", 1, name, fmt.Sprintf("%d frames", r.rows))
	}
	half := int64(5e8) // of the time of a frame
	if r.set.header.fps > 0 {
		half = int64(5e8 / r.set.header.fps)
	}
	end := track.Len()
	if at.to > at.from && at.to < 1e9 {
		times := track.Times()
		limit := int64(math.Round(at.to*1e9)) - half
		end = sort.Search(len(times), func(i int) bool { return times[i] >= limit })
	}
	frames := make([]int32, 0, min(r.rows, end))
	far, worst, drifts := int64(0), 0, 0
	for i := range r.rows {
		frame, off := track.Nearest(begin + r.shown[i])
		if frame >= end || max(off, -off) > half || len(frames) > 0 && int32(frame) <= frames[len(frames)-1] {
			break
		}
		if off = max(off, -off); off > tolerance {
			if drifts++; off > far {
				far, worst = off, i
			}
		}
		frames = append(frames, int32(frame))
	}
	there := min(r.rows, end-first)
	if len(frames) < there {
		if err := r.damage("videos whose times are not those of the rows: their frames are counted", 1,
			fmt.Sprintf("%s without a frame for row %d at %d ns", name, len(frames), r.shown[len(frames)]),
			"one within half the time of a frame"); err != nil {
			return nil, err
		}
		frames, drifts = frames[:0], 0
		for i := range max(there, 0) {
			frames = append(frames, int32(first+i))
		}
	}
	if drifts > 0 {
		err := r.damage("video frames that are more than 0.1 ms from their rows", drifts, fmt.Sprintf("%s: %d ns at row %d", name, far, worst), "")
		if err != nil {
			return nil, err
		}
	}
	if missing := r.rows - len(frames); missing > 0 {
		r.leave(name, missing, fmt.Sprintf("the video has %d frames for %d rows: the last rows have none", len(frames), r.rows))
		return frames, r.damage("rows without a video frame", missing, fmt.Sprintf("%s with %d frames", name, len(frames)), fmt.Sprint(r.rows))
	}
	if more := track.Len() - r.rows; r.set.header.major == 2 && more > 0 {
		r.leave(name, more, "frames of the video that no row has")
		return frames, r.damage("video frames without a row", more, fmt.Sprintf("%s with %d frames", name, track.Len()), fmt.Sprint(r.rows))
	}
	return frames, nil
}

// frameSource reads an episode's frames of a video.
type frameSource struct {
	set    *Set
	path   string
	frames []int32 // of the file, ascending
}

// ReadFrame returns a frame as it is encoded.
func (s *frameSource) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	open, err := s.set.videos.get(s.path)
	if err != nil {
		return nil, err
	}
	defer s.set.videos.give(open)
	return open.file.track.ReadFrame(ctx, int(s.frames[i]))
}

// DecodeFrames decodes frames from to to-1, those that follow each other in the file in one go.
func (s *frameSource) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		open, err := s.set.videos.get(s.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.set.videos.give(open)
		for from < to {
			end := from + 1
			for end < to && s.frames[end] == s.frames[end-1]+1 {
				end++
			}
			for t, err := range open.file.track.DecodeFrames(ctx, int(s.frames[from]), int(s.frames[end-1])+1) {
				if !yield(t, err) || err != nil {
					return
				}
			}
			from = end
		}
	}
}
