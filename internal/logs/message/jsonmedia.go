package message

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// jsonMedia decodes foxglove images, packets and clouds from JSON. Their bytes are base64.
type jsonMedia struct{ shape Shape }

// foxgloveJSON is a foxglove message in JSON.
type foxgloveJSON struct {
	Timestamp json.RawMessage `json:"timestamp"`
	Width     uint32          `json:"width"`
	Height    uint32          `json:"height"`
	Encoding  string          `json:"encoding"`
	Format    string          `json:"format"`
	Step      uint32          `json:"step"`
	Stride    uint32          `json:"point_stride"`
	Data      []byte          `json:"data"`
	Fields    []struct {
		Name   string          `json:"name"`
		Offset uint32          `json:"offset"`
		Type   json.RawMessage `json:"type"`
	} `json:"fields"`
	Pose struct {
		Position    struct{ X, Y, Z float64 }    `json:"position"`
		Orientation struct{ X, Y, Z, W float64 } `json:"orientation"`
	} `json:"pose"`
}

// foxgloveTypes lists the numeric type names by number.
var foxgloveTypes = []string{"UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64"}

func (d *jsonMedia) Shape() *Shape { return &d.shape }

func (d *jsonMedia) Append(rows *Rows, data []byte) error {
	s := jsonScanner{data: data}
	stamp := int64(0)
	if s.next() != '{' {
		return s.fail("an object")
	}
	if err := s.whole(func() error {
		return s.object(0, func(key []byte) (err error) {
			if string(key) == "timestamp" {
				stamp, err = s.stamp(1)
				return err
			}
			return s.skip(1)
		})
	}); err != nil {
		return err
	}
	rows.Count++
	rows.Stamps = append(rows.Stamps, stamp)
	return nil
}

// Header returns the message's frame.
func (d *jsonMedia) Header(data []byte) (_ uint32, frame []byte) {
	s := jsonScanner{data: data}
	if s.next() == '{' {
		_ = s.object(0, func(key []byte) error { // Append returns the error
			if string(key) != "frame_id" {
				return s.skip(1)
			}
			text, escaped, err := s.text()
			frame = plain(text, escaped)
			return cmp.Or(err, io.EOF) // the rest is not needed
		})
	}
	return 0, frame
}

func (d *jsonMedia) Frame(data []byte) (Frame, error) {
	m, err := d.foxglove(data)
	return m.frame(d.shape.Media, err)
}

func (d *jsonMedia) Cloud(data []byte) (*dataset.Cloud, error) {
	m, err := d.foxglove(data)
	return m.cloud(err)
}

func (d *jsonMedia) foxglove(data []byte) (*foxglove, error) {
	var in foxgloveJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, &dataset.FormatError{Format: "json", Offset: -1, Kind: dataset.ErrCorrupt, Msg: "message of " + d.shape.Type, Err: err}
	}
	m := &foxglove{width: in.Width, height: in.Height, encoding: in.Encoding + in.Format, step: in.Step + in.Stride, data: in.Data}
	if len(in.Timestamp) > 0 {
		s := jsonScanner{data: in.Timestamp}
		var err error
		if m.stamp, err = s.stamp(0); err != nil {
			return nil, err
		}
	}
	for _, f := range in.Fields {
		out := packedField{name: f.Name, offset: f.Offset}
		var name string
		if json.Unmarshal(f.Type, &out.kind) != nil && json.Unmarshal(f.Type, &name) == nil {
			out.kind = max(slices.Index(foxgloveTypes, name), 0)
		}
		m.fields = append(m.fields, out)
	}
	m.position = [3]float64{in.Pose.Position.X, in.Pose.Position.Y, in.Pose.Position.Z}
	o := in.Pose.Orientation
	m.rotation = [4]float64{o.W, o.X, o.Y, o.Z}
	return m, nil
}
