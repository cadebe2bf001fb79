// Package footage reads the videos of LeRobot datasets. Their frames are decoded for readers, and copied by the writer as they are encoded.
package footage
