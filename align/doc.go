// Package align puts a recording onto one clock.
//
// A recording is a [dataset.Episode]: streams of different rates, each with timestamps of its own. A [Plan] has the streams and columns to
// take, the rate and range of the clock, and the interpolation: it is a struct in a program, or a YAML file that package align/planfile
// reads. [Resample] gives each stream tensors of its own, [Fuse] all of them side by side in one:
//
//	log, err := ulog.ReadFile("flight.ulg", ulog.Options{})
//	got, err := align.Resample(ctx, device, &log.Episode, align.Plan{Rate: 50})
//	fmt.Print(got.Report)
//
// Package align/suggest makes a first plan from recordings.
//
// # Interpolation
//
// If a plan has no kinds, whole numbers keep their previous value, quaternions (if the format marks them) go along the shorter arc, and
// everything else is linear. A topic with whole numbers only and under one message a second, for example a flight mode, is published on
// change: it holds its last value to the end, valid.
//
// # The range of the clock
//
// The clock covers the time that the streams have in common. Topics that hold their value, and streams that cover less than half of the
// recording, do not narrow it. If nothing is common, the clock covers the time of all streams, with a note. [Range] has other rules.
//
// # Faulty recordings
//
// A stream whose timestamps are out of order is left out, unless [Plan].Unordered has it sorted. Samples whose timestamp lies far from all
// others are left out. Notes report timestamps that were rounded or may be in another unit, and options without effect.
//
// # Accounts
//
// Every target of every stream is counted once in [StreamReport]: valid, out of range, in a gap, or not finite. So are samples that were
// sorted or left out, whole numbers and doubles that the output's dtype rounds, and finite numbers that become infinite in it. Streams that
// were left out are listed with the reason.
//
// # Errors
//
// A mistake in a plan is a *[PlanError], a stream that cannot be put on the clock a *[StreamError]. Others wrap an error of ops or dataset,
// for example ops.ErrTooLarge if a clock has too many targets.
//
// Times are nanoseconds unless named otherwise. Results are on the host. Results share the tensors of the episode.
package align
