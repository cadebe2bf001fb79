// Package csv reads tables of text: fields separated by commas, semicolons, tabs or spaces, a line a row, of which one column is the clock.
//
// A file is an episode of one stream, "data", of float64: the name is the same in every file, so that a plan for one file of a folder is one for all.
// Its columns are the file's that hold numbers or truth values; a unit in brackets behind a name, as in "p_RS_R_x [m]", becomes part of Column.Type.
// A column whose every field is whole is Integer. Columns of text, and empty ones, are left out by name. Fields that are empty, or say NA, null or
// None, are NaN, and Notes counts them. Four columns that are called as a quaternion are marked as one: q_RS_w, q_RS_x, q_RS_y, q_RS_z; qx to qw.
// Lines that begin with # or % are comments, except that the last before the rows may be the header.
//
// The clock is the first column that is called timestamp, time, t, stamp, ts or the like, alone or with a unit: "#timestamp [ns]", time_us, t_ms;
// or the last part of a name, as in header.stamp; or a pair sec and nsec (nanosec). It may hold dates as ISO 8601 has them, which are UTC where they
// have no zone. Timestamps become nanoseconds as their digits say. Where the name says no unit, the first values do: it is the one in which they are
// dates from 2000 to 2100 at most 100 s apart, else the largest in which steps take a second at most. That is a judgement: Info.Clock and the
// attribute "clock" tell it, and Options.Clock overrides it by one of Info.Clocks, which also has other columns whose numbers only rise. A file
// without such a column has no times: its rows are steps, as of any format without times, at Options.Rate a second; so they are with Options.Clock
// "steps".
//
// A line that is broken, because it has another number of fields or text where numbers are, costs itself alone, and Damage counts it.
package csv
