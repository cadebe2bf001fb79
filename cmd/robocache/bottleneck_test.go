package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheBottleneckIsSaidInWords(t *testing.T) {
	reading := share{"reading", "waiting for episodes", 7.1}
	for want, s := range map[string][]share{
		"": (&spent{}).shares(),
		"bound by the device: 100 % of the time went into launching batches and waiting for them": (&spent{Compute: 1e-6}).shares(),
		"bound by reading: 71 % of the time went into waiting for episodes, 24 % into launching batches and waiting for them": {
			{"the device", "launching batches and waiting for them", 2.4}, {"writing", "writing lines, files and the state", 0.5}, reading},
		"bound by copying: 60 % of the time went into copying batches to the host, 20 % into launching batches and waiting for them, 20 % into writing lines, files and the state": (&spent{Compute: 1, Copy: 3, Write: 1}).shares(),
		"bound by the device and counting alike: 52 % of the time went into launching batches and waiting for them, 48 % into counting and hashing the batches":                    (&spent{Compute: 52, Count: 48}).shares(),
	} {
		assert.Equal(t, want, boundBy(s))
	}
}
