package lerobot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
)

// header is the parsed meta/info.json.
type header struct {
	version   string
	major     int
	fps       float64
	features  []feature
	dataPath  string
	videoPath string
	chunkSize int64
	totals    map[string]int64 // present totals, such as "total_episodes"
	splits    []orderjson.Member
}

// feature is a feature in info.json.
type feature struct {
	dataset.Feature
	width  int    // values per row; 0 if the shape is open
	pixels string // a video's pixel format, such as "yuv420p"; empty if unknown
	depth  string // a depth map's info
}

// readHeader reads meta/info.json.
func (s *source) readHeader(path string) (*header, error) {
	list, err := readObject(path)
	if err != nil {
		return nil, err
	}
	h := &header{totals: map[string]int64{}}
	refuse := func(msg, got, want string) (*header, error) {
		return nil, formatError(dataset.ErrUnsupported, path, -1, msg, got, want)
	}
	if h.version, _ = text(get(list, "codebase_version")); h.version == "" {
		return refuse("codebase_version", "none", `a version, such as "v3.0"`)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(h.version, "v"), ".")
	h.major, _ = strconv.Atoi(major)
	if h.major != 2 && h.major != 3 {
		return refuse("codebase_version", fmt.Sprintf("%.20q", h.version), "v2.0, v2.1 or v3.0")
	}
	if storage := get(list, "storage_format"); storage != nil && string(storage) != "null" {
		if name, _ := text(storage); name != "parquet" {
			return refuse("storage_format", fmt.Sprintf("%.20s", plain(storage)), "parquet: Lance and others are not read")
		}
	}
	fps, ok := number(get(list, "fps"))
	if h.fps = fps; !ok || !dataset.IsRate(fps) {
		h.fps = 0
		s.problems.add(dataset.CodeRateInvalid, layout.InfoFile, 0, detail{Got: fmt.Sprintf("%.40s", get(list, "fps"))})
	}
	h.dataPath, _ = text(get(list, "data_path"))
	h.videoPath, _ = text(get(list, "video_path"))
	if h.chunkSize, ok = wholeNumber(get(list, "chunks_size")); !ok || h.chunkSize <= 0 {
		h.chunkSize = 1000
	}
	attributes := map[string]string{}
	for _, m := range list {
		switch m.Name {
		case "codebase_version", "fps", "features", "splits", "total_episodes", "total_frames", "total_tasks":
		default:
			if string(m.Value) != "null" {
				attributes[m.Name] = plain(m.Value)
			}
		}
		if strings.HasPrefix(m.Name, "total_") {
			if n, ok := wholeNumber(m.Value); ok {
				h.totals[m.Name] = n
			}
		}
	}
	if splits := get(list, "splits"); splits != nil {
		if h.splits, err = orderjson.Members(splits); err != nil && string(splits) != "null" {
			s.problems.add(dataset.CodeDeclaration, layout.InfoFile, 0, detail{Cause: fmt.Errorf("splits: %w", err)})
		}
	}
	features, err := orderjson.Members(get(list, "features"))
	if err != nil {
		return nil, formatError(dataset.ErrCorrupt, path, -1, "features", fmt.Sprintf("%.40s", get(list, "features")),
			"an object with one for each feature")
	}
	at := map[string]int{}
	for _, m := range features {
		f, why := featureOf(m)
		if why != "" {
			s.problems.add(dataset.CodeDeclaration, "feature "+m.Name, 0, detail{Cause: errors.New(why)})
		}
		if i, twice := at[m.Name]; twice { // the last one counts, as in Python
			s.problems.add(dataset.CodeDeclaration, "feature "+m.Name, 0, detail{Cause: errors.New("there are two")})
			h.features[i], s.info.Features[i] = f, f.Feature
			continue
		}
		at[m.Name] = len(h.features)
		h.features = append(h.features, f)
		s.info.Features = append(s.info.Features, f.Feature)
	}
	for _, name := range layout.Standard {
		if h.feature(name) == nil && name != "frame_index" {
			s.problems.add(dataset.CodeFeatureUndeclared, layout.InfoFile, 0, detail{Names: []string{name}})
		}
	}
	s.info.Version, s.info.Attributes = h.version, attributes
	return h, nil
}

