package rosbag2_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/settest"
)

// BenchmarkRead reads databases of small messages, an Imu and a Twist in turn, and of images, which are found and not held.
func BenchmarkRead(b *testing.B) {
	for name, of := range map[string][2]int{"small": {0, 100e6}, "images": {200e6, 0}} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "big_0.db3")
			writeBig(b, path, of[0], of[1])
			info, err := os.Stat(path)
			require.NoError(b, err)
			b.SetBytes(info.Size())
			for b.Loop() {
				d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
				require.NoError(b, err)
				settest.Episode(b, d, 0)
				require.NoError(b, d.Close())
			}
		})
	}
}

// writeBig writes a database of images and of small messages, of so many bytes each.
func writeBig(t testing.TB, path string, images, small int) {
	list := robot(1)
	db := beginDB(t, path, schema{qos: true, distro: "humble"}, list)
	put := func(topic int, at int64, fields ...any) int {
		data := encode(true, fields...)
		db.tables["messages"].insert(nil, topic, int(at), data)
		return len(data) + 40 // with what SQLite needs for a row, and for it in the index
	}
	names, _ := topicsOf(list)
	topic := map[string]int{}
	for i, name := range names {
		topic[name] = i + 1
	}
	fields := map[string][]any{}
	for _, m := range list {
		fields[m.topic] = m.fields
	}
	pixels, at := make([]byte, 640*480*3), list[len(list)-1].time
	every := images / len(pixels) // images, among the small messages
	for written, n := 0, 0; written < small || n < every; at += int64(5 * time.Millisecond) {
		if written < small {
			written += put(topic["/imu"], at, fields["/imu"]...)
			written += put(topic["/cmd_vel"], at+1, fields["/cmd_vel"]...)
		}
		if written >= small || n < every*written/small {
			put(topic["/camera"], at+2, header{0, uint32(at / 1e9), uint32(at % 1e9), ""}, uint32(480), uint32(640), "rgb8", uint8(0), uint32(1920), pixels)
			n++
		}
	}
	db.close()
}
