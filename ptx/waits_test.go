package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWaitsIsOfTheEntryAlone(t *testing.T) {
	text := []byte(".visible .entry first(\n\t.param .u32 a\n)\n{\n\tgriddepcontrol.launch_dependents;\n\tret;\n\n}\n\n" +
		".visible .entry second()\n{\n\t// begin inline asm\n\tgriddepcontrol.wait;\n\t// end inline asm\n\tret;\n\n}\n.visible .entry second_more()\n{\n\tret;\n\n}\n")
	for entry, want := range map[string]bool{"first": false, "second": true, "second_more": false, "seco": false, "cond": false, "third": false} {
		assert.Equal(t, want, waits(text, entry), entry)
	}
	assert.False(t, Image{Family: "resample", Kind: Cubin, PTXHash: "of other PTX"}.Waits("resample"))
}

// Dependent launch came with sm_90: an older image that held the instruction would not load. Machine code is as its PTX.
func TestWaitsIsToldOfEveryImage(t *testing.T) {
	eachImage(t, func(t *testing.T, im Image) {
		for _, e := range im.Entries {
			switch {
			case im.Kind == PTX:
				f := strings.Contains(string(im.Data()), "griddepcontrol.wait;")
				assert.True(t, f || !im.Waits(e.Name), e.Name)
				assert.False(t, im.SM < 90 && f, "griddepcontrol below sm_90")
			default:
				for _, p := range Images(im.Family) {
					if p.Kind == PTX && p.Hash == im.PTXHash {
						require.Equal(t, p.Waits(e.Name), im.Waits(e.Name), e.Name)
					}
				}
			}
		}
	})
}
