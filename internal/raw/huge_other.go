//go:build !linux

package raw

func huge(uintptr, uintptr) {}
