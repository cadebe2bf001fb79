package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// made returns the three images of an invented family, with a cubin from ptxas of release 13.0, all intact.
func made() ([]Image, func(Image) bool) {
	images := []Image{
		{Family: "k", File: "k.sm_90.cubin", Kind: Cubin, SM: 90, ISA: 78, Hash: "c", PTXHash: "p90", Toolkit: 13000},
		{Family: "k", File: "k.sm_90.ptx", Kind: PTX, SM: 90, ISA: 78, Hash: "p90", PTXHash: "p90"},
		{Family: "k", File: "k.sm_80.ptx", Kind: PTX, SM: 80, ISA: 74, Hash: "p80", PTXHash: "p80"},
	}
	return images, func(Image) bool { return true }
}

func filesOf(c Choice) string {
	var names []string
	for _, k := range c.Candidates {
		names = append(names, strings.TrimPrefix(k.Image.File, "k."))
	}
	return strings.Join(names, " ")
}

func TestChooseTakesTheBestThatDeviceAndDriverAccept(t *testing.T) {
	const all = "sm_90.cubin sm_90.ptx sm_80.ptx"
	cases := []struct {
		name                 string
		major, minor, driver int
		force                string
		want                 string // the candidates in order, or nothing
	}{
		{"H200, CUDA 13", 9, 0, 13000, "", all},
		{"H200, newer CUDA 13", 9, 0, 13020, "", all},
		{"H200, CUDA 12: the cubin's ptxas is newer", 9, 0, 12080, "", "sm_90.ptx sm_80.ptx"},
		{"H100, CUDA 11.8, the oldest for version 7.8", 9, 0, 11080, "", "sm_90.ptx sm_80.ptx"},
		{"H100, CUDA 11.7", 9, 0, 11070, "", "sm_80.ptx"},
		{"Blackwell, CUDA 13", 10, 0, 13000, "", "sm_90.ptx sm_80.ptx"},
		{"RTX 50", 12, 0, 12080, "", "sm_90.ptx sm_80.ptx"},
		{"L4", 8, 9, 13000, "", "sm_80.ptx"},
		{"Orin", 8, 7, 11040, "", "sm_80.ptx"},
		{"A100, CUDA 11.4, the oldest for version 7.4", 8, 0, 11040, "", "sm_80.ptx"},
		{"A100, CUDA 11.3", 8, 0, 11030, "", ""},
		{"T4", 7, 5, 13000, "", ""},
		{"forced cubin", 9, 0, 13000, "cubin", "sm_90.cubin"},
		{"forced cubin on another device", 8, 9, 13000, "cubin", ""},
		{"forced cubin under an old driver", 9, 0, 12080, "cubin", ""},
		{"forced sm_90 PTX", 9, 0, 13000, "sm_90.ptx", "sm_90.ptx"},
		{"forced sm_90 PTX on an older device", 8, 0, 13000, "sm_90.ptx", ""},
		{"forced sm_80 PTX", 9, 0, 13000, "sm_80.ptx", "sm_80.ptx"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			images, intact := made()
			got, err := choose(images, intact, c.major, c.minor, c.driver, c.force)
			if c.want == "" {
				require.ErrorIs(t, err, ErrNoImage)
				var e *NoImageError
				require.ErrorAs(t, err, &e)
				assert.Len(t, e.Rejected, len(images))
				assert.Equal(t, []int{c.major, c.minor, c.driver}, []int{e.CCMajor, e.CCMinor, e.Driver})
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, filesOf(got))
			assert.Equal(t, got.Candidates[0], Candidate{got.Image, got.Reason})
			assert.Len(t, got.Rejected, len(images)-len(got.Candidates), "every image is taken or rejected")
			for _, k := range got.Candidates {
				assert.Contains(t, k.Reason, k.Image.File)
				assert.Equal(t, c.force != "", strings.Contains(k.Reason, "forced"))
			}
		})
	}
}

