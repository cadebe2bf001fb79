package cudadrv

import (
	"fmt"

	"github.com/robocache/robocache/internal/errs"
)

// Code is a driver result (CUresult). It is an error, so that errors.Is(err, ErrOutOfMemory) works.
type Code int32

// Codes that callers commonly compare with. Others can be written as Code(n).
const (
	Success                  Code = 0
	ErrInvalidValue          Code = 1
	ErrOutOfMemory           Code = 2
	ErrNotInitialized        Code = 3
	ErrDeinitialized         Code = 4
	ErrInvalidDevice         Code = 101
	ErrInvalidImage          Code = 200
	ErrInvalidContext        Code = 201
	ErrNoBinaryForGPU        Code = 209
	ErrECCUncorrectable      Code = 214
	ErrInvalidPTX            Code = 218
	ErrJITCompilerNotFound   Code = 221
	ErrUnsupportedPTXVersion Code = 222
	ErrContained             Code = 226
	ErrInvalidHandle         Code = 400
	ErrNotFound              Code = 500
	ErrNotReady              Code = 600
	ErrIllegalAddress        Code = 700
	ErrLaunchOutOfResources  Code = 701
	ErrLaunchTimeout         Code = 702
	ErrContextIsDestroyed    Code = 709
	ErrAssert                Code = 710
	ErrAlreadyRegistered     Code = 712
	ErrNotRegistered         Code = 713
	ErrHardwareStack         Code = 714
	ErrIllegalInstruction    Code = 715
	ErrMisalignedAddress     Code = 716
	ErrInvalidAddressSpace   Code = 717
	ErrInvalidPC             Code = 718
	ErrLaunchFailed          Code = 719
	ErrCooperativeTooLarge   Code = 720
	ErrNotPermitted          Code = 800
	ErrUnsupported           Code = 801
	ErrSystemNotReady        Code = 802
	ErrSystemDriverMismatch  Code = 803
	ErrCaptureUnsupported    Code = 900
	ErrCaptureInvalidated    Code = 901
	ErrCaptureUnjoined       Code = 904
	ErrCaptureImplicit       Code = 906
	ErrCaptureWrongThread    Code = 908
	ErrGraphUpdateFailure    Code = 910
	ErrInvalidClusterSize    Code = 912
	ErrUnknown               Code = 999

	// Codes that the package reports as other errors.
	codeStubLibrary Code = 34  // ErrDriverStub
	codeNoDevice    Code = 100 // ErrNoGPU

	codeMissing Code = -1      // ours: the driver lacks the function
	codeOfPush  Code = 1 << 20 // ours, added to a code: the call was not made, because cuCtxPushCurrent gave it
)

// Error returns a text with the number. An [Error] has the driver's own name and text.
func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int32(c)) }

// Kind returns the meaning that the code shares with errors in other packages of this module, for example out of memory. It is
// empty if there is none.
func (c Code) Kind() errs.Kind {
	switch c {
	case ErrOutOfMemory:
		return errs.OutOfMemory
	case ErrNotFound:
		return errs.NotFound
	case ErrUnsupported:
		return errs.Unsupported
	}
	return ""
}

// Is reports whether target is an error with the same meaning in another package of this module or in the standard library.
func (c Code) Is(target error) bool {
	k := c.Kind()
	return k != "" && (target == error(k) || k.Is(target))
}

// sticky reports whether the error leaves the context unusable: after it every call fails.
func (c Code) sticky() bool {
	switch c {
	case ErrIllegalAddress, ErrLaunchTimeout, ErrAssert, ErrContained:
		return true
	}
	return c >= ErrHardwareStack && c <= ErrLaunchFailed
}
