package view

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/cover"
)

// entry is an episode in memory.
type entry struct {
	number           int
	*dataset.Episode // with the predicted streams, after the recorded ones
	recorded         *dataset.Episode
	predicted        []dataset.Stream
	order            lazy[[]string] // the recorded streams' names, by suggest.Rank
	start, end       int64          // ns: first and last time in all streams, cameras and clouds, without outliers
	bytes            int64
	curves           []*curve // of Streams; nil if a stream has no samples
	mediaOrder       []clock  // of Media
	cloudsOrder      []clock  // of Clouds
	found            lazy[[]doctor.Finding]
	mu               sync.Mutex
	resamplings      map[float64]*lazy[*resampling] // by rate; 0 is the server's plan
}

// newEntry returns an episode's entry with its clocks and curves. The predicted streams are shown with the recorded ones.
func newEntry(number int, recorded *dataset.Episode, predicted ...dataset.Stream) (*entry, error) {
	shown := *recorded
	shown.Streams = slices.Concat(recorded.Streams, predicted)
	e := &shown
	n := &entry{number: number, Episode: e, recorded: recorded, predicted: predicted, bytes: e.Bytes(), curves: make([]*curve, len(e.Streams)),
		resamplings: map[float64]*lazy[*resampling]{}}
	var covers []coverage
	for i := range e.Streams {
		c, err := newCurve(&e.Streams[i], true)
		if err != nil {
			return nil, err
		}
		if n.curves[i] = c; c != nil {
			covers = append(covers, coverage{c.core, len(c.times)})
		}
	}
	n.bytes += n.bytes / 4 // for the blocks' extremes
	for i := range e.Media {
		n.mediaOrder = append(n.mediaOrder, newClock(e.Media[i].Name, e.Media[i].Times))
	}
	for i := range e.Clouds {
		n.cloudsOrder = append(n.cloudsOrder, newClock(e.Clouds[i].Name, e.Clouds[i].Times))
	}
	for _, list := range [][]clock{n.mediaOrder, n.cloudsOrder} {
		for _, c := range list {
			if c.sound {
				covers = append(covers, coverage{c.core, len(c.times)})
			}
		}
	}
	n.start, n.end = whole(covers)
	return n, nil
}

// coverage is the time that one stream's samples cover.
type coverage struct {
	cover.Cover
	samples int
}

// few is the number of samples below which a stream far from the others does not count for the episode's length.
const few = 10

// whole returns an episode's time range, ns: from the first to the last sample in its streams. A stream with few samples counts only
// if it lies near the others, because such a topic may have another clock's timestamps.
func whole(covers []coverage) (from, to int64) {
	slices.SortStableFunc(covers, func(a, b coverage) int { return cmp.Compare(b.samples, a.samples) })
	for i, c := range covers {
		length := max(float64(to)-float64(from), 1e9)
		switch {
		case i == 0:
			from, to = c.First, c.Last
		case c.samples >= few || float64(c.First) >= float64(from)-length && float64(c.Last) <= float64(to)+length:
			from, to = min(from, c.First), max(to, c.Last)
		}
	}
	return from, to
}

// resampling is an episode resampled by a plan.
type resampling struct {
	resampled *align.Resampled
	from      []string       // the recorded stream's name, for each resampled stream
	curves    []lazy[*curve] // one for each resampled stream
}

// seconds converts a timestamp to the page's clock: seconds from the episode's start.
func (e *entry) seconds(t int64) float64 { return float64(t-e.start) / 1e9 }

// moment returns the place in a clock at a time in seconds. at and until are that frame's time and the next one's, as JSON numbers.
func (e *entry) moment(c *clock, seconds float64) (place int, at, until []byte) {
	place = c.at(e.start + int64(math.Round(seconds*1e9)))
	end := math.MaxFloat64
	if place+1 < len(c.times) {
		end = e.seconds(c.times[place+1])
	}
	return place, appendNumber(nil, e.seconds(c.times[place])), appendNumber(nil, end)
}

// stream returns the index for a stream's name, or a *missing error.
func (e *entry) stream(name string) (int, error) {
	for i := range e.Streams {
		if e.Streams[i].Name == name {
			return i, nil
		}
	}
	return 0, &missing{"stream " + strconv.Quote(name)}
}

// camera returns the index for the camera that a request names, or an error if the episode has no such camera.
func (e *entry) camera(r *http.Request) (int, error) {
	name := r.FormValue("camera")
	if k := slices.IndexFunc(e.Media, func(m dataset.Media) bool { return m.Name == name }); k >= 0 {
		return k, nil
	}
	return 0, &missing{"camera " + strconv.Quote(name)}
}

// mostPixels is the largest width that a request may have.
const mostPixels = 8192

// window returns the time range in a request, in nanoseconds, and its width in pixels.
func (e *entry) window(r *http.Request) (from, to int64, pixels int, err error) {
	length := float64(e.end-e.start) / 1e9
	const far = 1e9 // seconds
	a, err := number(r, "from", 0, -far, far)
	if err != nil {
		return 0, 0, 0, err
	}
	b, err := number(r, "to", length, -far, far)
	if err != nil {
		return 0, 0, 0, err
	}
	if pixels, err = integer(r, "width", 1000, 1, mostPixels); err != nil {
		return 0, 0, 0, err
	}
	from, to = e.start+int64(math.Floor(a*1e9)), e.start+int64(math.Ceil(b*1e9))
	if from > to {
		return 0, 0, 0, &badRequest{"to", r.FormValue("to"), "a time after from"}
	}
	return from, max(to, from+1), pixels, nil
}
