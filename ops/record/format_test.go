package record_test

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops/record"
)

// some is a plan that has all that there is in one: it is made up.
func some() *record.Plan {
	percent, id := 100, 3
	return &record.Plan{Version: record.Version, Op: "some", Arguments: []record.Argument{{Name: "Dst", Bytes: 64, Written: true, Align: 8}, {Name: "Src"}},
		Images: []record.Image{{Family: "copy", File: "copy.sm_90.ptx", Hash: strings.Repeat("0a", 32), Bytes: 5}},
		Buffers: []record.Buffer{
			{Kind: record.Memory, Bytes: 100, Fill: &record.Fill{255, 100}, Init: &record.Span{0, 24}, Relocations: []record.Relocation{{0, 2, 100}, {16, 0, 5}}, ID: &id},
			{Kind: record.Fault, Bytes: 8}, {Kind: record.Flag, Bytes: 4}},
		Launches: []record.Launch{{Entry: "copy", Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{128, 1, 1}, Shared: 7, Carveout: &percent, Dependent: true,
			Params: []record.Param{{24, 4, 0}, {28, 20, 8}}, Relocations: []record.ParamRelocation{{1, 0, 3, 0}, {1, 8, 4, 0}}}},
		Counts: &record.Range{Buffer: 2, Offset: 8, Bytes: 80}, Payload: make([]byte, 48)}
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	p, err := record.Decode(some().Encode())
	require.NoError(t, err)
	assert.Equal(t, some(), p)
	assert.Equal(t, some().Header(), p.Header())
}

func TestAPlanThatIsCutAnywhereIsRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	whole := some().Encode()
	for n := range whole {
		_, err := record.Decode(whole[:n])
		var format *record.FormatError
		require.ErrorAs(t, err, &format, "%d of %d bytes", n, len(whole))
	}
	_, err := record.Decode(append(whole, 0))
	assert.ErrorContains(t, err, "bytes, and it says")
}

func TestAPlanOfAnotherVersionIsRefusedByName(t *testing.T) {
	p := some()
	p.Version = 7
	_, err := record.Decode(p.Encode())
	var version *record.VersionError
	require.ErrorAs(t, err, &version)
	assert.Equal(t, record.VersionError{Got: 7, Want: record.Version}, *version)
	assert.EqualError(t, err, "record: the exported plan is of version 7, and this program has version 1")
}

