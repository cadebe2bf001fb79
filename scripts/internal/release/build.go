package release

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Target is a system and a processor in Go's spelling, such as linux/amd64.
type Target string

// Targets lists the targets that a release has binaries for. Linux targets also have a wheel.
var Targets = []Target{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// OS returns the system. Arch returns the processor.
func (t Target) OS() string   { s, _, _ := strings.Cut(string(t), "/"); return s }
func (t Target) Arch() string { _, s, _ := strings.Cut(string(t), "/"); return s }

// Program returns the binary's file name.
func (t Target) Program() string {
	if t.OS() == "windows" {
		return "robocache.exe"
	}
	return "robocache"
}

// command returns a go command for a target, run in the module's folder. It ignores build settings in the caller's environment, so that
// the output bytes do not depend on them.
func (t Target) command(root string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS(), "GOARCH="+t.Arch(), "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOFIPS140=off", "GOWORK=off")
	return cmd
}

// Build compiles the command line in module root to the file out. For Linux it returns an error if the binary breaks the promise of the
// wheel's tag.
func Build(root string, t Target, version, out string) error {
	cmd := t.command(root, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= -X main.release="+version, "-o", out, "./cmd/robocache")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", t, err, text)
	}
	if t.OS() == "linux" {
		return CheckELF(out, t.Arch())
	}
	return nil
}
