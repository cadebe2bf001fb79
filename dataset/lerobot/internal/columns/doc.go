// Package columns writes Parquet files from columns, and reads them back to prove that they hold what was written.
//
// Every value is written with the levels that say where it stands: a column is optional, as pyarrow's are, and none of its values is null, zeros
// among them. The library under it makes nulls of zeros where it is given structs or maps, so that it is given neither.
package columns
