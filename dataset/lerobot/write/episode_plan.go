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

// episodePlan is an episode that was checked and can be written.
type episodePlan struct {
	features  []plannedFeature          // in the order of the dataset's; the standard ones last
	lists     map[string]*parquet.Lists // the language columns
	times     []int64                   // of the rows
	rows      int
	tasks     []string // in the order in which they come
	taskOf    []int    // which of them each row has; nil if there is one
	shift     time.Duration
	inexact   int
	names     map[string]string // features by streams
	start     int64             // the first timestamp, ns
	left      []string          // streams and media without a place
	notes     dataset.Notes     // about other content
	splits    []string
	temporary []string                               // files that are removed when it is written
	undecoded func(media string, row int, err error) // as EpisodeOptions.Undecoded
}

// badFrames counts the bad frames of a camera.
type badFrames struct {
	*episodePlan
	media string
	count int
}

// pass reports whether the row of a bad frame gets another frame. If not, the error ends the camera.
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

// plannedFeature is a feature of an episode with its values.
type plannedFeature struct {
	*feature
	stats featureStats
	data  parquet.Values // of all but videos
	clip  clip           // of a video
}

// clip is an episode's frames in a video file that is to be copied from.
type clip struct {
	open     func() (track *mp4.Track, done func(), err error)
	from, to int // frames
	moved    time.Duration
}

// addNumbers adds numbers [rows,width].
func (p *episodePlan) addNumbers(f *feature, data parquet.Values) {
	stats := featureStats{frames: p.rows, of: func() []summary.Column { return f.summarise(&data) }}
	p.features = append(p.features, plannedFeature{feature: f, stats: stats, data: data})
}

// order puts the features into the order of the dataset's, if it has some, and returns an *Error unless they are the same.
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
