package ptx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors from [Choose], for errors.Is.
var (
	ErrUnknownFamily = errors.New("ptx: no such kernel family")
	ErrBadForce      = errors.New("ptx: no such kind of image")
	ErrNoImage       = errors.New("ptx: no image for this device and driver")
)

// UnknownFamilyError has the kind ErrUnknownFamily. Known lists the families.
type UnknownFamilyError struct {
	Family string
	Known  []string
}

func (e *UnknownFamilyError) Error() string {
	return fmt.Sprintf("ptx: no kernel family %q; there are %s", e.Family, strings.Join(e.Known, ", "))
}

// Unwrap returns ErrUnknownFamily.
func (e *UnknownFamilyError) Unwrap() error { return ErrUnknownFamily }

// ForceError has the kind ErrBadForce. Valid lists the accepted values.
type ForceError struct {
	Got   string
	Valid []string
}

func (e *ForceError) Error() string {
	return fmt.Sprintf("ptx: no kind of image %q; use one of %s, or leave it empty", e.Got, strings.Join(e.Valid, ", "))
}

// Unwrap returns ErrBadForce.
func (e *ForceError) Unwrap() error { return ErrBadForce }

// NoImageError has the kind ErrNoImage. Rejected lists the images, each with the reason why it cannot be loaded.
type NoImageError struct {
	Family           string
	CCMajor, CCMinor int
	Driver           int // as cuDriverGetVersion returns it, 12040 for 12.4
	Force            string
	Rejected         []string
}

func (e *NoImageError) Error() string {
	what := "image"
	if e.Force != "" {
		what = e.Force + " image"
	}
	msg := fmt.Sprintf("ptx: no %s of %s for compute capability %d.%d and CUDA driver %s", what, e.Family, e.CCMajor, e.CCMinor, release(e.Driver))
	if len(e.Rejected) > 0 {
		msg += ": " + strings.Join(e.Rejected, "; ")
	}
	return msg
}

// Unwrap returns ErrNoImage.
func (e *NoImageError) Unwrap() error { return ErrNoImage }

// Candidate is an image that should load, with the reason for its selection.
type Candidate struct {
	Image  Image
	Reason string
}

// Choice is the result of [Choose].
type Choice struct {
	Image      Image
	Reason     string      // the reason for Image
	Candidates []Candidate // Image first, then the images to try if the driver refuses it, in order
	Rejected   []string    // the other images, each with the reason for its rejection
}

// Forces returns the values that Choose accepts as force, besides "".
func Forces() []string { return []string{"cubin", "sm_90.ptx", "sm_80.ptx"} }

// Choose selects the best image in a family for a device with compute capability ccMajor.ccMinor. driverVersion is the
// driver's version as cuDriverGetVersion returns it (12040 for 12.4). A cubin needs exactly its own architecture, and a
// driver whose major release is not older than the ptxas that made it. PTX needs its own architecture or a newer one,
// and a driver that supports its ISA version. If a cubin was not made from the PTX that is shipped with it, it is stale
// and never selected; the selected image's Reason then mentions it.
//
// If force is not empty, it must be one of [Forces], and only that image is considered. The errors are
// *UnknownFamilyError, *ForceError, and *NoImageError if no image fits. Example: Choose("resample", 9, 0, 13000, "")
// selects the cubin for an H100.
func Choose(family string, ccMajor, ccMinor, driverVersion int, force string) (Choice, error) {
	if force != "" && !slices.Contains(Forces(), force) {
		return Choice{}, &ForceError{Got: force, Valid: Forces()}
	}
	images := Images(family)
	if images == nil {
		return Choice{}, &UnknownFamilyError{Family: family, Known: Families()}
	}
	return choose(images, intact, ccMajor, ccMinor, driverVersion, force)
}

