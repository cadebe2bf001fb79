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
	Clouds  string `json:"clouds"` // the series' name
	Cloud   int    `json:"cloud"`
}

// cloudReply is a cloud, whose arrays are in the memfd that comes with it.
type cloudReply struct {
	Points    array               `json:"points"`   // [N,3]
	Features  array               `json:"features"` // [N,F]
	Columns   []inspection.Column `json:"columns"`
	Height    int                 `json:"height"`
	Width     int                 `json:"width"`
	NotFinite int                 `json:"not_finite"`
}

// readCloud reads a cloud of a series.
func readCloud(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	var q cloudRequest
	if err := r.Decode(&q); err != nil {
		return nil, err
	}
	rec, e, err := c.recordings.episode(ctx, q.Handle, q.Episode)
	if err != nil {
		return nil, err
	}
	s := e.CloudStream(q.Clouds)
	if s == nil {
		names := []string{}
		for i := range e.Clouds {
			names = append(names, e.Clouds[i].Name)
		}
		return nil, &RequestError{Arg: "clouds", Got: fmt.Sprintf("%q", q.Clouds), Want: fmt.Sprintf("one of %q", names)}
	}
	cloud, err := s.Cloud(ctx, q.Cloud)
	if err != nil {
		return nil, rec.fails(q.Episode, err)
	}
	var a arrays
	out := cloudReply{a.add(cloud.Points), a.add(cloud.Features), inspection.Columns(cloud.Columns), cloud.Height, cloud.Width, cloud.NotFinite}
	reply, err := a.reply(fmt.Sprintf("cloud %d of %s", q.Cloud, s.Name), out)
	if err != nil {
		err = rec.fails(q.Episode, err)
	}
	return reply, err
}
