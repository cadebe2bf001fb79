// Package inspection opens recordings and reports their contents: as JSON with the keys in docs/command-line.md, and as the text that
// robocache inspect prints.
package inspection
