// Package doctor finds faults in recordings that harm training: clocks with gaps, steps back and wrong units; values that are
// stuck, not finite or cut off; quaternions that change sign; videos that do not match their tables; stale statistics. Most
// programs need three calls:
//
//	d, err := dataset.Open(ctx, path, dataset.Options{})
//	report, err := doctor.Examine(ctx, d, doctor.Options{Path: path}) // report.Findings: Kind, Severity, Stream, Why, WhatToDo
//	err = page.Write(file, report)                                    // an HTML page with pictures, by package doctor/page
//
// [Examine] reads a dataset episode by episode, in memory that does not grow with it, and returns a [Report] with [Finding]s.
// [Episode] examines one episode. The readers' notes about broken files and false declarations become findings, too. A rule reports
// a fault only if there is hardly another explanation for the data. docs/doctor.md has the rule for each kind and its exceptions.
//
// Times are nanoseconds on the recording's own clock. The same recording gives the same report.
package doctor
