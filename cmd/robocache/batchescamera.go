package main

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/loader"
)

const camerasHelp = `--camera NAME=WIDTHxHEIGHT adds frames of a camera, or of a video, decoded and resized: NAME.frames
[B,T,HEIGHT,WIDTH,3] uint8, red, green and blue. A target has the frame at or before it, unless a
plan asks for kind: nearest, and --window NAME=-100ms:0s gives a camera a window as a stream. Frames
are decoded by the processors ahead of need. A video needs ffmpeg, and --streaming of the recordings.`

// cameras are those of --camera.
type cameras []loader.Camera

func (c *cameras) String() string {
	var list []string
	for _, o := range *c {
		list = append(list, fmt.Sprintf("%s=%dx%d", o.Name, o.Width, o.Height))
	}
	return strings.Join(list, ",")
}

// Set adds a camera.
func (c *cameras) Set(text string) error {
	name, size, found := cutLast(text, "=")
	o := loader.Camera{Name: name}
	var rest string
	n, _ := fmt.Sscanf(size+" ", "%dx%d%s", &o.Width, &o.Height, &rest)
	if !found || name == "" || n != 2 || o.Width < 1 || o.Height < 1 {
		return fmt.Errorf("got %q, want NAME=WIDTHxHEIGHT such as front=224x224", text)
	}
	*c = append(*c, o)
	return nil
}

// Type is what the help calls it.
func (c *cameras) Type() string { return "NAME=WIDTHxHEIGHT" }
