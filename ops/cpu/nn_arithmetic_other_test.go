//go:build !amd64

package cpu

func sets() map[string]*arithmetic { return map[string]*arithmetic{"plain": &plain} }
