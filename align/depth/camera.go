package depth

import (
	"fmt"
	"path"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// intrinsics sets the intrinsics: the option's, the recording's, or the ones in camera_info.
func (s *Series) intrinsics(e *dataset.Episode, given [4]float64) error {
	var zero [4]float64
	if given == zero {
		given = s.images.Depth.Intrinsics
	}
	if given == zero {
		var err error
		if given, err = s.cameraInfo(e); err != nil {
			return err
		}
	}
	for k, v := range given {
		if s.Intrinsics[k] = float32(v); v-v != 0 || k < 2 && !(v > 0) {
			return &dataset.OptionError{Arg: "Intrinsics", Got: fmt.Sprint(given), Want: "finite fx, fy, cx and cy, with fx and fy above 0"}
		}
	}
	return nil
}

// cameraInfo returns the intrinsics in the topic camera_info next to the images, or one or two levels above a transport such as
// /camera/depth/image_raw/compressedDepth. ROS 1 names the fields K and D, ROS 2 k and d.
func (s *Series) cameraInfo(e *dataset.Episode) (k [4]float64, err error) {
	missing := &dataset.OptionError{Arg: "Intrinsics", Got: "none in the recording", Want: "fx, fy, cx and cy in pixels"}
	topic := s.Name
	for range 2 {
		topic = path.Dir(topic)
		info := e.Stream(path.Join(topic, "camera_info"))
		if info == nil || info.Len() == 0 {
			continue
		}
		for i, names := range [4][]string{{"K[0]", "k[0]"}, {"K[4]", "k[4]"}, {"K[2]", "k[2]"}, {"K[5]", "k[5]"}} {
			column := max(info.Column(names[0]), info.Column(names[1]))
			if column < 0 {
				return k, missing
			}
			values, err := tensor.Floats(info.Values)
			if err != nil {
				return k, err
			}
			k[i] = values[column]
			for at := column; at < len(values); at += len(info.Columns) {
				if values[at] != k[i] {
					missing.Got = fmt.Sprintf("%s in %s changes from %v to %v", info.Columns[column].Name, info.Name, k[i], values[at])
					return k, missing
				}
			}
		}
		for _, name := range []string{".D", ".d"} {
			if d := e.Stream(info.Name + name); d != nil {
				values, err := tensor.Floats(d.Values)
				if err != nil {
					return k, err
				}
				s.Counts.Distorted = slices.ContainsFunc(values, func(v float64) bool { return v != 0 })
			}
		}
		return k, nil
	}
	return k, missing
}
