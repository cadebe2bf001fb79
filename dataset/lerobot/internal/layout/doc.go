// Package layout names the files, columns and statistics in a LeRobot dataset. The reader and the writer share it.
package layout
