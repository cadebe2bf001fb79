package flightlog

import _ "embed"

// ULog is the file.
//
//go:embed testdata/flight.ulg
var ULog []byte
