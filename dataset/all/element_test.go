package all_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/mcap"
)

// If one message has another size, the other eleven are read in each encoding, and a note counts it.
func TestAMessageOfAnotherSizeCostsItself(t *testing.T) {
	number := func(head []byte) func(i int) []byte {
		return func(i int) []byte {
			return binary.LittleEndian.AppendUint64(append([]byte{}, head...), math.Float64bits(float64(i)+0.5))
		}
	}
	for _, of := range []struct {
		encoding, schema, text string
		message                func(i int) []byte
	}{
		{"cdr", "ros2msg", "float64 x\n", number([]byte{0, 1, 0, 0})},
		{"cdr", "ros2idl", "module p { module msg { struct T { double x; }; }; };", number([]byte{0, 1, 0, 0})},
		{"ros1", "ros1msg", "float64 x\n", number(nil)},
		{"protobuf", "protobuf", "\n\x1e\n\x01a\x12\x01p\"\x0e\n\x01T\x12\t\n\x01x\x18\x01 \x01(\x01b\x06proto3", number([]byte{1<<3 | 1})}, // message T { double x = 1; }
		{"json", "", "", func(i int) []byte { return fmt.Appendf(nil, `{"x":%d.5}`, i) }},
	} {
		for what, change := range map[string]func(b []byte) []byte{
			"empty": func([]byte) []byte { return nil }, "doubled": func(b []byte) []byte { return append(append([]byte{}, b...), b...) },
			"short": func(b []byte) []byte { return b[:len(b)-2] }, "long": func(b []byte) []byte { return append(append([]byte{}, b...), make([]byte, 9)...) },
		} {
			if of.encoding == "protobuf" && (what == "empty" || what == "doubled") {
				continue // a field that is not there is 0, and of two the last counts
			}
			for _, at := range []int{0, 5, 11} {
				var parts [2]content
				for k := range parts {
					path := filepath.Join(t.TempDir(), "a.mcap")
					require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
						var schema uint16
						var err error
						if of.schema != "" {
							if schema, err = w.AddSchema(map[bool]string{true: "p.T", false: "p/msg/T"}[of.encoding == "protobuf"], of.schema, []byte(of.text)); err != nil {
								return err
							}
						}
						channel, err := w.AddChannel("/x", of.encoding, schema, nil)
						for i := range 12 {
							data := of.message(i)
							if k == 1 && i == at {
								data = change(data)
							}
							time := uint64(1_700_000_000_000_000_000 + i*100_000_000)
							if err == nil {
								err = w.Message(&mcap.Message{ChannelID: channel, LogTime: time, PublishTime: time, Data: data})
							}
						}
						return err
					}))
					s := sweep{}
					var err error
					parts[k], err = s.read(t.Context(), path)
					require.NoError(t, err)
				}
				require.Equal(t, 12, parts[0].count)
				require.GreaterOrEqual(t, parts[1].count, 11, "%s of %s, %s, %d: %v", what, of.encoding, of.schema, at, parts[1].errs)
				require.Empty(t, parts[1].errs)
				require.Error(t, parts[1].noted(parts[0]), "%s of %s, %s, %d", what, of.encoding, of.schema, at)
			}
		}
	}
}
