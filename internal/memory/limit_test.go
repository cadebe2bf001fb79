package memory

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

// tree is a file system of texts.
func tree(files map[string]string) fstest.MapFS {
	t := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 9999999 kB\nMemFree:   7 kB\nMemAvailable:    4194304 kB\nSwapTotal: 5 kB\nSwapFree:    1024 kB\n")}}
	for name, text := range files {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return t
}

const (
	mountV1     = "31 23 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	mountV2     = "25 23 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountUnited = "25 23 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestTheRoomIsTheLeastOfTheSystemAndAllCgroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Room
	}{
		"no cgroup":                     {nil, Room{4<<30 + 1<<20, "MemAvailable"}},
		"a kernel without MemAvailable": {map[string]string{"proc/meminfo": "MemTotal: 16 kB\nSwapFree: 8 kB\n"}, Room{unknown, "system"}},
		"nothing is left":               {map[string]string{"proc/meminfo": "MemAvailable: 0 kB\n"}, Room{0, "MemAvailable"}},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/b/memory.max": "1073741824\n", "sys/fs/cgroup/a/b/memory.current": "73741824\n", "sys/fs/cgroup/a/b/memory.stat": "anon 5\ninactive_file 3741824\n",
		}, Room{1073741824 - 70000000, "/sys/fs/cgroup/a/b/memory.max"}},
		"version 2, the parent has less": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "500000000\n", "sys/fs/cgroup/a/memory.current": "100000000\n",
		}, Room{400000000, "/sys/fs/cgroup/a/memory.max"}},
		"version 1": {map[string]string{
			"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/job/7\n0::/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "800000000\n",
			"sys/fs/cgroup/memory/job/7/memory.usage_in_bytes": "300000000\n", "sys/fs/cgroup/memory/job/7/memory.stat": "inactive_file 7\ntotal_inactive_file 100000000\n",
		}, Room{600000000, "/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes"}},
		"version 1, the grandparent has less": {map[string]string{
			"proc/self/cgroup": "4:memory:/job/7/x\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/job/7/x/memory.limit_in_bytes": "800000000\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "200000000\n",
		}, Room{200000000, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes"}},
		"a hybrid": {map[string]string{
			"proc/self/cgroup": "4:memory:/a\n0::/b\n", "proc/self/mountinfo": mountV1 + mountUnited,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "900000000\n", "sys/fs/cgroup/unified/b/memory.max": "700000000\n",
		}, Room{700000000, "/sys/fs/cgroup/unified/b/memory.max"}},
		"a container whose mount begins at its own cgroup": {map[string]string{
			"proc/self/cgroup": "4:memory:/docker/id/sub\n", "proc/self/mountinfo": "31 23 0:27 /docker/id /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/sub/memory.limit_in_bytes": "600000000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "950000000\n",
		}, Room{600000000, "/sys/fs/cgroup/memory/sub/memory.limit_in_bytes"}},
		"a container that sees the path of the host": {map[string]string{
			"proc/self/cgroup": "4:memory:/elsewhere\n", "proc/self/mountinfo": "31 23 0:27 /docker/id /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "950000000\n",
		}, Room{950000000, "/sys/fs/cgroup/memory/memory.limit_in_bytes"}},
		"more is used than allowed": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountV2, "sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "200\n",
		}, Room{0, "/sys/fs/cgroup/memory.max"}},
		"files that are no numbers": {map[string]string{
			"proc/self/cgroup": "0::/\nx\n4:memory:\n", "proc/self/mountinfo": mountV2 + "x\n - \n", "sys/fs/cgroup/memory.max": "x\n",
		}, Room{4<<30 + 1<<20, "MemAvailable"}},
	} {
		root := tree(c.files)
		assert.Equal(t, c.want, free(root, levels(root)), name)
	}
}

func TestAnInputIsLimitedByItsSize(t *testing.T) {
	assert.NoError(t, Check("chunk", Floor, 10))
	assert.NoError(t, Check("chunk", Floor+1, Floor))
	err := Check("chunk", Floor+Multiple, 5000)
	var refused *Error
	assert.ErrorAs(t, err, &refused)
	assert.Equal(t, &Error{"chunk", Floor + Multiple, Room{Floor, bySize}}, refused)
	assert.True(t, refused.Raised())
	Set(1 << 40)
	defer Set(0)
	assert.NoError(t, Check("chunk", Floor+Multiple, 5000), "--max-memory replaces the multiple")
	Set(1 << 20)
	assert.ErrorAs(t, Check("chunk", 64<<20, 1<<30), &refused)
	assert.Equal(t, flag, refused.Limit.From)
}

func TestBytesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"2000000000": 2e9, "2GB": 2e9, "2GiB": 2 << 30, "2g": 2 << 30, "1.5 MiB": 3 << 19, "1T": 1 << 40} {
		got, err := Parse(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "x", "5", "-1G", "GB", "NaN", "1e30"} {
		_, err := Parse(text)
		assert.Error(t, err, text)
	}
}

func TestMakeReturnsElementsOrAnError(t *testing.T) {
	list, err := Make[int32]("numbers", 7)
	assert.NoError(t, err)
	assert.Equal(t, make([]int32, 7), list)
	Set(64 << 20)
	defer Set(0)
	var refused *Error
	_, err = Make[float64]("numbers", 8<<20)
	assert.ErrorAs(t, err, &refused)
	assert.Equal(t, "numbers", refused.What)
	assert.EqualValues(t, 64<<20, refused.Bytes)
}
