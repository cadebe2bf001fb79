package convert

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/robocache/robocache/internal/recognise"
)

// LeRobotOptions are the settings for a LeRobot dataset. The rate comes from the plan, or else from the first episode.
type LeRobotOptions struct {
	// Version is the version of the format, one of lerobotwrite.Versions; empty means 3.0. openpi and GR00T read 2.1.
	Version string `json:"version,omitempty"`
	// Modality makes meta/modality.json for GR00T, or completes the inputs' own: the columns of State and Action by their stream
	// names, all cameras, and the task as human.task_description.
	Modality bool `json:"modality,omitempty"`
	// RobotType is the robot's name in info.json. Empty takes the inputs' name if they agree.
	RobotType string `json:"robot_type,omitempty"`
	// Names renames streams and media. By default a topic "/arm/joint_states" becomes "arm.joint_states", a camera topic
	// "/arm/camera" becomes "observation.images.arm.camera", and a camera that a plan calls "wrist" becomes
	// "observation.images.wrist". Other names stay, with dots in place of slashes.
	Names map[string]string `json:"names,omitempty"`
	// State and Action are streams to join, column by column, into observation.state and action, which LeRobot's policies read.
	State  []string `json:"state,omitempty"`
	Action []string `json:"action,omitempty"`
	// Cameras is the form of media that are not videos in a LeRobot dataset: "video", "image" or "auto" (the default). With "auto",
	// PNG and JPEG frames stay images, byte for byte, if there is no plan, and everything else becomes video.
	Cameras string `json:"cameras,omitempty"`
	// Extra is the rule for streams and cameras that the first written episode lacks, because all episodes in a dataset must have
	// the same. It is one of Extras; empty means "error".
	Extra string `json:"extra,omitempty"`
	// Codec is the video codec, one of lerobotwrite.Codecs; empty means av1, as in LeRobot.
	Codec string `json:"codec,omitempty"`
}

// Extras are the values for LeRobotOptions.Extra. "error": an *ExtraStreamError ends the conversion. "drop": the stream is left out
// of all episodes and counted. "skip": an episode with such a stream is skipped.
var Extras = []string{"error", "drop", "skip"}

// Cameras are the values for LeRobotOptions.Cameras.
var Cameras = []string{"auto", "video", "image"}

// leRobotWriter writes a dataset. The first episode determines the rate and the features.
type leRobotWriter struct {
	opt     LeRobotOptions
	path    string
	piece   Piece
	w       *lerobotwrite.Writer
	fps     float64
	capture []string                // columns with capture times: see captureTime
	first   string                  // the first episode's name
	columns map[string][]string     // the column names of the first episode's streams
	has     map[string]string       // recorded stream names by the first episode's features; nil before that episode
	lossy   []lossy                 // the written episodes that lack streams
	notes   dataset.Notes           // about the inputs' content outside episodes
	strings []string                // texts of the first episode that are features
	left    map[string]dataset.Note // the reasons why streams are left out, by their names in the first episode; nil before it
}

// lossy is a written episode that lacks streams, and the reasons.
type lossy struct {
	number int
	lost   map[string]dataset.Note
}

// needs reports whether the options name a stream, or policies look for it, so that a dataset without it is useless.
func (l *leRobotWriter) needs(stream string) bool {
	name := l.name(stream, "")
	_, named := l.opt.Names[stream]
	return named || slices.Contains(l.opt.State, stream) || slices.Contains(l.opt.Action, stream) || recognise.IsAction(name) || strings.HasPrefix(name, "observation.")
}

// name returns the name of a stream in the dataset.
func (l *leRobotWriter) name(stream, camera string) string {
	if name, ok := l.opt.Names[stream]; ok {
		return name
	}
	if topic, ok := strings.CutPrefix(stream, "/"); ok {
		stream = camera + topic
	}
	return strings.ReplaceAll(stream, "/", ".")
}

// camera returns the name of a camera in the dataset.
func (l *leRobotWriter) camera(m *dataset.Media) string {
	const cameras = "observation.images."
	name := l.name(m.Name, cameras)
	_, named := l.opt.Names[m.Name]
	p, picked := m.Source.(*Picked)
	if renamed := picked && p.Recorded.Name != m.Name; renamed && !named && !strings.HasPrefix(name, "observation.") { // by the plan
		return cameras + name
	}
	return name
}

// encodes reports whether frames that cannot be copied become video.
func (l *leRobotWriter) encodes(m *dataset.Media, byPlan bool) bool {
	return m.Encoding != "tiff" && (l.opt.Cameras == "video" || l.opt.Cameras == "auto" && (byPlan || m.Encoding != "png" && m.Encoding != "jpeg"))
}

// media returns the media stream to write, or the reason to leave it out.
func (l *leRobotWriter) media(ctx context.Context, m *dataset.Media, times []int64) (out dataset.Media, why dataset.Note) {
	recorded := m
	p, picked := m.Source.(*Picked)
	if picked {
		recorded = p.Recorded
	}
	if wide(recorded.Encoding) {
		return *m, dataset.Note{Code: dataset.CodeDeepPixels, Detail: dataset.Detail{Want: "LeRobot"}}
	}
	if recorded.Encoding == "tiff" && lerobotwrite.DepthInfo(recorded) != "" {
		return *m, why // byte for byte
	}
	if !recorded.Decodes() {
		return *m, dataset.Note{Code: dataset.CodeFramesUndecoded, Detail: dataset.Detail{Got: strconv.Quote(recorded.Encoding)}}
	}
	if cut, ok := copied(m, times); ok {
		return cut, why
	}
	if recorded.IsVideo() && !picked { // whole, which is copied too
		return *m, why
	}
	return *m, undecoded(ctx, m)
}

// copied returns a video with the rows' frames that can be copied from its file without decoding, and true. If a row does not have the
// frame after the previous row's, it returns false.
func copied(m *dataset.Media, times []int64) (cut dataset.Media, ok bool) {
	p, picked := m.Source.(*Picked)
	if !picked || len(p.Frames) == 0 {
		return cut, false
	}
	first := p.Frames[0]
	for i, f := range p.Frames {
		if f != first+i {
			return cut, false
		}
	}
	if cut, ok = lerobot.Cut(p.Recorded, first, first+len(p.Frames)); ok {
		cut.Name, cut.Times = m.Name, times
	}
	return cut, ok
}

// stepTimes are the times that LeRobot gives to n rows.
func stepTimes(n int, fps float64) []int64 {
	times, _ := dataset.StepTimes(n, fps) // an invalid rate has none, and lerobotwrite.Create returns the error
	return times
}

// shared returns the value of an attribute that all inputs share; differ is true if two of them have different values.
func (l *leRobotWriter) shared(name string) (value string, differ bool) {
	for i, in := range l.piece.Inputs {
		if own := in.Attributes[name]; i > 0 && own != value {
			return "", true
		} else {
			value = own
		}
	}
	return value, false
}
