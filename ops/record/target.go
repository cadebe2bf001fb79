package record

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ptx"
)

// Target describes a device for which plans are made. [TargetOf] returns it for a real device.
type Target struct {
	Name       string      `json:"name"`       // the product name, which selects tuned tables
	Driver     int         `json:"driver"`     // as cuDriverGetVersion returns it: 13000 for 13.0
	Attributes map[int]int `json:"attributes"` // by the numbers in CUdevice_attribute
	// Kernels forces one kind of kernel image, one of [ptx.Forces], if the driver refused the others. "" selects the
	// best.
	Kernels string `json:"kernels,omitempty"`
}

// lastAttribute is the greatest attribute number that TargetOf queries.
const lastAttribute = 150

// TargetOf returns the description of a device.
func TargetOf(dev *cudadrv.Device) (Target, error) {
	name, err := dev.Name()
	if err != nil {
		return Target{}, err
	}
	t := Target{Name: name, Driver: dev.Driver().Version(), Attributes: map[int]int{}}
	for a := 1; a <= lastAttribute; a++ {
		if v, err := dev.Attribute(cudadrv.Attr(a)); err == nil {
			t.Attributes[a] = v
		}
	}
	return t, nil
}

// TargetError reports a missing or bad field in a Target.
type TargetError struct {
	Field, Got, Want string
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("record: target: %s: got %s, want %s", e.Field, e.Got, e.Want)
}

// check returns an error if planning cannot use the target.
func (t *Target) check() error {
	if t.Kernels != "" && !slices.Contains(ptx.Forces(), t.Kernels) {
		return &TargetError{"kernels", fmt.Sprintf("%q", t.Kernels), fmt.Sprintf("one of %v, or nothing", ptx.Forces())}
	}
	if len(t.Name) > maxName {
		return &TargetError{"name", fmt.Sprintf("%d bytes", len(t.Name)), fmt.Sprintf("at most %d", maxName)}
	}
	if t.Driver < cudadrv.MinVersion || t.Driver > math.MaxInt32 {
		return &TargetError{"driver", fmt.Sprint(t.Driver), fmt.Sprintf("%d or more", cudadrv.MinVersion)}
	}
	if len(t.Attributes) > maxAttributes {
		return &TargetError{"attributes", fmt.Sprint(len(t.Attributes)), fmt.Sprintf("at most %d", maxAttributes)}
	}
	for a, v := range t.Attributes {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return &TargetError{fmt.Sprintf("attributes[%d]", a), fmt.Sprint(v), "a number of 32 bits"}
		}
	}
	for _, need := range []struct {
		attr     cudadrv.Attr
		what     string
		min, max int
	}{
		{cudadrv.MaxThreadsPerBlock, "threads a block", 1, 1 << 16}, {cudadrv.MultiprocessorCount, "multiprocessors", 1, 1 << 16}, {cudadrv.MaxSharedPerBlockOptin, "bytes of shared memory", 0, 1 << 30},
		{cudadrv.ComputeCapabilityMajor, "major compute capability", 1, 1000}, {cudadrv.ComputeCapabilityMinor, "minor compute capability", 0, 9},
	} {
		if v, ok := t.Attributes[int(need.attr)]; !ok || v < need.min || v > need.max {
			got := "none"
			if ok {
				got = fmt.Sprint(v)
			}
			return &TargetError{fmt.Sprintf("attributes[%d], %s", need.attr, need.what), got, fmt.Sprintf("%d to %d", need.min, need.max)}
		}
	}
	return nil
}

// maxAttributes limits a device's attributes; fewer than 200 exist.
const maxAttributes = 1000

// maxName limits the names of devices, operations and arguments, in bytes.
const maxName = 200
