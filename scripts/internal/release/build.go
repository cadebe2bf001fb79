package release

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Target is a system and a processor, as Go names them: linux/amd64.
type Target string

// Targets are those that a release has a binary for. Those of Linux have a wheel.
var Targets = []Target{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// OS is the system, Arch the processor.
func (t Target) OS() string   { s, _, _ := strings.Cut(string(t), "/"); return s }
func (t Target) Arch() string { _, s, _ := strings.Cut(string(t), "/"); return s }

// Program is the name of the binary's file.
func (t Target) Program() string {
	if t.OS() == "windows" {
		return "robocache.exe"
	}
	return "robocache"
}

// command is the go command for a target, in the folder of the module. What the caller's environment says of building does not count: the bytes must not
// depend on it.
func (t Target) command(root string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.OS(), "GOARCH="+t.Arch(), "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOFIPS140=off", "GOWORK=off")
	return cmd
}

// Build compiles the command line of the module in root to the file out. For Linux it refuses a binary that is not what the wheel's tag promises.
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
