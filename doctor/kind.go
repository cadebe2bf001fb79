package doctor

import "slices"

// Kind is the name of a fault. Names do not change between releases.
type Kind string

// Kinds of faults, in the order of docs/doctor.md.
const (
	Gap          Kind = "gap"                  // a step far longer than the others
	Duplicate    Kind = "duplicate"            // two samples with one timestamp
	BackStep     Kind = "non-monotonic"        // a timestamp before the previous one
	Jitter       Kind = "jitter"               // steps that scatter widely around their median
	StrayTime    Kind = "outlier-timestamp"    // timestamps far from all others, such as 0
	StillClock   Kind = "still-clock"          // timestamps that are all equal
	TimeUnit     Kind = "time-unit"            // timestamps in another unit than declared
	Float32Clock Kind = "float32-clock"        // timestamps that were converted to float32 and lost precision
	CoarseClock  Kind = "quantized-timestamps" // timestamps rounded to a large fraction of their step
	FPSMismatch  Kind = "fps-mismatch"         // a rate that differs from the declared one
	FrameTime    Kind = "frame-time"           // table timestamps that differ from frame_index/fps
	NoOverlap    Kind = "no-overlap"           // streams without any common time
	ShortCover   Kind = "partial-coverage"     // a stream that covers less than half of the recording
	ClockOffset  Kind = "clock-offset"         // two streams with the same motion, one later than the other
	Dropout      Kind = "dropout"              // the recorder noted that it lost data

	NaN            Kind = "nan"             // NaN or infinite values
	Stuck          Kind = "stuck"           // all columns in a stream hold still after they moved
	Repeated       Kind = "repeated"        // each value occurs several times in a row
	Saturation     Kind = "saturation"      // values cut off at a limit
	Spike          Kind = "spike"           // values that jump far away and come back at once
	UnitJump       Kind = "unit-jump"       // values that change their unit from one sample to the next
	QuaternionNorm Kind = "quaternion-norm" // quaternions with a length other than 1
	QuaternionFlip Kind = "quaternion-flip" // q followed by -q
	AngleWrap      Kind = "angle-wrap"      // angles that jump by a full turn
	Inexact        Kind = "inexact"         // whole numbers too large for a float64

	VideoDrift   Kind = "video-drift"   // video frames at other times than their rows
	VideoCount   Kind = "video-count"   // rows without frames, or frames without rows
	MissingFile  Kind = "missing-file"  // declared files that are missing
	IndexGap     Kind = "index-gap"     // rows or episodes that LeRobot would confuse with others
	StaleStats   Kind = "stale-stats"   // statistics that differ from the data
	Schema       Kind = "schema"        // streams that differ from the declaration, or between episodes
	MixedRates   Kind = "mixed-rates"   // a stream with different rates in different episodes
	SplitOverlap Kind = "split-overlap" // episodes that are in both a training split and a held-out split
	Declaration  Kind = "declaration"   // any other false declaration in a dataset
	Undecoded    Kind = "undecoded"     // content that cannot be decoded
	Damaged      Kind = "damaged"       // broken parts in files
	Unended      Kind = "truncated"     // texts with a last line that has no end
	Unreadable   Kind = "unreadable"    // episodes that cannot be read
	Empty        Kind = "empty"         // episodes without samples

	Misfit Kind = "misfit" // content that a format or a trainer refuses or leaves out; only looked for if one is named
)

// Kinds returns all kinds of faults that an examination looks for.
func Kinds() []Kind {
	return []Kind{Gap, Duplicate, BackStep, Jitter, StrayTime, StillClock, TimeUnit, Float32Clock, CoarseClock, FPSMismatch, FrameTime, NoOverlap, ShortCover, ClockOffset, Dropout,
		NaN, Stuck, Repeated, Saturation, Spike, UnitJump, QuaternionNorm, QuaternionFlip, AngleWrap, Inexact,
		VideoDrift, VideoCount, MissingFile, IndexGap, StaleStats, Schema, MixedRates, SplitOverlap, Declaration, Undecoded, Damaged, Unended, Unreadable, Empty, Misfit}
}

// generalKinds returns the kinds that every examination looks for.
func generalKinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k == Misfit })
}

// Severity is the effect of a finding on training.
type Severity string

const (
	// Information: nothing to repair, but a reader of the recording may want to leave something out.
	Information Severity = "information"
	// Warning: the fault may be intended, or can be corrected when the recording is read.
	Warning Severity = "warning"
	// Error: training learns something false, or a reader fails.
	Error Severity = "error"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Information} }

// AtLeast reports whether s is as severe as o, or more.
func (s Severity) AtLeast(o Severity) bool {
	list := Severities()
	return slices.Index(list, s) <= slices.Index(list, o)
}

// Noun returns the word for a finding in a line of text: "error", "warning" or "note".
func (s Severity) Noun() string {
	if s == Information {
		return "note"
	}
	return string(s)
}

// String returns the severity's name.
func (s Severity) String() string { return string(s) }
