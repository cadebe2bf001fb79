//go:build !linux || !(amd64 || arm64)

package dav1d

import "github.com/robocache/robocache/internal/video"

func load() (*library, error) { return nil, &video.Refusal{Driver: driver, Reason: video.NoLibrary} }