// feature returns the feature with a name, or nil.
func (h *header) feature(name string) *feature {
	for i := range h.features {
		if h.features[i].Name == name {
			return &h.features[i]
		}
	}
	return nil
}

// featureOf decodes a feature. If it is invalid, why describes the error.
func featureOf(m orderjson.Member) (f feature, why string) {
	f.Name = m.Name
	list, err := orderjson.Members(m.Value)
	if err != nil {
		return f, "no object"
	}
	if f.DType, _ = text(get(list, "dtype")); f.DType == "" {
		why = "no dtype"
	}
	var shape []float64
	if json.Unmarshal(get(list, "shape"), &shape) != nil {
		why = "no shape"
	}
	f.width = 1
	for _, n := range shape {
		if n != math.Trunc(n) || n < 0 || n > 1<<24 || float64(f.width)*n > 1<<24 {
			f.Shape, f.width, why = nil, 0, fmt.Sprintf("a shape %v, want whole numbers and not more than 2^24 values", shape)
			break
		}
		f.Shape = append(f.Shape, int(n))
		f.width *= int(n)
	}
	if len(shape) == 0 {
		f.width = 0
	}
	f.Names = namesOf(get(list, "names"), "", 0)
	f.Media = f.DType == "video" || f.DType == "image"
	info := cmp.Or(string(get(list, "info")), string(get(list, "video_info")))
	if about, _ := orderjson.Members([]byte(info)); string(get(about, "is_depth_map")) == "true" || string(get(about, "video.is_depth_map")) == "true" {
		f.depth = info
	}
	if f.DType == "video" {
		if wrong := f.readVideo(info); wrong != "" {
			why = wrong
		}
	}
	if len(f.Shape) == 1 && len(f.Names) > 0 && len(f.Names) != f.width {
		why = fmt.Sprintf("%d names for %d values", len(f.Names), f.width)
	}
	return f, why
}

// readVideo reads a video's declaration. Its size is in the shape, and may be repeated next to its rate and pixel format. If the two
// differ, why describes the contradiction.
func (f *feature) readVideo(info string) (why string) {
	f.Height, f.Width = sizeIn(f.Shape, f.Names)
	list, err := orderjson.Members([]byte(info))
	if err != nil {
		return ""
	}
	f.pixels, _ = text(get(list, "video.pix_fmt"))
	codec, _ := text(get(list, "video.codec"))
	f.Encoding = codecOf(codec)
	if rate, ok := number(get(list, "video.fps")); ok && dataset.IsRate(rate) {
		f.Rate = rate
	}
	height, okH := wholeNumber(get(list, "video.height"))
	width, okW := wholeNumber(get(list, "video.width"))
	switch {
	case !okH || !okW || height <= 0 || width <= 0 || height > 1<<24 || width > 1<<24:
	case f.Width == 0:
		f.Height, f.Width = int(height), int(width)
	case f.Height != int(height) || f.Width != int(width):
		return fmt.Sprintf("a shape of %dx%d pixels, and a video of %dx%d", f.Width, f.Height, width, height)
	}
	return ""
}

// codecOf returns the name of a codec as in Media. The argument may be an encoder's name, such as "libsvtav1". It returns "" for other
// codecs.
func codecOf(name string) string {
	for _, c := range [][]string{{"av1", "av1", "av01"}, {"h264", "264", "avc"}, {"hevc", "265", "hevc"}, {"vp9", "vp9"}, {"vp8", "vp8"}, {"mpeg4", "mpeg4", "mp4v"}} {
		for _, part := range c[1:] {
			if strings.Contains(strings.ToLower(name), part) {
				return c[0]
			}
		}
	}
	return ""
}

