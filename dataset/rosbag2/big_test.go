package rosbag2_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memuse"
)

// ROBOCACHE_BIG=2e9 makes a database of so many bytes, half of images and half of small messages, and reads it. TMPDIR is where it lies.
func TestABigDatabaseTakesLittleMemory(t *testing.T) {
	size := memuse.Bytes(t)
	path := filepath.Join(t.TempDir(), "big_0.db3")
	writeBig(t, path, int(size/2), int(size/2))
	memuse.Read(t, func() (dataset.Dataset, error) { return dataset.Open(context.Background(), path, dataset.Options{}) }, true, 0)
}

// writeBig writes a database of images and of small messages, of so many bytes each.
func writeBig(t testing.TB, path string, images, small int) {
	list := robot(1)
	writeDB(t, path, schema{qos: true, distro: "humble"}, list)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`PRAGMA synchronous=OFF; DELETE FROM messages; BEGIN`)
	require.NoError(t, err)
	insert, err := db.Prepare(`INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)`)
	require.NoError(t, err)
	put := func(topic int, at int64, fields ...any) int {
		data := encode(true, fields...)
		_, err := insert.Exec(topic, at, data)
		require.NoError(t, err)
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
	_, err = db.Exec(`COMMIT`)
	require.NoError(t, err)
}
