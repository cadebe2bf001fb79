package write

import (
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

// Options are how a dataset is written.
type Options struct {
	// FPS is how many rows a second there are. Row i of an episode gets the timestamp i/FPS: LeRobot keeps no other time.
	FPS float64
	// RobotType is the robot's name in info.json; empty is null there.
	RobotType string
	// Task is the task of episodes without one.
	Task string
	// Tasks are the texts of the numbers in a stream "task_index": dataset.Info.Tasks of the dataset that the episodes come from. The
	// stream gives the task of each row, if it changes within an episode. Without Tasks such a stream is refused.
	Tasks []string
	// FirstTasks are tasks that the dataset has first, in this order, whether an episode has them or not: columns of annotations may have
	// their numbers.
	FirstTasks []string
	// Names gives streams and media the names that LeRobot's policies look for: {"obs/joint_pos": "observation.state", "actions":
	// "action"}. Others keep their names, but slashes become dots, because LeRobot refuses slashes. Report.Renamed has all names that
	// changed.
	Names map[string]string
	// Overwrite replaces a LeRobot dataset or an empty folder that has the name, when the new one is whole.
	Overwrite bool
	// DataFileMB is how large a file of a table may grow before the next begins, in MiB; 0 is LeRobot's 100. An episode is in one file,
	// whatever its size.
	DataFileMB int
	// VideoFileMB is how large a file of a video may grow before the next begins, in MiB; 0 is LeRobot's 200.
	VideoFileMB int
	// Codec, one of Codecs, makes videos of all media but those that can be copied: ffmpeg encodes them. Without it images stay images, and
	// a video that cannot be copied is refused.
	Codec string
	// Modality is meta/modality.json, with which GR00T finds its parts of states and actions; none unless given.
	Modality json.RawMessage
	// KeepImages copies PNG and JPEG images, also with a Codec.
	KeepImages bool
}

// EpisodeOptions are how one episode is written, and its data that are no streams.
type EpisodeOptions struct {
	// Splits are the parts of the dataset that the episode is in. Where no episode is in any, all are in "train". LeRobot has ranges of
	// episodes: a split whose episodes do not follow each other is left out, and is in the report.
	Splits []string
	// Times are columns of whole numbers by their names, one for each row: times in nanoseconds, which a stream's float64 has no room for.
	// LeRobot's own timestamp is always i/FPS; these columns may keep the recorded times.
	Times map[string][]int64
	// Tasks are Options.Tasks for this episode alone: datasets that are merged have lists of their own.
	Tasks []string
	// Names goes before Options.Names.
	Names map[string]string
	// Undecoded is called for each row with a frame that is damaged, missing or of another size than the first. The row gets the frame before it, or the first
	// good one. If Undecoded is nil, or if more than half of a camera's frames are bad, the episode is an *Error.
	Undecoded func(media string, row int, err error)
	// RowTasks is the task of each row, in place of Attributes.Task; nil if there is one.
	RowTasks []string
	// Texts are features of strings.
	Texts []TextFeature
}

// TextFeature is a text of each row. Attribute is its name in dataset.Attributes.
type TextFeature struct {
	Name, Attribute string
	Rows            []string
}

// check returns a *dataset.OptionError unless the options can be, and sets LeRobot's own where there are none.
func (opt *Options) check() error {
	bad := func(arg string, got any, want string) error {
		return &dataset.OptionError{Arg: arg, Got: fmt.Sprint(got), Want: want}
	}
	if !dataset.IsRate(opt.FPS) {
		return bad("FPS", strconv.FormatFloat(opt.FPS, 'g', -1, 64), "rows a second from 1e-6 to 1e9")
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
	if len(opt.Modality) > 0 && !json.Valid(opt.Modality) {
		return bad("Modality", fmt.Sprintf("%d bytes", len(opt.Modality)), "JSON")
	}
	for _, task := range opt.FirstTasks {
		if !utf8.ValidString(task) {
			return bad("FirstTasks", strconv.Quote(task), "UTF-8")
		}
	}
	return nil
}

// reserved are the names that LeRobot uses for columns or adds to a row itself.
var reserved = slices.Concat([]string{"task"}, layout.Language, layout.Standard)

// maxName is how long a name may be, bytes: a video's is that of a folder.
const maxName = 200

// featureName returns the name that a stream has in the dataset. LeRobot refuses names with a slash and puts a dot where other formats have
// one.
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
	// Shift is the largest distance of a timestamp from its row's i/FPS after the episode's first: at most LeRobot's tolerance, 0.1 ms.
	Shift time.Duration
	// Moved is the largest distance of a video's frame, from the first of its episode, from where it is now: at i/FPS exactly.
	Moved time.Duration
	// Inexact counts the integers that the streams had already rounded.
	Inexact int
	// Renamed has the names that features got, by those of the streams and media, where they differ.
	Renamed map[string]string
	// Notes are about content of the episodes that the format has no place for. Count is the number of episodes.
	Notes dataset.Notes
}

// Codecs lists the values of Options.Codec.
func Codecs() []string { return ffmpeg.Encodings() }
