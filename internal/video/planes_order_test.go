package video

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// shownRanks decodes planes, and returns the ranks with a picture and those without one.
func shownRanks(job *Job, ranks []int32) (with, without []int64, err error) {
	err = job.Planes(context.Background(), ranks, func(rank int64, p *Planes, err error) error {
		if err != nil {
			without = append(without, rank)
			return nil
		}
		with = append(with, rank)
		if p.Data[0][0] != byte(rank) {
			return errors.New("another picture")
		}
		return nil
	})
	return with, without, err
}

func TestPlanesComeAsTheDriverShowsThem(t *testing.T) {
	without(t, "")
	f := &fake{name: "one", at: -1, twice: true, missing: map[int]error{3: ErrDamaged, 7: nil}} // ranks 1 and 5
	with, lost, err := shownRanks(install(t, pyramid, f), []int32{1, 2, 4, 5, 6})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 4, 6}, with)
	assert.Equal(t, []int64{1, 5}, lost)
	assert.Equal(t, 1, f.closed)
}

func TestPlanesNameTheFrameOfAnError(t *testing.T) {
	without(t, "")
	job := install(t, pyramid, &fake{name: "one", at: 5, err: errors.New("broken")})
	_, _, err := shownRanks(job, all)
	broken, is := dataset.AsBroken(err)
	require.True(t, is, "%v", err)
	assert.ErrorContains(t, broken, "place 3") // the first without a picture
	// ffmpeg takes over where a driver refuses, and is missing.
	var missing *ProgramError
	job = install(t, pyramid, &fake{name: "one", at: 5, err: &Refusal{Driver: "one", Reason: Feature}})
	with, _, err := shownRanks(job, all)
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []int64{0, 1, 2}, with[:3])
	// It ends at the first picture that ffmpeg does not give.
	without(t, "exit 1")
	job = install(t, pyramid, &fake{name: "one", at: 5, err: &Refusal{Driver: "one", Reason: Feature}})
	_, _, err = shownRanks(job, all)
	assert.ErrorContains(t, err, "place 3")
}

func TestPlanesEndWithTheCallersError(t *testing.T) {
	f, enough, n := &fake{name: "one", at: -1}, errors.New("enough"), 0
	err := install(t, pyramid, f).Planes(context.Background(), all, func(int64, *Planes, error) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	assert.Equal(t, enough, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, 1, f.closed)
}
