package dataset

import "context"

// CloudStream is a series of point clouds with its own clock, such as a lidar's scans.
type CloudStream struct {
	Name  string
	Type  string  // the message type, like Stream.Type
	Times []int64 // [S], nanoseconds, one for each cloud
	// Source reads a cloud when Cloud is called.
	Source CloudSource
}

// CloudSource reads the clouds in a stream. Its methods may be called from any goroutine.
type CloudSource interface {
	ReadCloud(ctx context.Context, i int) (*Cloud, error)
}

// Len returns the number of clouds.
func (c *CloudStream) Len() int { return len(c.Times) }

// Cloud reads cloud i, which belongs to the caller. If there is no cloud i, the error is a *RangeError.
func (c *CloudStream) Cloud(ctx context.Context, i int) (*Cloud, error) {
	if err := CheckIndex(ctx, "cloud of "+c.Name, i, len(c.Times)); err != nil {
		return nil, err
	}
	return c.Source.ReadCloud(ctx, i)
}

// Stats returns the statistics of the clouds' clock.
func (c *CloudStream) Stats() Stats { return StatsOf(c.Times) }
