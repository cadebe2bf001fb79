package doctor

// Kind is the name of a fault. Names do not change.
type Kind string

// The kinds, in the order of docs/doctor.md.
const (
	Gap          Kind = "gap"                  // a step far longer than the others
	Duplicate    Kind = "duplicate"            // two samples of one timestamp
	BackStep     Kind = "non-monotonic"        // a timestamp before the one that precedes it
	Jitter       Kind = "jitter"               // steps that scatter widely about their median
	StrayTime    Kind = "outlier-timestamp"    // timestamps far from all others, such as 0
	StillClock   Kind = "still-clock"          // timestamps that are all one
	TimeUnit     Kind = "time-unit"            // timestamps in another unit than they are taken for
	Float32Clock Kind = "float32-clock"        // timestamps that went through float32
	CoarseClock  Kind = "quantized-timestamps" // timestamps rounded to a good part of their step
	FPSMismatch  Kind = "fps-mismatch"         // a rate that is not the declared one
	FrameTime    Kind = "frame-time"           // timestamps of a table that are not frame_index/fps
	NoOverlap    Kind = "no-overlap"           // streams that share no moment
	ShortCover   Kind = "partial-coverage"     // a stream that is there for less than half of the recording
	ClockOffset  Kind = "clock-offset"         // two streams of one motion, one later than the other
	Dropout      Kind = "dropout"              // the recorder noted that it lost data

	NaN            Kind = "nan"             // NaN or infinite values
	Stuck          Kind = "stuck"           // all columns of a stream hold still that moved before
	Repeated       Kind = "repeated"        // each value comes several times in a row
	Saturation     Kind = "saturation"      // values cut off at a limit
	Spike          Kind = "spike"           // values that jump far away and come back at once
	UnitJump       Kind = "unit-jump"       // values that are in another unit from one sample to the next
	QuaternionNorm Kind = "quaternion-norm" // quaternions that are not of length 1
	QuaternionFlip Kind = "quaternion-flip" // q followed by -q
	AngleWrap      Kind = "angle-wrap"      // angles that jump by a turn
	Inexact        Kind = "inexact"         // whole numbers too large for a float64

	VideoDrift   Kind = "video-drift"   // video frames beside their rows in time
	VideoCount   Kind = "video-count"   // rows without frames, or frames without rows
	MissingFile  Kind = "missing-file"  // files that are declared and not there
	IndexGap     Kind = "index-gap"     // rows or episodes that LeRobot would take for others
	StaleStats   Kind = "stale-stats"   // statistics that are not those of the data
	Schema       Kind = "schema"        // streams that are not as declared, or differ between episodes
	MixedRates   Kind = "mixed-rates"   // a stream at other rates in other episodes
	SplitOverlap Kind = "split-overlap" // episodes of a part for training that are in one that is held out
	Declaration  Kind = "declaration"   // any other false declaration of a dataset
	Undecoded    Kind = "undecoded"     // content that could not be decoded
	Damaged      Kind = "damaged"       // broken parts of files
	Unended      Kind = "truncated"     // texts whose last line has no end
	Unreadable   Kind = "unreadable"    // episodes that cannot be read
	Empty        Kind = "empty"         // episodes without samples
)

// Kinds returns the kinds that are looked for.
func Kinds() []Kind {
	return []Kind{Gap, Duplicate, BackStep, Jitter, StrayTime, StillClock, TimeUnit, Float32Clock, CoarseClock, FPSMismatch, FrameTime, NoOverlap, ShortCover, ClockOffset, Dropout,
		NaN, Stuck, Repeated, Saturation, Spike, UnitJump, QuaternionNorm, QuaternionFlip, AngleWrap, Inexact,
		VideoDrift, VideoCount, MissingFile, IndexGap, StaleStats, Schema, MixedRates, SplitOverlap, Declaration, Undecoded, Damaged, Unended, Unreadable, Empty}
}

// Severity is how bad a finding is.
type Severity string

const (
	// Warning: the fault may be intended, or can be corrected while the recording is read.
	Warning Severity = "warning"
	// Error: training learns something false, or a reader fails.
	Error Severity = "error"
)

// AtLeast reports whether s is as bad as o, or worse.
func (s Severity) AtLeast(o Severity) bool { return s == o || s == Error }

// String returns the severity's name.
func (s Severity) String() string { return string(s) }
