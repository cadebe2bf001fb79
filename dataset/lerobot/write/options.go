package write

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	ffmpeg "github.com/robocache/robocache/internal/video"
)

// Options are the settings of a new dataset.
type Options struct {
	// FPS is the number of rows a second. Row i of an episode gets the timestamp i/FPS, because LeRobot keeps no other time.
	FPS float64
	// Version is LeRobot's version of the format, one of Versions; empty means 3.0. In version 2.1, which openpi and GR00T read, each
	// episode has its own Parquet file and videos, so DataFileMB and VideoFileMB have no effect, and language columns are left out.
	Version string
	// RobotType is the robot's name in info.json; empty is written as null.
	RobotType string
	// Tasks are the texts for the numbers in a stream "task_index": dataset.Info.Tasks from the dataset that the episodes come
	// from. The stream gives each row its task, if the task changes within an episode. Without Tasks such a stream is refused.
	Tasks []string
	// FirstTasks are the first tasks in the dataset's list, in this order, even if no episode has them. They keep task numbers
	// valid that annotation columns refer to.
	FirstTasks []string
	// Names renames streams and media to the names that LeRobot's policies expect. Example: {"obs/joint_pos": "observation.state",
	// "actions": "action"}. Other names stay, but slashes become dots, because LeRobot refuses slashes. Report.Renamed lists all
	// changed names.
	Names map[string]string
	// Overwrite replaces an existing LeRobot dataset or an empty folder at the path, but only after the new dataset is complete.
	Overwrite bool
	// DataFileMB is the size in MiB after which a new data file begins; 0 means LeRobot's default, 100. An episode is never split.
	DataFileMB int
	// VideoFileMB is the size in MiB after which a new video file begins; 0 means LeRobot's default, 200.
	VideoFileMB int
	// Codec, one of Codecs, makes ffmpeg encode all media as videos, except for videos that can be copied. Without it images stay
	// images, and a video that cannot be copied is refused. For version 2.1 an episode's frames can be copied if no frame needs one
	// outside the episode, for example if the first is a key frame.
	Codec string
	// Modality is the content of meta/modality.json, where GR00T finds its parts of states and actions; nil writes no such file.
	Modality json.RawMessage
	// Tools is the value for "tools" in info.json, the definitions of tools that calls in language columns refer to; nil writes
	// no such key.
	Tools json.RawMessage
	// KeepImages copies PNG and JPEG images even if Codec is set.
	KeepImages bool
}

// EpisodeOptions are the settings for one episode, and its data outside streams.
type EpisodeOptions struct {
	// Splits are the dataset parts that contain the episode. If no episode has a split, all are in "train". LeRobot stores ranges
	// of episodes, so a split with gaps is left out, and Report.Notes lists it.
	Splits []string
	// Times are columns with whole numbers by their names, one number per row: nanosecond times, which a float64 stream cannot hold
	// exactly. LeRobot's own timestamp is always i/FPS; these columns may keep the recorded times.
	Times map[string][]int64
	// Tasks replaces Options.Tasks for this episode, because merged datasets have different task lists.
	Tasks []string
	// Names takes precedence over Options.Names.
	Names map[string]string
	// Undecoded is called for each row with a frame that is damaged, missing or of another size than the first. The row shows the
	// frame before it, or else the first good frame. If Undecoded is nil, or if more than half the frames of a camera are bad, the
	// episode is an *Error.
	Undecoded func(media string, row int, err error)
	// RowTasks is the task of each row, and replaces Attributes.Task; nil if the episode has one task.
	RowTasks []string
	// Texts are string features.
	Texts []TextFeature
}

// TextFeature is a text for each row. Attribute is its name in dataset.Attributes.
type TextFeature struct {
	Name, Attribute string
	Rows            []string
}

