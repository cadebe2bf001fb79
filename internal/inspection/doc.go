// Package inspection opens recordings and says what they hold: as JSON, whose keys docs/command-line.md has, and as the text that robocache inspect
// prints.
package inspection