func TestStaleCubinIsNeverChosen(t *testing.T) {
	images, intact := made()
	images[0].PTXHash = "older"
	c, err := choose(images, intact, 9, 0, 13000, "")
	require.NoError(t, err)
	assert.Equal(t, "sm_90.ptx sm_80.ptx", filesOf(c))
	require.Len(t, c.Rejected, 1)
	assert.Contains(t, c.Rejected[0], "k.sm_90.cubin is stale")
	assert.Contains(t, c.Reason, "k.sm_90.ptx: PTX for compute capability 9.0")
	assert.Contains(t, c.Reason, "; k.sm_90.cubin is stale: it was not made from the PTX")

	// Where it would not have been taken in any case, that is what is said.
	c, err = choose(images, intact, 8, 0, 13000, "")
	require.NoError(t, err)
	assert.NotContains(t, c.Reason+c.Rejected[0], "stale")
	assert.Contains(t, c.Rejected[0], "k.sm_90.cubin needs compute capability 9.0 exactly")

	_, err = choose(images, intact, 9, 0, 13000, "cubin")
	require.ErrorIs(t, err, ErrNoImage)
	assert.ErrorContains(t, err, "k.sm_90.cubin is stale")

	// A manifest that agrees with itself does not help when the PTX itself has changed.
	images, _ = made()
	c, err = choose(images, func(im Image) bool { return im.Kind != PTX }, 9, 0, 13000, "")
	require.NoError(t, err)
	assert.Equal(t, "sm_90.ptx sm_80.ptx", filesOf(c))

	// Nor is a cubin good whose PTX is not there at all.
	c, err = choose([]Image{images[0], images[2]}, intact, 9, 0, 13000, "")
	require.NoError(t, err)
	assert.Equal(t, "sm_80.ptx", filesOf(c))
}

func TestFamilyWithoutCubinGivesItsPTX(t *testing.T) {
	images, intact := made()
	c, err := choose(images[1:], intact, 9, 0, 13000, "")
	require.NoError(t, err)
	assert.Equal(t, "sm_90.ptx sm_80.ptx", filesOf(c))
	assert.Empty(t, c.Rejected)
	_, err = choose(images[1:], intact, 9, 0, 13000, "cubin")
	require.ErrorIs(t, err, ErrNoImage)
}

func TestPTXOfUnknownVersionIsRejected(t *testing.T) {
	images, intact := made()
	images[1].ISA = 97
	c, err := choose(images[1:], intact, 9, 0, 13000, "")
	require.NoError(t, err)
	assert.Equal(t, "sm_80.ptx", filesOf(c))
	assert.Contains(t, c.Rejected[0], "9.7")
}

// The pairs are from the release notes table of NVIDIA's PTX ISA manual.
func TestEachPTXVersionNeedsTheDriverThatBroughtIt(t *testing.T) {
	for isa, want := range map[int]int{70: 11000, 74: 11040, 78: 11080, 80: 12000, 84: 12040, 85: 12050, 86: 12070, 87: 12080, 88: 12090, 90: 13000} {
		got, known := isaDriver(isa)
		assert.True(t, known, isa)
		assert.Equal(t, want, got, isa)
	}
	for _, isa := range []int{0, 65, 79, 89, 91} {
		_, known := isaDriver(isa)
		assert.False(t, known, isa)
	}
}

func TestChooseNamesWhatItDoesNotKnow(t *testing.T) {
	_, err := Choose("copy", 9, 0, 13000, "sm_70.ptx")
	require.ErrorIs(t, err, ErrBadForce)
	for _, valid := range []string{"sm_70.ptx", "cubin", "sm_90.ptx", "sm_80.ptx"} {
		assert.ErrorContains(t, err, valid)
	}
	_, err = Choose("nothing", 9, 0, 13000, "")
	require.ErrorIs(t, err, ErrUnknownFamily)
	assert.ErrorContains(t, err, "copy")
	_, err = Choose("copy", 7, 5, 13000, "")
	require.ErrorIs(t, err, ErrNoImage)
	assert.ErrorContains(t, err, "copy.sm_80.ptx needs compute capability 8.0, the device has 7.5")
	_, err = Choose("copy", 8, 0, 11030, "sm_80.ptx")
	assert.ErrorContains(t, err, "no sm_80.ptx image of copy for compute capability 8.0 and CUDA driver 11.3")
}
