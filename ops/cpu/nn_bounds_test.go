//go:build linux || darwin

package cpu

import (
	"fmt"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// edges gives slices of n floats, of which one begins where memory that must not be touched ends, and the other ends where such memory begins.
func edges(t *testing.T, n int) [2][]float32 {
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[page+size:], syscall.PROT_NONE))
	at := func(offset int) []float32 {
		over, err := raw.Over(memory[offset:offset+4*n], nil, tensor.F32, n)
		require.NoError(t, err)
		list, err := tensor.Data[float32](over)
		require.NoError(t, err)
		return list
	}
	return [2][]float32{at(page), at(page + size - 4*n)}
}

// No function reads or writes beside its slices, which end where their last row does.
func TestArithmeticStaysWithinItsSlices(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	withEachArithmetic(t, func(t *testing.T) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		within := func(name string, do func(list func(n int) []float32)) {
			for side := range 2 {
				require.NotPanics(t, func() { do(func(n int) []float32 { return edges(t, n)[side] }) }, "%s, side %d", name, side)
			}
		}
		for _, n := range []int{16, 32, 48, 80, 144, 1040} {
			one := func(name string, do func(x, y, z, w, v []float32)) {
				within(fmt.Sprintf("%s of %d", name, n), func(list func(n int) []float32) { do(list(n), list(n), list(n), list(n), list(n)) })
			}
			one("add", func(x, y, _, _, _ []float32) { fast.add(x, y) })
			one("relu", func(x, _, _, _, _ []float32) { fast.relu(x) })
			one("gate", func(x, y, _, _, _ []float32) { fast.gate(x, y) })
			one("scale", func(x, _, _, _, _ []float32) { fast.scale(x, 2) })
			one("mul", func(x, y, _, _, _ []float32) { fast.mul(x, y) })
			one("dropout", func(x, _, _, _, _ []float32) { fast.dropout(x, 3, &dropoutNumbers{1, 2, 3, 4, 5}) })
			one("sum", func(x, _, _, _, _ []float32) { fast.sum(x) })
			one("squares", func(x, y, _, _, _ []float32) { fast.squares(x, y, 1) })
			one("norm", func(x, y, z, w, _ []float32) { fast.norm(x, y, z, w, 0, 1) })
			one("normParts", func(x, y, z, w, v []float32) { fast.normParts(x, y, z, w, v, 0, 1) })
			one("normSums", func(x, y, z, w, _ []float32) { fast.normSums(x, y, z, w, 0, 1) })
			one("normGrad", func(x, y, z, _, _ []float32) { fast.normGrad(x, y, z, 0, 1, 2, 3) })
			one("adamW", func(x, y, z, w, _ []float32) { fast.adamW(x, y, z, w, &adamWNumbers{1, 1, 1, 1, 1, 1, 1, 1}) })
			one("dot", func(x, y, _, _, _ []float32) { fast.dot(x, y) })
			one("max", func(x, _, _, _, _ []float32) { fast.max(x) })
			one("exp2", func(x, _, _, _, _ []float32) { fast.exp2(x, 1, 1) })
			one("softGrad", func(x, y, _, _, _ []float32) { fast.softGrad(x, y, 1, 1) })
		}
		for rows := 1; rows <= 35; rows++ {
			for _, ld := range []int{panel, 24, 37} {
				of := func(rows, columns int) int { return (rows-1)*ld + columns } // ends with the last row's columns
				name := fmt.Sprintf("%d rows, %d apart", rows, ld)
				within("addRows of "+name, func(list func(n int) []float32) { fast.addRows(list(panel), list(of(rows, panel)), ld, rows) })
				within("pack of "+name, func(list func(n int) []float32) { fast.pack(list(rows*panel), list(of(rows, panel)), ld, rows) })
				for _, k := range []int{4, 16, 20} {
					within("transpose of "+name, func(list func(n int) []float32) { fast.transpose(list(panel*k), list(15*max(ld, k)+k), max(ld, k), k) })
				}
				for _, k := range []int{1, 7, 16} {
					for _, add := range []bool{false, true} {
						within("product of "+name, func(list func(n int) []float32) {
							fast.product(list(of(rows, panel)), ld, list((rows-1)*k+k), k, 1, list(of(k, panel)), ld, k, rows, add)
							fast.product(list(of(rows, panel)), ld, list((k-1)*rows+rows), 1, rows, list(of(k, panel)), ld, k, rows, add)
						})
					}
				}
			}
		}
	})
}
