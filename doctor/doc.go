// Package doctor looks at recordings for what spoils training: clocks with gaps, steps back and wrong units, values that are stuck, not finite or cut
// off, quaternions that change sign, videos that are beside their tables, statistics that are not those of the data.
//
// [Examine] reads a dataset episode by episode, in memory that does not grow with it, and returns a [Report] of [Finding]s; [Episode] looks at one
// episode. What a reader noted of broken files and false declarations is told as findings too, and not looked for again. A rule speaks up only where
// little else can explain what is there: docs/doctor.md has each kind with its rule and what keeps it quiet.
//
// Times are nanoseconds on the recording's own clock. Findings are numbered neither by chance nor by the order of reading: the same recording gives the
// same report.
package doctor
