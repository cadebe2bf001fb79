package mcap

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/tensor"
)

// world is the coordinate frame of clouds, and of poses if no frame is known for them.
const world = "world"

// posesOf returns a stream's poses [S,7], row by row, or nil if the stream is no poses: three columns with names that end in x, y and z and
// differ in nothing else, and a quaternion x, y, z, w. Values that are not finite are no poses.
func posesOf(s *dataset.Stream) ([]float64, error) {
	if len(s.Columns) != 7 {
		return nil, nil
	}
	stem := ""
	for i, c := range s.Columns[:3] {
		name, is := strings.CutSuffix(strings.ToLower(c.Name), string("xyz"[i]))
		if !is || i > 0 && name != stem {
			return nil, nil
		}
		stem = name
	}
	order := s.Columns[3].Rotation
	if order == dataset.RotationNone {
		order, _ = recognise.QuaternionNames(s.Name, s.Columns[3:])
	}
	if order != dataset.RotationXYZW {
		return nil, nil
	}
	data, err := tensor.Floats(s.Values)
	if err != nil || slices.ContainsFunc(data, func(v float64) bool { return v-v != 0 }) {
		return nil, err
	}
	return data, nil
}

// transforms returns the encoder of poses [S,7] as foxglove.FrameTransform.
func transforms(e *dataset.Episode, s *dataset.Stream, poses []float64, encoding Encoding) func(context.Context, []byte, int) ([]byte, error) {
	_, child, parent := e.Notes.Moving(s.Name)
	child, parent = cmp.Or(child, s.Name), cmp.Or(parent, world)
	times := s.Nanoseconds()
	return func(_ context.Context, b []byte, i int) ([]byte, error) {
		p, q := poses[7*i:7*i+3], poses[7*i+3:7*i+7]
		if encoding == JSON {
			b = fmt.Appendf(appendJSONTime(append(b, '{'), times[i]), `,"parent_frame_id":%s,"child_frame_id":%s,"translation":`, quoted(parent), quoted(child))
			return append(appendVector(append(appendVector(b, p...), `,"rotation":`...), q...), '}'), nil
		}
		b = appendProtoText(appendProtoText(appendStamp(b, times[i]), 2, parent), 3, child)
		return appendProtoText(appendProtoText(b, 4, appendDoubles(nil, p...)), 5, appendDoubles(nil, q...)), nil
	}
}

// logs returns the encoder of texts as foxglove.Log with the level INFO, and the metadata of their channel.
func logs(t *dataset.TextStream, encoding Encoding) (metadata map[string]string, encode func(context.Context, []byte, int) ([]byte, error)) {
	const level = 2
	metadata = map[string]string{topics.TextKey: strconv.FormatBool(t.Task), topics.LaterKey: strconv.FormatBool(t.Later)}
	return metadata, func(_ context.Context, b []byte, i int) ([]byte, error) {
		if encoding == JSON {
			b = appendJSONTime(append(b, '{'), t.Times[i])
			return fmt.Appendf(b, `,"level":%d,"message":%s,"name":%s,"file":"","line":0}`, level, quoted(t.Values[i]), quoted(t.Name)), nil
		}
		b = protowire.AppendVarint(protowire.AppendTag(appendStamp(b, t.Times[i]), 2, protowire.VarintType), level)
		return appendProtoText(appendProtoText(b, 3, t.Values[i]), 4, t.Name), nil
	}
}