// sizeIn returns the height and width in a shape with three dimensions. It finds them by name, or else by the first or last dimension
// that is as small as a channel count. It returns 0 if they are unknown.
func sizeIn(shape []int, names []string) (height, width int) {
	if len(shape) != 3 {
		return 0, 0
	}
	if h, w := slices.Index(names, "height"), slices.Index(names, "width"); len(names) == 3 && h >= 0 && w >= 0 {
		return shape[h], shape[w]
	}
	channels := func(n int) bool { return n == 1 || n == 3 || n == 4 }
	switch first, last := channels(shape[0]), channels(shape[2]); {
	case last && !first:
		return shape[0], shape[1]
	case first && !last:
		return shape[1], shape[2]
	}
	return 0, 0
}

// namesOf flattens names: a list, a list of lists, or an object with lists. If an object has several members, their names begin
// with the member's key and a dot.
func namesOf(raw json.RawMessage, prefix string, depth int) (names []string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > 5 {
		return nil
	}
	switch raw[0] {
	case '"':
		name, _ := text(raw)
		return []string{prefix + name}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		for _, one := range list {
			names = append(names, namesOf(one, prefix, depth+1)...)
		}
	case '{':
		list, err := orderjson.Members(raw)
		if err != nil {
			return nil
		}
		for _, m := range list {
			if _, isNumber := number(m.Value); isNumber { // names with their indices
				return placed(list)
			}
			below := prefix
			if len(list) > 1 {
				below += m.Name + "."
			}
			names = append(names, namesOf(m.Value, below, depth+1)...)
		}
	case 'n', 't', 'f':
	default: // names that are numbers
		return []string{prefix + string(raw)}
	}
	return names
}

// placed returns names sorted by their numbers: {"y": 1, "x": 0}.
func placed(list []orderjson.Member) []string {
	slices.SortStableFunc(list, func(a, b orderjson.Member) int {
		x, _ := number(a.Value)
		y, _ := number(b.Value)
		return cmp.Compare(x, y)
	})
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
	}
	return names
}

// columns returns a feature's columns. width is the column count in the data.
func (f *feature) columns(width int, typ string, integer bool) []dataset.Column {
	list := make([]dataset.Column, width)
	for i := range list {
		list[i] = dataset.Column{Name: strconv.Itoa(i), Type: typ, Integer: integer}
		switch {
		case f == nil || f.width != width:
		case len(f.Names) == width:
			list[i].Name = f.Names[i]
		case len(f.Shape) > 1:
			list[i].Name = dataset.Indices(i, f.Shape)
		}
	}
	return list
}

// readModality reads the slices in GR00T's meta/modality.json.
func (s *source) readModality(h *header, path string) {
	list, err := readObject(path)
	if err != nil {
		s.unreadable("meta/modality.json", err)
		return
	}
	for _, part := range list {
		slicesOf, err := orderjson.Members(part.Value)
		if err != nil || (part.Name != "state" && part.Name != "action") {
			s.info.Attributes["modality."+part.Name] = plain(part.Value)
			continue
		}
		for _, m := range slicesOf {
			where, fields := "modality."+part.Name+"."+m.Name, m.Value
			one, _ := orderjson.Members(fields)
			of, ok := text(get(one, "original_key"))
			if !ok {
				of = map[string]string{"state": "observation.state", "action": "action"}[part.Name]
			}
			from, okFrom := wholeNumber(get(one, "start"))
			to, okTo := wholeNumber(get(one, "end"))
			if !okFrom || !okTo {
				s.info.Attributes[where] = plain(fields)
				continue
			}
			s.info.Attributes[where] = fmt.Sprintf("%s[%d:%d]", of, from, to)
			if f := h.feature(of); f == nil {
				s.problems.add(dataset.CodeFeatureUndeclared, "meta/modality.json", 0, detail{Names: []string{of}})
			} else if from < 0 || to < from || f.width > 0 && to > int64(f.width) {
				s.problems.add(dataset.CodeSliceBeyond, "meta/modality.json", 0, detail{Names: []string{where}, Got: s.info.Attributes[where], Want: strconv.Itoa(f.width)})
			}
		}
	}
}
