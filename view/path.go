package view

import (
	"math"
	"net/http"
)

// mostPathPoints is the maximum number of points in one answer.
const mostPathPoints = 4000

// servePath sends up to mostPathPoints evenly spaced points on a path: {"t":[...],"x":[...],"y":[...],"z":[...]}.
func (s *Server) servePath(w http.ResponseWriter, r *http.Request, e *entry) error {
	i, err := e.stream(r.FormValue("stream"))
	if err != nil {
		return err
	}
	c := e.curves[i]
	if c == nil {
		send(w, jsonType, []byte(`{"t":[],"x":[],"y":[],"z":[]}`))
		return nil
	}
	columns, err := columnsOf(r, c.width)
	if err == nil && len(columns) != 3 {
		err = &badRequest{"columns", r.FormValue("columns"), "three"}
	}
	if err != nil {
		return err
	}
	values, err := c.values()
	if err != nil {
		return err
	}
	var times []int64
	var axes [3][]float64
	gaps, step := c.gaps, max(1, (len(c.times)+mostPathPoints-1)/mostPathPoints)
	for row := 0; row < len(c.times); row += step {
		broken := false
		for ; len(gaps) > 0 && gaps[0].To <= c.times[row]; gaps = gaps[1:] {
			broken = true
		}
		if broken {
			times = append(times, c.times[row])
			for k := range axes {
				axes[k] = append(axes[k], math.NaN())
			}
		}
		times = append(times, c.times[row])
		for k := range axes {
			axes[k] = append(axes[k], values.at(row, columns[k]))
		}
	}
	b := append(appendTimes([]byte(`{"t":`), e.start, times...), `,"x":`...)
	b = append(appendNumbers(b, axes[0]), `,"y":`...)
	b = append(appendNumbers(b, axes[1]), `,"z":`...)
	send(w, jsonType, append(appendNumbers(b, axes[2]), '}'))
	return nil
}
