// Package align puts a recording onto one clock. Most programs need three calls:
//
//	d, err := dataset.Open(ctx, "flight.ulg", dataset.Options{})
//	e, err := d.Episode(ctx, 0)
//	got, err := align.Resample(ctx, device, e, align.Plan{Rate: 50}) // device is from ops.Open("cpu")
//
// got.Times [T] is the clock. got.Streams[i] has the values [T,D] and the validity [T] for each stream, and fmt.Print(got.Report)
// prints a table with the losses.
//
// A recording is a [dataset.Episode]: streams with different rates, each with its own timestamps. A [Plan] lists the streams and
// columns to take, the rate and range of the clock, and the interpolation. It is a struct in a program, or a YAML file that package
// align/planfile reads. [Resample] returns separate tensors for each stream, and [Fuse] one tensor with all streams side by side.
// Package align/suggest makes a first plan from recordings.
//
// # Interpolation
//
// Without a method in the plan, whole numbers keep their previous value, quaternions follow the shorter arc if the format marks
// them, and everything else is linear. A topic with whole numbers only and less than one message a second, for example a flight
// mode, is published on change, so it holds its last value to the end and stays valid.
//
// # The range of the clock
//
// The clock covers the time that the streams have in common. Topics that hold their value, and streams that cover less than half of
// the recording, do not narrow it. If there is no common time, the clock covers the time of all streams, with a note. [Range] has
// other rules.
//
// # Faulty recordings
//
// A stream with timestamps out of order is left out, unless [Plan].Unordered sorts it. Samples with a timestamp far from all others
// are left out. Notes report timestamps that were rounded or may have another unit, and options without effect.
//
// # Accounts
//
// [StreamReport] counts every target in every stream once: valid, out of range, in a gap, or not finite. It also counts samples
// that were sorted or left out, whole numbers and doubles that the output's dtype rounds, and finite numbers that become infinite
// in it. Streams that were left out are listed with the reason.
//
// # Errors
//
// A mistake in a plan is a *[PlanError]. A stream that cannot be put on the clock is a *[StreamError]. Other errors wrap an error
// from ops or dataset, for example ops.ErrTooLarge if a clock has too many targets.
//
// Times are nanoseconds unless noted otherwise. Results are on the host, and share tensors with the episode.
package align
