package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/policy"
)

// eventFile is a file for TensorBoard: TFRecords that each have an Event (tensorflow/core/util/event.proto).
type eventFile struct{ *fault.File }

// newEventFile creates an event file in a folder. TensorBoard joins the files in one folder.
func newEventFile(dir string) (*eventFile, error) {
	if err := atomicfile.MkdirAll(dir); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	now := time.Now()
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", now.Unix(), host, os.Getpid(), now.Nanosecond())
	f, err := fault.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(appendEvent(nil, now, 0, fileVersion, []byte("brain.Event:2")))
	return &eventFile{f}, err
}

// An Event's fields: a file's version, and a Summary with values.
const fileVersion, summary = 3, 5

// appendField appends a field with bytes, as protobuf has it, to b. num is below 16.
func appendField(b []byte, num byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, num<<3|2), uint64(len(data))), data...)
}

// appendEvent appends an Event's record. It has one field beside its time and step.
func appendEvent(b []byte, at time.Time, step int, field byte, data []byte) []byte {
	e := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(float64(at.UnixNano())/1e9))
	e = binary.AppendUvarint(append(e, 2<<3), uint64(step))
	return rlds.AppendTFRecord(b, appendField(e, field, data))
}

// appendScalar appends an Event's record with a number, which TensorBoard shows under the tag.
func appendScalar(b []byte, at time.Time, step int, tag string, v float64) []byte {
	value := binary.LittleEndian.AppendUint32(append(appendField(nil, 1, []byte(tag)), 2<<3|5), math.Float32bits(float32(v)))
	return appendEvent(b, at, step, summary, appendField(nil, 1, value))
}

// record writes the latest steps' losses, the speed, and the held-out loss if it was measured after them.
func (f *eventFile) record(tr *policy.Trainer, losses []float32, speed float64) error {
	if f == nil || len(losses) == 0 {
		return nil
	}
	var b []byte
	now, step := time.Now(), tr.Steps()
	for i, loss := range losses {
		b = appendScalar(b, now, step-len(losses)+1+i, "loss/train", float64(loss))
	}
	b = appendScalar(b, now, step, "steps_per_second", speed)
	if loss, measured := tr.HeldOut()[step]; measured {
		b = appendScalar(b, now, step, "loss/held_out", loss)
	}
	_, err := f.Write(b)
	return err
}
