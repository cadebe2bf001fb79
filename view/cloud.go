package view

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Limits for the points and voxels in one answer.
const (
	mostCloudPoints = 100000
	mostVoxels      = 20000
	mostFields      = 64
)

// serveCloud sends the cloud at a time: for each point x, y, z and the requested fields, float32, little-endian. The header Cloud has its
// number and times. The header Fields has all field names in the form "intensity&ring". If the request has a voxel size, it sends centre x,
// y, z and point count for each voxel with points.
func (s *Server) serveCloud(w http.ResponseWriter, r *http.Request, e *entry) error {
	k := slices.IndexFunc(e.Clouds, func(c dataset.CloudStream) bool { return c.Name == r.FormValue("cloud") })
	if k < 0 || len(e.cloudsOrder[k].times) == 0 {
		return &missing{"cloud " + strconv.Quote(r.FormValue("cloud"))}
	}
	at, err := number(r, "at", 0, -1e9, 1e9)
	if err != nil {
		return err
	}
	size, err := number(r, "voxel", 0, 0, 1e6)
	if err != nil {
		return err
	}
	c := &e.cloudsOrder[k]
	place, from, until := e.moment(c, at)
	cloud, err := e.Clouds[k].Cloud(r.Context(), c.index(place))
	if err != nil {
		return err
	}
	points, err := thin(cloud, r.Form["field"])
	width, cut := 3+len(r.Form["field"]), false
	if err == nil && size > 0 {
		width = 4
		points, cut, err = s.voxels(r.Context(), cloud, size)
	}
	if err != nil {
		return err
	}
	names := cloud.Names()
	for i, name := range names {
		names[i] = url.QueryEscape(name)
	}
	w.Header().Set("Cloud", fmt.Sprintf(`{"cloud":%d,"at":%s,"until":%s,"points":%d,"not_finite":%d,"width":%d,"cut":%t}`, c.index(place),
		from, until, cloud.Len(), cloud.NotFinite, width, cut))
	w.Header().Set("Fields", strings.Join(names[:min(len(names), mostFields)], "&"))
	b, _ := binary.Append(nil, binary.LittleEndian, points) // numbers never fail
	send(w, "application/octet-stream", b)
	return nil
}

// thin returns x, y, z and the fields for up to mostCloudPoints finite points, evenly spaced. A field that the cloud lacks is NaN.
func thin(c *dataset.Cloud, fields []string) (points []float32, err error) {
	data, err := tensor.Floats(c.Points)
	var features []float64
	if err == nil && len(fields) > 0 {
		features, err = tensor.Floats(c.Features)
	}
	if err != nil {
		return nil, err
	}
	columns := make([]int, len(fields))
	for i, name := range fields {
		columns[i] = c.Column(name)
	}
	step := max(1, (c.Len()+mostCloudPoints-1)/mostCloudPoints)
	for i := 0; i < c.Len(); i += step {
		if p := data[3*i : 3*i+3]; finite(p[0]) && finite(p[1]) && finite(p[2]) {
			points = append(points, float32(p[0]), float32(p[1]), float32(p[2]))
			for _, k := range columns {
				v := math.NaN()
				if k >= 0 {
					v = features[i*len(c.Columns)+k]
				}
				points = append(points, float32(v))
			}
		}
	}
	return points, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// voxels returns the centre and the point count for up to mostVoxels voxels, and whether there are more.
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
