package video

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Choice is the decoder that a codec's streams get on this machine.
type Choice struct {
	Codec   string   `json:"codec"`
	Decoder string   `json:"decoder,omitempty"` // a driver's name or "ffmpeg"; "" if there is none
	Absent  []Absent `json:"absent,omitempty"`
}

// Absent is a decoder of a codec that this machine lacks.
type Absent struct {
	Decoder string `json:"decoder"`
	Why     string `json:"why"`
	Error   string `json:"error,omitempty"` // details
	Cure    string `json:"cure,omitempty"`  // "the package" to install, or a variable with its value
}

// programs are ffmpeg's decoders in software. A codec that is not listed has one of its own name.
var programs = map[string][]string{"av1": {"libdav1d", "libaom-av1", "libgav1"}}

// Survey returns the choice for each codec. Streams with features that a driver does not decode get the next decoder.
func Survey(ctx context.Context) []Choice {
	list := []string{} // ffmpeg's decoders
	path, missing := program()
	if missing == nil {
		out, err := exec.CommandContext(ctx, path, "-hide_banner", "-loglevel", "error", "-decoders").Output()
		for line := range strings.Lines(string(out)) {
			if words := strings.Fields(line); len(words) > 1 {
				list = append(list, words[1])
			}
		}
		missing = err
	}
	var choices []Choice
	for _, codec := range []string{"h264", "hevc", "av1", "vp9", "vp8", "mpeg4"} {
		c := Choice{Codec: codec}
		c.open(Stream{Codec: codec})
		names := programs[codec]
		if names == nil {
			names = []string{codec}
		}
		switch {
		case missing != nil:
			c.lacksFFmpeg(missing)
		case !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, name) }):
			c.add("ffmpeg", "", &Refusal{Driver: "ffmpeg", Reason: NoDecoder})
		default:
			c.add("ffmpeg", "", nil)
		}
		choices = append(choices, c)
	}
	return choices
}

// Check returns an error that is dataset.ErrUnsupported if no decoder is installed for the stream. It neither decodes nor runs ffmpeg, and
// it opens drivers only if ffmpeg is missing.
func (j *Job) Check() error {
	_, missing := program()
	if missing == nil {
		return nil
	}
	c := Choice{Codec: j.Codec}
	if c.open(j.stream()); c.Decoder != "" {
		return nil
	}
	c.lacksFFmpeg(missing)
	var why, cures []string
	for _, a := range c.Absent {
		text := a.Decoder + ": " + a.Why
		if !strings.HasPrefix(a.Why, "no ") {
			text += " (" + a.Error + ")"
		}
		if why = append(why, text); a.Cure != "" {
			cures = append(cures, a.Cure)
		}
	}
	e := j.Fail(-1)
	e.Kind, e.Got, e.Want = dataset.ErrUnsupported, strings.Join(why, ", "), strings.Join(cures, " or ")
	return e
}

// open opens and closes a decoder of each driver.
func (c *Choice) open(s Stream) {
	for _, driver := range registered() {
		d, err := driver.Open(s)
		if err == nil {
			d.Close()
		}
		c.add(driver.Name, driver.Library, err)
	}
}

func (c *Choice) lacksFFmpeg(err error) {
	c.add("ffmpeg", "ffmpeg", &Refusal{Driver: "ffmpeg", Reason: NoProgram, Err: err})
}

// add records the result of opening a decoder: the first decoder without an error is chosen, and others with an error are absent. install
// is the decoder's package.
func (c *Choice) add(decoder, install string, err error) {
	var refused *Refusal
	switch {
	case err == nil:
		if c.Decoder == "" {
			c.Decoder = decoder
		}
		return
	case !errors.As(err, &refused):
		refused = &Refusal{Reason: NoDevice, Err: err}
	case refused.Reason == OtherCodec:
		return
	}
	a := Absent{Decoder: decoder, Why: string(refused.Reason), Cure: refused.Cure}
	if refused.Err != nil {
		a.Error = refused.Err.Error()
	}
	if install != "" {
		a.Cure = "the package " + install
	}
	c.Absent = append(c.Absent, a)
}
