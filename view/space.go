package view

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const (
	mostPathPoints  = 4000
	mostCloudPoints = 100000
	mostVoxels      = 20000
)

// track is three columns of a stream that are a position in space.
type track struct {
	Stream  string `json:"stream"`
	Name    string `json:"name"` // what the columns have in common
	Columns [3]int `json:"columns"`
}

var (
	lastAxis   = regexp.MustCompile(`^(.*?)([xX])([^a-zA-Z]*)$`)
	firstOf3   = regexp.MustCompile(`^(.*)\[0\]$|^(.*[._])0$`)
	isPosition = regexp.MustCompile(`(?i)pos|translation|trans|point|location|xyz|eef|(^|[._/])(t|p|ee|tcp|odom)?$`)
	isOther    = regexp.MustCompile(`(?i)vel|acc|gyro|mag|force|torque|wrench|effort|angular|orient|rot|quat|euler|rpy|joint|linear|twist|gravity|covariance|scale|control|setpoint|stick|joy|input|position\[\d+\]\[`)
)

// tracks returns the positions in space that an episode has, by their names: columns x, y and z, or an array of three that is called a position.
func (e *entry) tracks() []track {
	list := []track{}
	for i := range e.Streams {
		s := &e.Streams[i]
		if e.curves[i] == nil {
			continue
		}
		for k := 0; k+2 < len(s.Columns); k++ {
			if name, ok := position(s, k); ok {
				list = append(list, track{s.Name, name, [3]int{k, k + 1, k + 2}})
				k += 2
			}
		}
	}
	// The likeliest first, and of these the one with most samples.
	slices.SortStableFunc(list, func(a, b track) int {
		return cmp.Or(-cmp.Compare(likely(a), likely(b)), cmp.Compare(e.Stream(b.Stream).Len(), e.Stream(a.Stream).Len()))
	})
	return list
}

var isLikely = regexp.MustCompile(`(?i)pos|odom|truth|trajectory|eef`)

func likely(t track) int {
	if isLikely.MatchString(t.Stream + " " + t.Name) {
		return 1
	}
	return 0
}

// position reports whether three columns are a position, and what it is called.
func position(s *dataset.Stream, k int) (string, bool) {
	a, b, c := s.Columns[k].Name, s.Columns[k+1].Name, s.Columns[k+2].Name
	if m := lastAxis.FindStringSubmatch(a); m != nil {
		y, z := "y", "z"
		if m[2] == "X" {
			y, z = "Y", "Z"
		}
		name := m[1]
		return strings.Trim(name, "._/"), b == name+y+m[3] && c == name+z+m[3] && isPosition.MatchString(name) && !isOther.MatchString(s.Name+" "+s.Type+" "+name)
	}
	m := firstOf3.FindStringSubmatch(a)
	if m == nil {
		return "", false
	}
	name := m[1] + m[2]
	numbered := func(i int) string {
		return strings.TrimSuffix(strings.TrimSuffix(a, "[0]"), "0") + fmt.Sprintf(map[bool]string{true: "[%d]", false: "%d"}[m[1] != ""], i)
	}
	if b != numbered(1) || c != numbered(2) || k+3 < len(s.Columns) && s.Columns[k+3].Name == numbered(3) {
		return "", false
	}
	return strings.Trim(name, "._/"), isPosition.MatchString(name) && !isOther.MatchString(s.Name+" "+name)
}

// servePath sends a path in space, at most so many points of it, evenly of its samples: {"t":[...],"x":[...],"y":[...],"z":[...]}.
func (s *Server) servePath(w http.ResponseWriter, r *http.Request, e *entry) {
	i, err := e.stream(r.FormValue("stream"))
	if err != nil {
		failWith(w, err)
		return
	}
	c := e.curves[i]
	if c == nil {
		writeBytes(w, []byte(`{"t":[],"x":[],"y":[],"z":[]}`))
		return
	}
	columns, err := columnsOf(r, c.width)
	if err == nil && len(columns) != 3 {
		err = &badRequest{"columns", r.FormValue("columns"), "three"}
	}
	if err != nil {
		failWith(w, err)
		return
	}
	values, err := c.values()
	if err != nil {
		failWith(w, err)
		return
	}
	var times []int64
	var axes [3][]float64
	gaps, step := c.gaps, max(1, (len(c.times)+mostPathPoints-1)/mostPathPoints)
	for row := 0; row < len(c.times); row += step {
		broken := false
		for ; len(gaps) > 0 && gaps[0].To <= c.times[row]; gaps = gaps[1:] {
			broken = true
		}
		if broken {
			times = append(times, c.times[row])
			for k := range axes {
				axes[k] = append(axes[k], math.NaN())
			}
		}
		times = append(times, c.times[row])
		for k := range axes {
			axes[k] = append(axes[k], values.at(row, columns[k]))
		}
	}
	b := append(appendTimes([]byte(`{"t":`), e.start, times...), `,"x":`...)
	b = append(appendNumbers(b, axes[0]), `,"y":`...)
	b = append(appendNumbers(b, axes[1]), `,"z":`...)
	writeBytes(w, append(appendNumbers(b, axes[2]), '}'))
}

