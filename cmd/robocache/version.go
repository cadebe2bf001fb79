package main

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// release is the version of a release or wheel. The linker sets it (-X main.release=0.5.0), and the Python package has the same version.
var release string

// buildVersion describes this program's build. Version is the release, or else the module's version (a tag or "(devel)"). Modified means
// that files differed from the Revision.
type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (v buildVersion) String() string {
	s := "robocache " + v.Version
	if v.Revision != "" && !strings.Contains(v.Version, v.Revision[:min(len(v.Revision), 12)]) {
		s += " " + v.Revision[:min(len(v.Revision), 12)]
	}
	return s + " " + v.Go + " " + v.Platform
}

func versionOf() buildVersion {
	v := buildVersion{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if release != "" {
		v.Version = release
	}
	return v
}
