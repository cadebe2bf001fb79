// Package parquet reads columns in Parquet files by row ranges, and writes files from columns.
package parquet
