// Package align puts a recording onto one clock.
//
// A recording is a [dataset.Episode]: streams of different rates, each with timestamps of its own. A [Plan] says which streams and
// columns to take, at what rate, over which time, and how: it is a struct in a program, or a YAML file that [ReadPlan] reads. [Resample] gives
// each stream tensors of its own, [Fuse] all of them side by side in one:
//
//	log, err := ulog.ReadFile("flight.ulg", ulog.Options{})
//	got, err := align.Resample(ctx, device, &log.Episode, align.Plan{Rate: 50})
//	fmt.Print(got.Report)
//
// Package align/suggest makes a first plan from recordings.
//
// # What is between samples
//
// Unless a plan says otherwise, whole numbers keep their previous value, columns that the format says are a quaternion go along the shorter
// arc, and everything else is linear. A topic of whole numbers only with less than one message a second holds its last value to the
// end, valid: such topics speak when something changes.
//
// # The range of the clock
//
// The clock covers the time that the streams have in common. Topics that hold their value, and streams that cover less than half of the
// recording, do not narrow it. Where nothing is common the clock covers all that any stream covers, and a remark says so. [Range] chooses otherwise.
//
// # Recordings that are not clean
//
// A stream whose timestamps are out of order is left out, unless [Plan].Unordered has it sorted. Samples whose timestamp lies far from all others are
// left out. Remarks name timestamps that were rounded, are perhaps in another unit, and options that have no effect.
//
// # Accounts
//
// Every target of every stream is counted once in [StreamReport]: valid, out of range, in a gap, or not finite. So are samples that were sorted or
// left out, whole numbers and doubles that the output's dtype rounds, and finite numbers that become infinite in it. Streams that were left out are
// listed with the reason.
//
// Times are nanoseconds unless named otherwise. Results are on the host. Nothing is kept of the episode but references to its tensors.
package align
