package serve

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/robocache/robocache/internal/kernels"
)

const (
	// Protocol is the version of what this package speaks.
	Protocol = 1
	// planVersion is that of exported plans.
	planVersion = 1
)

// VersionError says that two sides are of versions that do not belong together.
type VersionError struct{ What, Got, Want string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: the Python package has %s, this program %s", e.What, e.Got, e.Want)
}

type helloRequest struct {
	Do
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
}

func (c *Conn) hello(r *Request) (*Reply, error) {
	var q helloRequest
	if err := r.Decode(&q); err != nil {
		return nil, err
	}
	if q.Protocol != Protocol {
		return nil, &VersionError{"protocol", fmt.Sprint(q.Protocol), fmt.Sprint(Protocol)}
	}
	theirs, ours := release(q.Version), release(c.version)
	if theirs != "" && ours != "" && theirs != ours {
		return nil, &VersionError{"version", q.Version, c.version}
	}
	c.greeted = true
	return &Reply{Value: map[string]any{
		"protocol": Protocol, "plan": planVersion, "version": c.version, "images": kernels.Hash(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}}, nil
}

var releases = regexp.MustCompile(`^v?\d+\.\d+\.\d+$`)

// release is the version of a release as 1.2.3, or nothing of a build of anything else.
func release(version string) string {
	if !releases.MatchString(version) {
		return ""
	}
	return strings.TrimPrefix(version, "v")
}
