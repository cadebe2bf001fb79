// Package csv reads text tables: one row per line, with fields separated by commas, semicolons, tabs or spaces. One column is the
// clock.
//
//	d, err := csv.Open("run.csv", dataset.Options{Clock: "time_us"}) // an empty Clock takes the default
//	e, err := d.Episode(ctx, 0)                                      // e.Stream("data")
//
// A file is an episode with one float64 stream, "data". The name is the same for every file, so that one plan fits all files in a
// folder. Its columns are the file's columns with numbers or booleans. A unit in brackets after a name, as in "p_RS_R_x [m]",
// becomes part of Column.Type. If all fields in a column are whole numbers, the column is Integer. Text columns and empty columns
// are left out with a note. A field that is empty, NA, null or None is NaN, and Notes counts it. Four columns with quaternion names
// are marked as one: q_RS_w, q_RS_x, q_RS_y, q_RS_z, or qx to qw. Lines that begin with # or % are comments, but the last comment
// before the rows may be the header.
//
// The clock is the first column with a clock name: timestamp, time, t, stamp, ts and similar names, alone or with a unit
// ("#timestamp [ns]", time_us, t_ms), or a pair sec and nsec (nanosec). If there is none, it is the first column with such a name as the
// last part of its own (header.stamp). It may hold ISO 8601 dates, which are UTC if they have no zone. Decimal digits are converted to
// nanoseconds exactly.
//
// If the name has no unit, the first values decide: the unit in which they are dates from 2000 to 2100 at most 100 s apart, or else
// the largest unit in which steps take at most a second. Because this is a guess, Info.Clock and the attribute "clock" report it,
// and Options.Clock overrides it with one from Info.Clocks. That list also has other columns with rising numbers, which are never the
// default. A file without a clock name has no times: its rows are steps at Options.Rate a second. Options.Clock "steps" selects the same.
//
// If a line has another number of fields, or text in a numeric column, only this line is lost, and Notes counts it.
package csv
