package serve

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/internal/inspection"
)

type cloudRequest struct {
	Do
	Handle  int    `json:"handle"`
	Episode int    `json:"episode"`
	Clouds  string `json:"clouds"` // the name of the series
	Cloud   int    `json:"cloud"`
}

// cloudReply is a cloud. Its arrays are in the reply's memfd.
type cloudReply struct {
	Points    array               `json:"points"`   // [N,3]
	Features  array               `json:"features"` // [N,F]
	Columns   []inspection.Column `json:"columns"`
	Height    int                 `json:"height"`
	Width     int                 `json:"width"`
	NotFinite int                 `json:"not_finite"`
}

// readCloud handles "cloud": it reads one cloud in a series. If the episode has no such series, the error is a *RequestError.
func readCloud(ctx context.Context, c *Conn, r *Request, q cloudRequest) (*Reply, error) {
	rec, e, err := c.recordings.episode(ctx, q.Handle, q.Episode)
	if err != nil {
		return nil, err
	}
	s := e.CloudStream(q.Clouds)
	if s == nil {
		return nil, &RequestError{Arg: "clouds", Got: fmt.Sprintf("%q", q.Clouds), Want: fmt.Sprintf("one of %q", e.CloudNames())}
	}
	cloud, err := s.Cloud(ctx, q.Cloud)
	if err != nil {
		return nil, rec.fails(q.Episode, err)
	}
	var a arrays
	out := cloudReply{a.add(cloud.Points), a.add(cloud.Features), inspection.Columns(cloud.Columns), cloud.Height, cloud.Width, cloud.NotFinite}
	return rec.reply(q.Episode, fmt.Sprintf("cloud %d of %s", q.Cloud, s.Name), &a, out)
}
