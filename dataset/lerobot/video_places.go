package lerobot

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
)

// videoOf returns the file and position of an episode's video, or the reason why it is unknown. Version 2 has one file per episode.
func (s *catalog) videoOf(number int64, key string) (name string, at video, why string) {
	pattern := s.header.videoPath
	numbers := map[string]int64{"episode_index": number, "episode_chunk": number / s.header.chunkSize}
	at = video{from: 0, to: -1, all: -1, next: -1}
	if s.header.major == 2 {
		if pattern == "" {
			pattern = layout.EpisodeVideoPath
		}
	} else {
		if pattern == "" {
			pattern = layout.VideoPath
		}
		d := s.declared[number]
		if d == nil {
			return "", at, "meta/episodes does not have the episode"
		}
		var ok bool
		if at, ok = d.videos[key]; !ok || at.chunk < 0 || at.file < 0 || !(at.from >= 0 && at.from < maxVideoTime) {
			return "", at, "meta/episodes does not locate it"
		}
		numbers["chunk_index"], numbers["file_index"] = at.chunk, at.file
	}
	if name = layout.Expand(pattern, numbers, key); !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", at, fmt.Sprintf("the path %.100q leads out of the dataset", name)
	}
	return name, at, ""
}

// countFrames computes each episode's first frame in its file, if each row has a frame, and finds overlapping episodes.
func (s *catalog) countFrames() {
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
			s.problems.add(dataset.CodeVideoOverlap, "feature "+f.Name, episodeRow(overlaps[0]), detail{Got: ranges(spansOf(overlaps))}).Count = len(overlaps)
		}
	}
}
