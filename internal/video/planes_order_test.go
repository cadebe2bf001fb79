package video

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// shownRanks decodes planes, and returns the ranks with a picture and those without one.
func shownRanks(job *Job, ranks []int) (with, without []int64, err error) {
	err = job.Planes(context.Background(), ranks, "", func(rank int64, p *Planes, err error) error {
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
	with, lost, err := shownRanks(install(t, pyramid, f), []int{1, 2, 4, 5, 6})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 4, 6}, with)
	assert.Equal(t, []int64{1, 5}, lost)
	assert.Equal(t, 1, f.closed)
}

func TestPlanesNameTheFrameOfAnError(t *testing.T) {
	without(t, "")
	reasons := func(job *Job) (list []string) {
		require.NoError(t, job.Planes(context.Background(), all, "", func(rank int64, p *Planes, err error) error {
			if err != nil {
				require.ErrorIs(t, err, dataset.ErrCorrupt)
				require.ErrorContains(t, err, fmt.Sprint("place ", rank, ":"))
				broken, _ := dataset.AsBroken(err)
				list = append(list, broken.Err.Error())
			}
			return nil
		}))
		return list
	}
	lost := ErrUndecodable.Error()
	job := install(t, pyramid, &fake{name: "one", at: 5, err: errors.New("broken")})
	assert.Equal(t, []string{"broken", lost, lost, lost, lost, lost}, reasons(job)) // 3 to 8
	job = install(t, pyramid, &fake{name: "one", at: -1, missing: map[int]error{3: ErrDamaged, 7: nil}})
	assert.Equal(t, []string{ErrDamaged.Error(), ErrNoPicture.Error()}, reasons(job))
	// ffmpeg takes over where a driver refuses.
	without(t, "exit 3")
	job = install(t, pyramid, &fake{name: "one", at: 5, err: &Refusal{Driver: "one", Reason: Feature}})
	assert.Len(t, reasons(job), 6)
	var missing *ProgramError
	without(t, "")
	job = install(t, pyramid, &fake{name: "one", at: 5, err: &Refusal{Driver: "one", Reason: Feature}})
	with, lostRanks, err := shownRanks(job, all)
	require.ErrorAs(t, err, &missing, "an error of all frames ends the call")
	assert.Equal(t, []int64{0, 1, 2}, with)
	assert.Empty(t, lostRanks)
}

// A failure costs the pictures from the failed packet to the next one where decoding can begin, apart from those that were shown.
func TestPlanesGoOnAfterDamage(t *testing.T) {
	without(t, "")
	for at := range 27 {
		f := &fake{name: "one", at: at, err: errors.New("broken")}
		job, ranks := groups(t, f)
		with, lost, err := shownRanks(job, ranks)
		require.NoError(t, err)
		require.Len(t, slices.Concat(with, lost), len(ranks))
		for _, rank := range lost {
			require.True(t, int(rank) >= at-3 && job.packetOf(int(rank)) < (at/9+1)*9, "rank %d when packet %d is broken", rank, at)
		}
		failed := outcomes(t, job, ranks)
		for _, rank := range with {
			require.NotContains(t, failed, int(rank), "Decode has the picture, too")
		}
		require.Len(t, failed, len(lost))
	}
}

func TestPlanesEndWithTheCallersError(t *testing.T) {
	f, enough, n := &fake{name: "one", at: -1}, errors.New("enough"), 0
	err := install(t, pyramid, f).Planes(context.Background(), all, "", func(int64, *Planes, error) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	assert.Equal(t, enough, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, 1, f.closed)
}
