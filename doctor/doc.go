// Package doctor finds faults of recordings that spoil training: clocks with gaps, steps back and wrong units, values that are stuck, not finite or cut
// off, quaternions that change sign, videos that do not match their tables, stale statistics.
//
// [Examine] reads a dataset episode by episode, in memory that does not grow with it, and returns a [Report] of [Finding]s; [Episode] examines one
// episode. The notes of readers about broken files and false declarations become findings, too. A rule reports a fault only if little else can explain
// the data: docs/doctor.md has the rule of each kind and its exceptions. Package doctor/page writes a report as a page.
//
// Times are nanoseconds on the recording's own clock. The same recording gives the same report.
package doctor