// What a plan refers to is there, and its numbers are ones that a device can have.
func TestWhatAPlanMayNotSayIsRefused(t *testing.T) {
	negative := -1
	for name, change := range map[string]func(p *record.Plan){
		"no op":                                 func(p *record.Plan) { p.Op = "" },
		"a long op":                             func(p *record.Plan) { p.Op = strings.Repeat("x", 1000) },
		"no list":                               func(p *record.Plan) { p.Images, p.Launches = nil, []record.Launch{} },
		"two arguments of a name":               func(p *record.Plan) { p.Arguments[1].Name = "Dst" },
		"a negative argument":                   func(p *record.Plan) { p.Arguments[0].Bytes = -1 },
		"a great argument":                      func(p *record.Plan) { p.Arguments[0].Bytes = 1 << 62 },
		"an alignment of 16":                    func(p *record.Plan) { p.Arguments[0].Align = 16 },
		"a hash that is none":                   func(p *record.Plan) { p.Images[0].Hash = strings.Repeat("x", 64) },
		"a short hash":                          func(p *record.Plan) { p.Images[0].Hash = "0a" },
		"an image without bytes":                func(p *record.Plan) { p.Images[0].Bytes = 0 },
		"a kind of buffer that is none":         func(p *record.Plan) { p.Buffers[0].Kind = "table" },
		"a buffer without bytes":                func(p *record.Plan) { p.Buffers[0].Bytes = 0 },
		"a fill beyond the end":                 func(p *record.Plan) { p.Buffers[0].Fill[1] = 101 },
		"a fill of 256":                         func(p *record.Plan) { p.Buffers[0].Fill[0] = 256 },
		"an init beyond the payload":            func(p *record.Plan) { p.Buffers[0].Init[1] = 1 << 40 },
		"an init that wraps around":             func(p *record.Plan) { p.Buffers[0].Init[0], p.Buffers[0].Init[1] = 1<<63-1, 24 },
		"an init that is elsewhere":             func(p *record.Plan) { p.Buffers[0].Init[0] = 8 },
		"a relocation without an init":          func(p *record.Plan) { p.Buffers[0].Init = nil },
		"a relocation beyond the end":           func(p *record.Plan) { p.Buffers[0].Relocations[1][0] = 24 },
		"a relocation at 4":                     func(p *record.Plan) { p.Buffers[0].Relocations[0][0] = 4 },
		"relocations in no order":               func(p *record.Plan) { p.Buffers[0].Relocations[0][0] = 16 },
		"a relocation of no buffer":             func(p *record.Plan) { p.Buffers[0].Relocations[0][1] = 5 },
		"a relocation of a negative buffer":     func(p *record.Plan) { p.Buffers[0].Relocations[0][1] = -1 },
		"a relocation beyond a buffer":          func(p *record.Plan) { p.Buffers[0].Relocations[0][2] = 101 },
		"a relocation before a buffer":          func(p *record.Plan) { p.Buffers[0].Relocations[0][2] = -1 },
		"a relocation of a word":                func(p *record.Plan) { p.Payload[3] = 1 },
		"a negative id":                         func(p *record.Plan) { p.Buffers[0].ID = &negative },
		"a fault of 4 bytes":                    func(p *record.Plan) { p.Buffers[1].Bytes = 4 },
		"a fault without a flag":                func(p *record.Plan) { p.Buffers[2].Kind, p.Launches[0].Relocations = record.Memory, nil },
		"a flag without a fault":                func(p *record.Plan) { p.Buffers[1].Kind = record.Memory },
		"a flag that is filled":                 func(p *record.Plan) { p.Buffers[2].Fill = &record.Fill{0, 4} },
		"an image that is not there":            func(p *record.Plan) { p.Launches[0].Image = 1 },
		"a negative image":                      func(p *record.Plan) { p.Launches[0].Image = -1 },
		"no entry":                              func(p *record.Plan) { p.Launches[0].Entry = "" },
		"no blocks":                             func(p *record.Plan) { p.Launches[0].Grid[1] = 0 },
		"too many blocks":                       func(p *record.Plan) { p.Launches[0].Grid[1] = 1 << 16 },
		"too many threads":                      func(p *record.Plan) { p.Launches[0].Block = [3]uint32{1024, 2, 1} },
		"too much shared memory":                func(p *record.Plan) { p.Launches[0].Shared = 1 << 31 },
		"more than all":                         func(p *record.Plan) { *p.Launches[0].Carveout = 101 },
		"a parameter beyond the payload":        func(p *record.Plan) { p.Launches[0].Params[1][1] = 21 },
		"a parameter without bytes":             func(p *record.Plan) { p.Launches[0].Params[0][1] = 0 },
		"a negative parameter":                  func(p *record.Plan) { p.Launches[0].Params[0][1] = -4 },
		"parameters in the same place":          func(p *record.Plan) { p.Launches[0].Params[1][2] = 3 },
		"a parameter far away":                  func(p *record.Plan) { p.Launches[0].Params[1][2] = 1 << 62 },
		"a relocation of no parameter":          func(p *record.Plan) { p.Launches[0].Relocations[1][0] = 2 },
		"a relocation of a negative parameter":  func(p *record.Plan) { p.Launches[0].Relocations[0][0] = -1 },
		"a relocation of a short parameter":     func(p *record.Plan) { p.Launches[0].Relocations[0][0] = 0 },
		"a relocation beyond a parameter":       func(p *record.Plan) { p.Launches[0].Relocations[1][1] = 16 },
		"a parameter's relocation of no buffer": func(p *record.Plan) { p.Launches[0].Relocations[1][2] = 9 },
		"counts of an argument":                 func(p *record.Plan) { p.Counts.Buffer = 0 },
		"counts beyond a buffer":                func(p *record.Plan) { p.Counts.Bytes = 93 },
		"counts that wrap around":               func(p *record.Plan) { p.Counts.Offset = 1<<63 - 1 },
		"a payload that is not used":            func(p *record.Plan) { p.Payload = append(p.Payload, 0) },
	} {
		p := some()
		change(p)
		_, err := record.Decode(p.Encode())
		var format *record.FormatError
		assert.ErrorAs(t, err, &format, name)
	}
}

// encoded is some plan with another header.
func encoded(header string) []byte {
	p := some()
	out := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32([]byte("RCEP"), uint32(len(header))), uint64(len(p.Payload)))
	return append(append(out, header...), p.Payload...)
}

func TestAHeaderIsReadToTheLetter(t *testing.T) {
	good := string(some().Header())
	_, err := record.Decode(encoded(good))
	require.NoError(t, err)
	for name, header := range map[string]string{
		"a field that is not known":     strings.Replace(good, `"op"`, `"more":1,"op"`, 1),
		"a field that comes twice":      strings.Replace(good, `"op"`, `"op":"other","op"`, 1),
		"a space":                       strings.Replace(good, `"op"`, ` "op"`, 1),
		"something behind it":           good + "{}",
		"a list that is too long":       strings.Replace(good, `[255,100]`, `[255,100,1]`, 1),
		"a list that is too short":      strings.Replace(good, `"grid":[2,1,1]`, `"grid":[2,1]`, 1),
		"a number beyond what there is": strings.Replace(good, `"bytes":64`, `"bytes":18446744073709551616`, 1),
		"a fraction":                    strings.Replace(good, `"bytes":64`, `"bytes":64.5`, 1),
		"a version that is text":        strings.Replace(good, `"version":1`, `"version":"1"`, 1),
		"no version":                    strings.Replace(good, `"version":1,`, ``, 1),
		"nothing":                       "",
	} {
		require.NotEqual(t, good, header, name)
		_, err := record.Decode(encoded(header))
		var format *record.FormatError
		assert.ErrorAs(t, err, &format, name)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(some().Encode())
	f.Add(encoded(`{"version":1,"op":"x","arguments":[],"images":[],"buffers":[],"launches":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := record.Decode(data)
		if err != nil {
			return
		}
		assert.Equal(t, data, p.Encode())
		var any map[string]any
		assert.NoError(t, json.Unmarshal(p.Header(), &any))
	})
}
