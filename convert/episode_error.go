package convert

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/video"
)

// RefusedError reports an episode that the output format cannot hold. Only this episode is left out.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// EmptyError reports an episode without samples.
type EmptyError struct {
	Damage dataset.Notes // the reason, if the file is damaged
}

func (e *EmptyError) Error() string {
	if e.Damage == nil {
		return "no samples"
	}
	return "no samples; lost: " + e.Damage.String()
}

// ErrorNotes returns the damage.
func (e *EmptyError) ErrorNotes() dataset.Notes { return e.Damage }

// EpisodeError reports an episode that ended a conversion.
type EpisodeError struct {
	Number int    // counted over all inputs
	Input  string // its path
	Err    error
}

func (e *EpisodeError) Error() string { return fmt.Sprintf("%s: %v", e.Input, e.Err) }

// Unwrap returns the reason.
func (e *EpisodeError) Unwrap() error { return e.Err }

// SpoiledError names written episodes that lack a stream, which became known because a later episode has it. The piece is made
// again without them.
type SpoiledError struct{ Episodes map[int]error }

func (e *SpoiledError) Error() string { return e.Episodes[e.first()].Error() }

// first returns the lowest number of these episodes.
func (e *SpoiledError) first() int { return slices.Min(slices.Collect(maps.Keys(e.Episodes))) }

// brokenError reports an episode that was written in part when its error appeared, so the piece must be made again without it.
type brokenError struct {
	number int
	err    error
}

func (e *brokenError) Error() string { return e.err.Error() }

// ofEpisode reports whether an error concerns the content of one episode only: a file breaks its format, streams cannot be put on a clock,
// or the output format cannot hold the content. It returns false for a missing file, a full disk or a missing decoder, because these
// affect the next episode, too.
func ofEpisode(err error) bool {
	var path *fs.PathError
	var program *video.ProgramError
	if errors.As(err, &path) || errors.As(err, &program) || dataset.IsFatal(err) {
		return false
	}
	var (
		format  *dataset.FormatError
		stream  *dataset.StreamError
		missing *clocks.MissingError
		aligned *align.StreamError
		none    *clocks.NoStreamsError
		span    *clocks.RangeError
		size    *clocks.SizeError
		steps   *clocks.StepsError
		refused *RefusedError
		lost    *LostError
	)
	for _, as := range []any{&format, &stream, &missing, &aligned, &none, &span, &size, &steps, &refused, &lost} {
		if errors.As(err, as) {
			return true
		}
	}
	return false
}

// damaged reports whether an error concerns one frame. Its sample then has the frame before it, or the first good one.
func damaged(err error) bool {
	var bad *dataset.FormatError
	return errors.As(err, &bad) && !errors.Is(err, dataset.ErrUnsupported)
}
