package serve

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/ops/record"
)

// Protocol is the protocol's version.
const Protocol = 1

// VersionError reports that the Python package and this program have different versions.
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
	ours := strings.TrimPrefix(c.version, "v")
	if q.Version != ours && !strings.Contains(q.Version, "dev") && !strings.Contains(ours, "dev") {
		return nil, &VersionError{"version", q.Version, ours}
	}
	c.greeted = true
	return &Reply{Value: map[string]any{
		"protocol": Protocol, "plan": record.Version, "version": ours, "images": kernels.Hash(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}}, nil
}
