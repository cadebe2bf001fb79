package nvdec

import (
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudadrv/nvdec"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/picture"
)

const driver = "nvdec"

func refuse(reason video.Reason, err error) error {
	return &video.Refusal{Driver: driver, Reason: reason, Err: err}
}

// refusal returns a refusal for an error that another kind of decoder may not have. Other errors are the device's, not the stream's.
func refusal(err error) error {
	if unsupported := (*picture.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return refuse(video.Feature, err)
	}
	if invalid := (*picture.InvalidError)(nil); errors.As(err, &invalid) {
		return refuse(video.Invalid, err)
	}
	if limit := (*nvdec.LimitError)(nil); errors.As(err, &limit) {
		return refuse(video.Limits, err)
	}
	if session := (*nvdec.SessionError)(nil); errors.As(err, &session) {
		return refuse(video.NoSession, err)
	}
	if errors.Is(err, cudadrv.ErrInvalidValue) {
		return refuse(video.Limits, err) // an engine does not take a picture with 8160 slices
	}
	if err == nil {
		return nil
	}
	return &video.ProgramError{Err: err}
}
