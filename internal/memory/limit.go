package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Room is a number of bytes with its cause, such as "MemAvailable" or "RLIMIT_AS".
type Room struct {
	Bytes int64
	From  string
}

// unknown is the Room of a system without numbers.
const unknown = 1 << 40

func (r Room) least(o Room) Room {
	if o.Bytes < r.Bytes {
		return o
	}
	return r
}

// free returns the least Room that the files below /proc and /sys of root state: MemAvailable and each cgroup.
func free(root fs.FS, levels []level) Room {
	room := Room{unknown, "system"}
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		room = room.least(meminfo(text))
	}
	for _, level := range levels {
		room = room.least(level.free(root))
	}
	return room
}

// meminfo returns MemAvailable and the free swap.
func meminfo(text []byte) Room {
	values := fields(text)
	kib, ok := values["MemAvailable:"]
	if !ok {
		return Room{unknown, "system"}
	}
	return Room{(kib + values["SwapFree:"]) << 10, "MemAvailable"}
}

// fields parses lines with a name and a number, such as "MemFree: 12 kB", into numbers by name.
func fields(text []byte) map[string]int64 {
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				values[f[0]] = n
			}
		}
	}
	return values
}

// level is the folder of one memory cgroup, with the names of its files.
type level struct {
	dir               string
	limit, use, cache string // files, and the line of memory.stat for page cache that the system takes back
}

// free returns the limit less the use, without page cache that the system takes back.
func (l *level) free(root fs.FS) Room {
	limit, ok := number(root, path.Join(l.dir, l.limit))
	if !ok || limit >= unknown*(1<<20) {
		return Room{unknown, "system"}
	}
	used, _ := number(root, path.Join(l.dir, l.use))
	if stat, err := fs.ReadFile(root, path.Join(l.dir, "memory.stat")); err == nil {
		used -= fields(stat)[l.cache]
	}
	return Room{max(limit-max(used, 0), 0), "/" + path.Join(l.dir, l.limit)}
}

// number reads a file with one number. It returns false if there is no such file, or if the content is "max", which means no limit.
func number(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return int64(min(n, math.MaxInt64)), err == nil
}

// levels lists the process's memory cgroups and their parents, for both versions of cgroups.
func levels(root fs.FS) (list []level) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for line := range strings.Lines(string(own)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(part) != 3 {
			continue
		}
		one, version := level{limit: "memory.max", use: "memory.current", cache: "inactive_file"}, "cgroup2"
		if part[1] != "" {
			one, version = level{limit: "memory.limit_in_bytes", use: "memory.usage_in_bytes", cache: "total_inactive_file"}, "cgroup"
			if !has(part[1], "memory") {
				continue
			}
		}
		for _, m := range mountsOf(mounts, version) {
			below, ok := within(part[2], m.root)
			if !ok { // the path is that of the host, and the mount that of a container
				below = "/"
			}
			for {
				one.dir = strings.TrimPrefix(path.Join(m.at, below), "/")
				list = append(list, one)
				if below == "/" {
					break
				}
				below = path.Dir(below)
			}
		}
	}
	return list
}

// within returns the path of a name relative to a folder, and false if the name is not in it.
func within(name, root string) (string, bool) {
	name, root = path.Join("/", name), path.Join("/", root)
	if root == "/" {
		return name, true
	}
	rest, ok := strings.CutPrefix(name, root)
	return path.Join("/", rest), ok && (rest == "" || rest[0] == '/')
}

// has reports whether a comma-separated list contains a word.
func has(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// mount is a line of mountinfo: a file system's folder, and the path where it is mounted.
type mount struct{ root, at string }

// mountsOf lists the cgroup mounts of a version with the memory controller.
func mountsOf(mountinfo []byte, version string) (list []mount) {
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(head) < 5 || len(tail) < 3 || tail[0] != version || version == "cgroup" && !has(tail[2], "memory") {
			continue
		}
		list = append(list, mount{head[3], head[4]})
	}
	return list
}
