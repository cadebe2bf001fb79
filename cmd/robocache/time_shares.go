package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/loader"
)

// spent is the time of batches by activity, in seconds.
type spent struct {
	Compute float64 `json:"device_seconds"` // launching batches and waiting for the device
	Copy    float64 `json:"copy_seconds"`   // copying them to the host
	Count   float64 `json:"count_seconds"`  // counting padded and invalid targets, and hashing windows
	Write   float64 `json:"write_seconds"`  // writing lines, files and the state
	Shards  float64 `json:"shards_seconds"` // waiting for shards, with --streaming
	Frames  float64 `json:"frames_seconds"` // waiting for frames, with --camera
}

// share is one activity's time.
type share struct {
	by, into string // "writing", "files and the state": the activity in bound_by, and its results
	seconds  float64
}

// waits moves the waits for shards and frames from the device's time to their own.
func (s *spent) waits(w loader.Waits) {
	shards, frames := w.Shards.Seconds(), w.Frames.Seconds()
	s.Compute -= shards - s.Shards + frames - s.Frames
	s.Shards, s.Frames = shards, frames
}

func (s *spent) shares() []share {
	return []share{
		{"reading", "waiting for shards to be read", s.Shards},
		{"decoding", "waiting for frames to be decoded", s.Frames},
		{"the device", "launching batches and waiting for them", s.Compute},
		{"copying", "copying batches to the host", s.Copy},
		{"counting", "counting and hashing the batches", s.Count},
		{"writing", "writing lines, files and the state", s.Write},
	}
}

// since adds the time since at to a share, and sets at to now.
func since(begin *time.Time, part *float64) {
	now := time.Now()
	*part += now.Sub(*begin).Seconds()
	*begin = now
}

// boundBy returns a sentence with the largest share and all others from 10 % on, or "" if no time was measured.
func boundBy(shares []share) string {
	total := 0.0
	for _, s := range shares {
		total += s.seconds
	}
	if total <= 0 {
		return ""
	}
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(b.seconds, a.seconds) })
	bound := shares[0].by
	if len(shares) > 1 && shares[1].seconds > 0.9*shares[0].seconds {
		bound += " and " + shares[1].by + " alike"
	}
	var parts []string
	for i, s := range shares {
		if part := s.seconds / total; i == 0 || part >= 0.1 {
			parts = append(parts, fmt.Sprintf("%.0f %% %sinto %s", 100*part, []string{"of the time went ", ""}[min(i, 1)], s.into))
		}
	}
	return fmt.Sprintf("bound by %s: %s", bound, strings.Join(parts, ", "))
}
