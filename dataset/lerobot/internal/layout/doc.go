// Package layout names the files, columns and statistics of a LeRobot dataset, for its reader and its writer.
package layout
