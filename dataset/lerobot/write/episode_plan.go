package write

import (
	"errors"
	"os"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
)

// episodePlan is a checked episode that can be written.
type episodePlan struct {
	features  []plannedFeature          // in the dataset's order; the standard features last
	lists     map[string]*parquet.Lists // the language columns
	times     []int64                   // the rows' times
	rows      int
	tasks     []string // in order of appearance
	taskOf    []int    // each row's index in tasks; nil if there is one task
	shift     time.Duration
	inexact   int
	names     map[string]string // feature names by stream
	start     int64             // the first timestamp, ns
	left      []string          // streams and media that cannot be stored
	notes     dataset.Notes     // about other content
	splits    []string
	temporary []string                               // files to remove after the episode is written
	undecoded func(media string, row int, err error) // EpisodeOptions.Undecoded
}

// badFrames counts a camera's bad frames.
type badFrames struct {
	*episodePlan
	media string
	count int
}

// pass reports whether a bad frame may be replaced by another. Otherwise the error ends the camera.
func (b *badFrames) pass(i int, err error) bool {
	var damaged *dataset.FormatError
	b.count++
	known := errors.As(err, &damaged) || errors.Is(err, dataset.ErrShape) || errors.Is(err, dataset.ErrCorrupt)
	if b.undecoded == nil || !known || errors.Is(err, dataset.ErrUnsupported) || 2*b.count > b.rows {
		return false
	}
	b.undecoded(b.media, i, err)
	return true
}

// plannedFeature is an episode's feature with its values.
type plannedFeature struct {
	*feature
	stats featureStats
	data  parquet.Values // empty for videos
	clip  clip           // for videos
}

// clip is an episode's frames in a video file to copy from.
type clip struct {
	open     func() (track *mp4.Track, done func(), err error)
	from, to int // frame indices
	moved    time.Duration
}

// addNumbers adds numbers [rows,width].
func (p *episodePlan) addNumbers(f *feature, data parquet.Values) {
	stats := featureStats{frames: p.rows, of: func() []summary.Column { return f.summarise(&data) }}
	p.features = append(p.features, plannedFeature{feature: f, stats: stats, data: data})
}

// order sorts the features into the dataset's order, if it has features already. It returns an *Error if they differ.
func (p *episodePlan) order(want []*feature) *Error {
	seen := map[string]int{}
	for i, f := range p.features {
		if _, twice := seen[f.name]; twice {
			return &Error{Feature: f.name, Kind: dataset.ErrOption, Got: "two streams with that name", Want: "one"}
		}
		seen[f.name] = i
	}
	if want == nil {
		return nil
	}
	want = want[:len(want)-len(layout.Standard)]
	var ordered []plannedFeature
	for _, f := range want {
		i, ok := seen[f.name]
		if !ok {
			return &Error{Feature: f.name, Kind: dataset.ErrMissing, Got: "no such stream", Want: "the same as in the first episode"}
		}
		if bad := f.same(p.features[i].feature); bad != nil {
			bad.Feature = f.name
			return bad
		}
		delete(seen, f.name)
		ordered = append(ordered, p.features[i])
	}
	for _, f := range p.features {
		if _, more := seen[f.name]; more {
			return &Error{Feature: f.name, Kind: dataset.ErrShape, Got: "a stream that the first episode does not have", Want: "what that has"}
		}
	}
	p.features = ordered
	return nil
}

// clean removes the temporary files.
func (p *episodePlan) clean() {
	for _, path := range p.temporary {
		os.Remove(path)
	}
}