// serveCloud sends the cloud at a time as float32 x, y, z of each point, little-endian, with what it is in the header Cloud. With a voxel's size it
// sends the middles of those that have points, and their numbers of points as a fourth.
func (s *Server) serveCloud(w http.ResponseWriter, r *http.Request, e *entry) {
	k := slices.IndexFunc(e.Clouds, func(c dataset.CloudStream) bool { return c.Name == r.FormValue("cloud") })
	if k < 0 || len(e.cloudsOrder[k].times) == 0 {
		failWith(w, &missing{"cloud " + strconv.Quote(r.FormValue("cloud"))})
		return
	}
	at, err := number(r, "at", 0, -1e9, 1e9)
	if err != nil {
		failWith(w, err)
		return
	}
	size, err := number(r, "voxel", 0, 0, 1e6)
	if err != nil {
		failWith(w, err)
		return
	}
	c := &e.cloudsOrder[k]
	place := c.at(e.start + int64(math.Round(at*1e9)))
	cloud, err := e.Clouds[k].Cloud(r.Context(), c.index(place))
	if err != nil {
		failWith(w, err)
		return
	}
	points, all, err := thin(cloud)
	width, cut := 3, false
	if err == nil && size > 0 {
		width = 4
		points, cut, err = s.voxels(r.Context(), cloud, size)
	}
	if err != nil {
		failWith(w, err)
		return
	}
	until := math.MaxFloat64
	if place+1 < len(c.times) {
		until = e.seconds(c.times[place+1])
	}
	w.Header().Set("Cloud", fmt.Sprintf(`{"cloud":%d,"at":%s,"until":%s,"points":%d,"not_finite":%d,"width":%d,"cut":%t}`, c.index(place),
		appendNumber(nil, e.seconds(c.times[place])), appendNumber(nil, until), all, cloud.NotFinite, width, cut))
	w.Header().Set("Content-Type", "application/octet-stream")
	b := make([]byte, 0, 4*len(points))
	for _, v := range points {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	_, _ = w.Write(b) // who has gone needs no answer
}

// thin returns the finite points of a cloud, evenly fewer where they are many, and how many there are in all.
func thin(c *dataset.Cloud) (points []float32, all int, err error) {
	data, err := tensor.Floats(c.Points)
	if err != nil {
		return nil, 0, err
	}
	all = len(data) / 3
	step := max(1, (all+mostCloudPoints-1)/mostCloudPoints)
	for i := 0; i < all; i += step {
		if p := data[3*i : 3*i+3]; finite(p[0]) && finite(p[1]) && finite(p[2]) {
			points = append(points, float32(p[0]), float32(p[1]), float32(p[2]))
		}
	}
	return points, all, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// voxels returns the middle and the number of points of each voxel that has some, and whether there were more than are sent.
func (s *Server) voxels(ctx context.Context, c *dataset.Cloud, size float64) (list []float32, cut bool, err error) {
	points, err := c.Points.Contiguous()
	if err != nil || c.Len()-c.NotFinite == 0 {
		return nil, false, err
	}
	grid, err := ops.Open3DGrid(points, size)
	if err != nil {
		return nil, false, err
	}
	made, err := s.device.Voxelize(ctx, ops.VoxelizeArgs{Points: points}, grid, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceCount, MaxVoxels: mostVoxels})
	if err != nil {
		return nil, false, err
	}
	coords, err := tensor.Data[int32](made.Coords)
	if err != nil {
		return nil, false, err
	}
	counts, err := tensor.Data[int32](made.Counts)
	if err != nil {
		return nil, false, err
	}
	for i, n := range counts {
		for k := range 3 {
			list = append(list, float32(grid.Min[k]+(float64(coords[3*i+2-k])+0.5)*grid.Size[k]))
		}
		list = append(list, float32(n))
	}
	return list, made.Found.DroppedVoxels > 0, nil
}

// extent returns the least and greatest of finite numbers.
func extent(list []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range list {
		if v == v {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
