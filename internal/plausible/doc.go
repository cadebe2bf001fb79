// Package plausible returns notes about samples that are probably not as they are taken: timestamps of another unit, rounded ones, angles in degrees.
package plausible