// check returns a *dataset.OptionError if an option is invalid, and sets LeRobot's defaults.
func (opt *Options) check() error {
	bad := func(arg string, got any, want string) error {
		return &dataset.OptionError{Arg: arg, Got: fmt.Sprint(got), Want: want}
	}
	if !dataset.IsRate(opt.FPS) {
		return bad("FPS", strconv.FormatFloat(opt.FPS, 'g', -1, 64), "rows a second from 1e-6 to 1e9")
	}
	if opt.Version = cmp.Or(opt.Version, Versions[0]); !slices.Contains(Versions, opt.Version) {
		return bad("Version", strconv.Quote(opt.Version), strings.Join(Versions, ", "))
	}
	if opt.DataFileMB == 0 {
		opt.DataFileMB = 100
	}
	if opt.VideoFileMB == 0 {
		opt.VideoFileMB = 200
	}
	for _, size := range []struct {
		arg string
		mb  int
	}{{"DataFileMB", opt.DataFileMB}, {"VideoFileMB", opt.VideoFileMB}} {
		if size.mb < 0 || size.mb > 1<<30 {
			return bad(size.arg, size.mb, "MiB, or 0 for LeRobot's own")
		}
	}
	if opt.Codec != "" && !slices.Contains(Codecs(), opt.Codec) {
		return bad("Codec", strconv.Quote(opt.Codec), strings.Join(Codecs(), ", ")+", or none")
	}
	if !utf8.ValidString(opt.RobotType) {
		return bad("RobotType", strconv.Quote(opt.RobotType), "UTF-8")
	}
	for _, text := range []struct {
		arg   string
		value json.RawMessage
	}{{"Modality", opt.Modality}, {"Tools", opt.Tools}} {
		if len(text.value) > 0 && !json.Valid(text.value) {
			return bad(text.arg, fmt.Sprintf("%d bytes", len(text.value)), "JSON")
		}
	}
	for _, task := range opt.FirstTasks {
		if !utf8.ValidString(task) {
			return bad("FirstTasks", strconv.Quote(task), "UTF-8")
		}
	}
	return nil
}

// reserved lists the names that LeRobot uses for columns, or adds to a row itself.
var reserved = slices.Concat([]string{"task"}, layout.Language, layout.Standard)

// maxName limits names, in bytes, because a video's name is also a folder name.
const maxName = 200

// featureName returns a stream's name in the dataset. LeRobot does not allow slashes in names, so they become dots.
func (opt *Options) featureName(stream string, names map[string]string) (string, *Error) {
	name, ok := names[stream]
	if !ok {
		name, ok = opt.Names[stream]
	}
	if !ok {
		name = strings.ReplaceAll(stream, "/", ".")
	}
	bad := func(kind error, got, want string) (string, *Error) {
		return name, &Error{Kind: kind, Got: got, Want: want + ": it can be written under another name"}
	}
	switch {
	case name == "":
		return bad(dataset.ErrOption, "an empty name", "a name")
	case name == "task_index":
		return bad(dataset.ErrOption, "numbers of tasks", "the texts that they stand for, or another name")
	case slices.Contains(reserved, name):
		return bad(dataset.ErrOption, "a name that LeRobot uses itself", "another")
	case strings.Contains(name, "/"):
		return bad(dataset.ErrOption, strconv.Quote(name), "a name without /, which LeRobot refuses")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) || name == "." || name == "..":
		return bad(dataset.ErrOption, strconv.Quote(name), "a name of printed characters in UTF-8")
	case strings.Contains(name, `\`) || len(name) > maxName:
		return bad(dataset.ErrOption, strconv.Quote(name), fmt.Sprintf("a name of at most %d bytes without \\, which can be a folder's", maxName))
	}
	return name, nil
}

// Report counts the written content, and lists losses.
type Report struct {
	Episodes, Frames, Tasks int
	Files                   int
	Bytes                   int64
	// Shift is the largest difference between a timestamp and its row's i/FPS, measured from the episode's first: at most 0.1 ms,
	// LeRobot's tolerance.
	Shift time.Duration
	// Moved is the largest shift of a video frame to its new time, exactly i/FPS, measured from the episode's first frame.
	Moved time.Duration
	// Inexact counts the integers that were already rounded in the streams.
	Inexact int
	// Renamed maps the names of streams and media to their new names, if these differ.
	Renamed map[string]string
	// Notes list content that the format cannot hold. Count is the number of episodes.
	Notes dataset.Notes
}

// Versions are the values for Options.Version.
var Versions = []string{"3.0", layout.Version21}

// Codecs lists the valid values for Options.Codec.
func Codecs() []string { return ffmpeg.Encodings() }
