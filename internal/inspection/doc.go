// Package inspection opens recordings and reports their contents: as JSON with the keys in docs/schema/inspect.json, and as the text that
// robocache inspect prints.
package inspection