// choose is Choose for a list of images in one family, the best first. intact reports whether an image's file equals the manifest's
// entry.
func choose(images []Image, intact func(Image) bool, ccMajor, ccMinor, driver int, force string) (Choice, error) {
	var c Choice
	var outdated string // a better image that is stale
	for _, im := range images {
		why := refuse(im, ccMajor, ccMinor, driver, force)
		if why == "" && im.Kind == Cubin && stale(im, images, intact) {
			why = "is stale: it was not made from the PTX that is shipped with it"
			outdated += "; " + im.File + " " + why
		}
		if why != "" {
			c.Rejected = append(c.Rejected, im.File+" "+why)
			continue
		}
		reason := fmt.Sprintf("%s: PTX for compute capability %d.%d and newer, compiled by the driver on its first load", im.File, im.SM/10, im.SM%10)
		if im.Kind == Cubin {
			reason = fmt.Sprintf("%s: machine code for compute capability %d.%d", im.File, im.SM/10, im.SM%10)
		}
		if force != "" {
			reason += ", forced"
		}
		c.Candidates = append(c.Candidates, Candidate{im, reason + outdated})
	}
	if len(c.Candidates) == 0 {
		e := &NoImageError{CCMajor: ccMajor, CCMinor: ccMinor, Driver: driver, Force: force, Rejected: c.Rejected}
		if len(images) > 0 {
			e.Family = images[0].Family
		}
		return Choice{}, e
	}
	c.Image, c.Reason = c.Candidates[0].Image, c.Candidates[0].Reason
	return c, nil
}

// refuse returns the reason why an image does not fit the device, the driver or force, or "" if it fits.
func refuse(im Image, ccMajor, ccMinor, driver int, force string) string {
	sm := 10*ccMajor + ccMinor
	if force != "" && force != im.Force() {
		return "is not the image that was forced"
	}
	if im.Kind == Cubin {
		switch need := im.Toolkit / 1000 * 1000; {
		case sm != im.SM:
			return fmt.Sprintf("needs compute capability %d.%d exactly, the device has %d.%d", im.SM/10, im.SM%10, ccMajor, ccMinor)
		case driver < need:
			return fmt.Sprintf("needs a CUDA %s driver, this one is %s", release(need), release(driver))
		}
		return ""
	}
	need, known := isaDriver(im.ISA)
	switch {
	case sm < im.SM:
		return fmt.Sprintf("needs compute capability %d.%d, the device has %d.%d", im.SM/10, im.SM%10, ccMajor, ccMinor)
	case !known:
		return fmt.Sprintf("has PTX version %d.%d, of unknown age", im.ISA/10, im.ISA%10)
	case driver < need:
		return fmt.Sprintf("has PTX version %d.%d, which needs a CUDA %s driver, this one is %s", im.ISA/10, im.ISA%10, release(need), release(driver))
	}
	return ""
}

// stale reports whether a cubin was compiled from other PTX than the shipped one for its architecture.
func stale(im Image, images []Image, intact func(Image) bool) bool {
	for _, p := range images {
		if p.Kind == PTX && p.SM == im.SM {
			return im.PTXHash != p.Hash || !intact(p)
		}
	}
	return true
}

// Force returns the value for Choose's force that selects images like im, for example "sm_90.ptx".
func (im Image) Force() string {
	if im.Kind == Cubin {
		return "cubin"
	}
	return fmt.Sprintf("sm_%d.ptx", im.SM)
}

// isaDriver returns the oldest driver version that accepts a PTX version. known is false for an unknown PTX version. Source: the
// release notes table in NVIDIA's PTX ISA manual.
func isaDriver(isa int) (driver int, known bool) {
	switch {
	case isa >= 70 && isa <= 78: // 7.0 came with CUDA 11.0, 7.8 with 11.8
		return 11000 + (isa-70)*10, true
	case isa >= 80 && isa <= 85: // 8.0 with 12.0, 8.5 with 12.5
		return 12000 + (isa-80)*10, true
	case isa >= 86 && isa <= 88: // 8.6 with 12.7, 8.8 with 12.9
		return 12010 + (isa-80)*10, true
	case isa == 90:
		return 13000, true
	}
	return 0, false
}

// release formats a version of a driver or toolkit: 12040 gives 12.4.
func release(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
