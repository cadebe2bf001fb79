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
		f := float32(v)
		if s.Intrinsics[k] = f; f-f != 0 || k < 2 && !(f > 0) {
			return &dataset.OptionError{Arg: "Intrinsics", Got: fmt.Sprint(given), Want: "finite fx, fy, cx and cy in float32, with fx and fy above 0"}
		}
	}
	return nil
}

// cameraInfo returns the intrinsics in the topic camera_info next to the images, or one level above if the topic is a transport's, such as
// /camera/depth/image_raw/compressedDepth. It also sets the images' size. ROS 1 names the fields K and D, ROS 2 k and d.
func (s *Series) cameraInfo(e *dataset.Episode) (k [4]float64, err error) {
	missing := &dataset.OptionError{Arg: "Intrinsics", Got: "none in the recording", Want: "fx, fy, cx and cy in pixels"}
	topic, levels := s.Name, 1
	if last := path.Base(topic); last == "compressed" || last == "compressedDepth" {
		levels = 2
	}
	for range levels {
		topic = path.Dir(topic)
		info := e.Stream(path.Join(topic, "camera_info"))
		if info == nil || info.Len() == 0 {
			continue
		}
		var read [6]float64
		for i, names := range [6][]string{{"K[0]", "k[0]"}, {"K[4]", "k[4]"}, {"K[2]", "k[2]"}, {"K[5]", "k[5]"}, {"height", ""}, {"width", ""}} {
			column := max(info.Column(names[0]), info.Column(names[1]))
			if column < 0 {
				return k, missing
			}
			values, err := tensor.Floats(info.Values)
			if err != nil {
				return k, err
			}
			read[i] = values[column]
			for at := column; at < len(values); at += len(info.Columns) {
				if values[at] != read[i] {
					missing.Got = fmt.Sprintf("%s in %s changes from %v to %v", info.Columns[column].Name, info.Name, read[i], values[at])
					return k, missing
				}
			}
		}
		s.size = []int{int(read[4]), int(read[5])}
		for _, name := range []string{".D", ".d"} {
			if d := e.Stream(info.Name + name); d != nil {
				values, err := tensor.Floats(d.Values)
				if err != nil {
					return k, err
				}
				s.Counts.Distorted = slices.ContainsFunc(values, func(v float64) bool { return v != 0 })
			}
		}
		return [4]float64(read[:4]), nil
	}
	return k, missing
}
