// Package footage reads the videos in LeRobot datasets. Readers decode the frames. The writer copies them without decoding.
package footage
