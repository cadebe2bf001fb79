package topics_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/mcap" // which opens logs
	"github.com/robocache/robocache/internal/logs/mcaplog"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// recorded opens a log of the shared recordings.
func recorded(t *testing.T, name string) mcaplog.Log {
	t.Helper()
	path := filepath.Join("../../../../shared/data/mcap_generated", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	f, err := storage.Open(context.Background(), path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	var damage dataset.Notes
	log, err := mcaplog.Open(context.Background(), f, path, &damage)
	require.NoError(t, err)
	require.Empty(t, damage)
	return log
}

// summed adds the numbers of a message up, by the names of their streams and columns, as another decoder has them.
func summed(m protoreflect.Message, stream, path string, sums map[string]float64) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		name := path + string(f.Name())
		switch {
		case f.IsMap() || f.HasPresence() && !m.Has(f):
		case f.IsList():
			for k := range m.Get(f).List().Len() {
				if v, ok := number(m.Get(f).List().Get(k).Interface()); ok {
					sums[fmt.Sprintf("%s.%s [%d]", stream, name, k)] += v
				}
			}
		case f.Kind() == protoreflect.MessageKind:
			summed(m.Get(f).Message(), stream, name+".", sums)
		default:
			if v, ok := number(m.Get(f).Interface()); ok {
				sums[stream+" "+name] += v
			}
		}
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint32:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float32:
		return float64(v), true
	case float64:
		return v, true
	case protoreflect.EnumNumber:
		return float64(v), true
	}
	return 0, false
}

func TestRecordedProtobufIsWhatAnotherDecoderReads(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"robot_protobuf_zstd.mcap", "robot_protobuf_zstd_unordered.mcap"} {
		log := recorded(t, name)
		want, counts := map[string]float64{}, map[string]int{}
		for part := range log.Parts() {
			var damage dataset.Notes
			require.NoError(t, log.Each(context.Background(), part, &damage, func(m topics.Message) error {
				c := log.Channels()[m.Channel]
				set := &descriptorpb.FileDescriptorSet{}
				require.NoError(t, proto.Unmarshal(c.Schema.Data, set))
				files, err := protodesc.NewFiles(set)
				require.NoError(t, err)
				of, err := files.FindDescriptorByName(protoreflect.FullName(c.Schema.Name))
				require.NoError(t, err)
				d := dynamicpb.NewMessage(of.(protoreflect.MessageDescriptor))
				require.NoError(t, proto.Unmarshal(m.Data, d))
				summed(d, c.Topic, "", want)
				counts[c.Topic]++
				return nil
			}))
		}
		e, err := topics.Read(context.Background(), log, dataset.Options{})
		require.NoError(t, err)
		found := 0
		for i := range e.Streams {
			s := &e.Streams[i]
			all, err := tensor.Floats(s.Values)
			require.NoError(t, err)
			for k, c := range s.ColumnNames() {
				sum := 0.0
				for row := range s.Len() {
					if v := all[row*len(s.Columns)+k]; v == v { // NaN is what is not there
						sum += v
					}
				}
				w, there := want[s.Name+" "+c]
				assert.True(t, there, "%s %s", s.Name, c)
				assert.InDelta(t, w, sum, 1e-9*max(1, w, -w), "%s %s", s.Name, c)
				found++
			}
			if n, there := counts[s.Name]; there {
				assert.Equal(t, n, s.Len())
			}
		}
		assert.Len(t, want, found, "each number of %s is in a stream", name)
	}
}

func TestRecordedJSONAddsUp(t *testing.T) {
	e, err := topics.Read(context.Background(), recorded(t, "imu_json_unchunked.mcap"), dataset.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"/imu", "/imu.acc"}, e.Names())
	s := e.Stream("/imu")
	assert.Equal(t, []string{"temp", "ok", "stamp.sec", "stamp.nsec"}, s.ColumnNames())
	values, err := tensor.Data[float64](s.Values)
	require.NoError(t, err)
	assert.Equal(t, []float64{20.142857142857142, 0, 1700000000, 10000000}, values[4:8])
	acc, err := tensor.Data[float64](e.Stream("/imu.acc").Values)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.02, -9.81, 2e-7}, acc[6:9])
	assert.Equal(t, []dataset.Column{{Name: "[0]", Type: "number"}}, e.Stream("/imu.acc").Columns[:1])
}
