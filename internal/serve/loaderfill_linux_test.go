package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
)

// filler does the Python package's work for the frames of a resident loader.
type filler struct {
	*replayed
	rooms   []byte
	release []int
	batches int64 // complete
	left    int
}

// cameras are two cameras of an ALOHA recording with 4 JPEG frames each.
var cameras = []fields{
	{"name": "observations/images/cam_high", "height": 6, "width": 8, "stored_height": 9, "stored_width": 12, "crop": "random", "flip": 0.5, "dtype": "bf16", "normalise": "imagenet", "layout": "CHW"},
	{"name": "observations/images/cam_left_wrist", "height": 5, "width": 7},
}

// frameRequest asks for batches with cameras of a recording, in which the first camera's second frame is damaged.
func frameRequest(t *testing.T, with fields) fields {
	data, err := os.ReadFile("../../dataset/aloha/testdata/jpeg.hdf5")
	require.NoError(t, err)
	mark := []byte{0xff, 0xd8, 0xff}
	at := bytes.Index(data, mark)
	at += 1 + bytes.Index(data[at+1:], mark)
	copy(data[at:], make([]byte, 16))
	path := filepath.Join(t.TempDir(), "episode_0.hdf5")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	all := fields{
		"paths": []string{path}, "rate": 1, "hz": 5, "batch": 3, "seed": 3, "cameras": cameras, "workers": 2,
		"windows": fields{"observations/images/cam_high": []float64{-1, 0}}, "frame_memory": 1 << 30,
	}
	maps.Copy(all, with)
	return all
}

// expected returns the same loader on the CPU.
func expected(t *testing.T, ask fields) *loader.Loader {
	text, err := json.Marshal(ask)
	require.NoError(t, err)
	var r batching.Request
	require.NoError(t, json.Unmarshal(text, &r))
	require.NoError(t, r.Check())
	s, err := batching.Open(context.Background(), &r, batching.Watch{})
	require.NoError(t, err)
	plan, err := s.Plan(context.Background())
	require.NoError(t, err)
	r.Apart = true
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	l, err := s.MakeOn(context.Background(), cpu, plan)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()); assert.NoError(t, s.Close()); assert.NoError(t, cpu.Close()) })
	return l
}

// openFiller asks for a loader's frames, and maps the rooms.
func openFiller(c *drawing, ask fields) *filler {
	f := &filler{}
	var reply struct{ Memory, Bytes int }
	file := c.good("filling", ask, &reply)
	require.Positive(c.t, reply.Bytes)
	var err error
	f.rooms, err = unix.Mmap(int(file.Fd()), 0, reply.Memory, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(c.t, err)
	require.NoError(c.t, file.Close())
	c.t.Cleanup(func() { assert.NoError(c.t, unix.Munmap(f.rooms)) })
	return f
}

// put writes to a buffer in the plan.
func (f *filler) put(to [2]int64, offset int64, data []byte) {
	address := cudadrv.DevicePtr(f.instance.Address(int(to[0])) + uint64(to[1]+offset))
	require.NoError(f.t, f.ctx.CopyToDevice(context.Background(), address, data))
}

// fill copies frames until a number of batches is complete.
func (f *filler) fill(batches int64, state *loader.State) {
	for more := true; more; more = f.batches < batches {
		ask := fields{"batches": batches, "release": f.release}
		if state != nil {
			ask["state"] = state
		}
		var reply fillReply
		f.good("fill", ask, &reply)
		f.batches, f.left, f.release, state = reply.Batches, reply.Left, nil, nil
		for _, g := range reply.Frames {
			at := f.reply.Stores[g.Camera]
			if g.Room >= 0 {
				f.put(at.Frames, g.Place, f.rooms[g.At:][:g.Bytes])
				f.release = append(f.release, g.Room)
			}
			for _, sample := range g.Bad {
				f.put(at.Places, 8*int64(sample), raw.Bytes([]int64{loader.NoPlace}))
			}
		}
	}
}

// isNext checks that the next batch is that of a loader on the CPU.
func (f *filler) isNext(t *testing.T, want *loader.Loader) {
	require.NoError(t, want.Next(context.Background()))
	b, err := want.Batch().Host(context.Background())
	require.NoError(t, err)
	got := f.next()
	for _, o := range outputs(b) {
		bytes, err := raw.Of(o.tensor)
		require.NoError(t, err)
		require.Equal(t, bytes, got[[2]string{o.Name, o.Part}], "%s.%s", o.Name, o.Part)
	}
}

// A resident loader with frames that the client copies gives the batches of a loader on the CPU, to the bit: while it is filled, after a
// move, with a damaged frame, and when all frames are there.
func TestAResidentLoaderIsFilled(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	gputest.Both(t, func(t *testing.T) {
		drv := gputest.Require(t)
		ask := frameRequest(t, nil)
		want := expected(t, ask)
		c := connected(t)
		f := openFiller(c, ask)
		f.replayed = replayedOn(c, drv, ask)
		assert.Equal(t, loader.FramesOnDevice, f.reply.Report.Cameras[0].Level)
		assert.Equal(t, "cpu", f.reply.Report.Decoder.Device)
		for i, at := range f.reply.Stores { // because Frames reads a little beyond a frame
			f.put(at.Frames, 0, make([]byte, f.reply.Report.Cameras[i].Bytes))
		}
		check := func() { f.isNext(t, want) }
		f.fill(1, nil)
		check()
		state := want.StateAt(1, 6)
		require.NoError(t, want.Resume(context.Background(), state))
		f.seek(1, 6)
		f.fill(1, &state)
		check()
		f.fill(2, nil)
		check()
		f.fill(math.MaxInt64, nil)
		assert.Zero(t, f.left)
		for range 2 * want.Report().Batches {
			check()
		}
		var now struct{ Report loader.Report }
		f.good("report", nil, &now)
		assert.Equal(t, []int{1, 0, 0}, []int{now.Report.Cameras[0].Bad, now.Report.Cameras[1].Bad, now.Report.Cameras[0].Left})
		assert.Equal(t, 8, now.Report.Cameras[0].Decoded+now.Report.Cameras[1].Decoded, "each once")
	})
}

// Frames of a video that are kept as yuv420 have rooms and places of their size.
func TestAResidentLoaderIsFilledWithYUV420(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	path := "../../../shared/data/lerobot_v3_g1"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	gputest.Both(t, func(t *testing.T) {
		drv := gputest.Require(t)
		ask := fields{
			"paths": []string{path}, "episodes": [][]int{{0}}, "batch": 8, "seed": 3, "workers": 1, "frame_memory": 1 << 30,
			"cameras": []fields{{"name": "observation.images.front", "height": 6, "width": 8, "frames": "yuv420"}},
		}
		want := expected(t, ask)
		c := connected(t)
		f := openFiller(c, ask)
		f.replayed = replayedOn(c, drv, ask)
		camera := f.reply.Report.Cameras[0]
		assert.EqualValues(t, camera.Wanted*6*8*3/2, camera.Bytes)
		f.put(f.reply.Stores[0].Frames, 0, make([]byte, camera.Bytes))
		f.fill(1, nil)
		f.isNext(t, want)
		f.fill(math.MaxInt64, nil)
		for range 4 {
			f.isNext(t, want)
		}
	})
}

// A client that makes the cameras' frames from the stored ones has the batches of a loader on the CPU, to the bit, at both levels, with a
// damaged frame, and after a move.
func TestAClientMakesFrames(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	gputest.Both(t, func(t *testing.T) {
		drv := gputest.Require(t)
		for _, level := range []loader.FrameLevel{loader.FramesPinned, loader.FramesStreaming} {
			ask := frameRequest(t, fields{"frame_level": level})
			want := expected(t, ask)
			ask["slots"], ask["unmade"] = 3, true
			c := connected(t).open(ask)
			assert.Equal(t, level, c.reply.Report.Cameras[0].Level)
			made := make([]*makes, len(cameras))
			for i := range made {
				made[i] = newMakes(c, drv, want.Batch().Cameras[i].Name)
			}
			var held []int
			check := func() {
				require.NoError(t, want.Next(context.Background()))
				b, err := want.Batch().Host(context.Background())
				require.NoError(t, err)
				n := c.next(held...)
				held = []int{n.Slot}
				got := map[[2]string][]byte{}
				for i, m := range made {
					got[[2]string{b.Cameras[i].Name, "frames"}], got[[2]string{b.Cameras[i].Name, "valid"}] = m.frames(n.Slot)
				}
				for _, o := range outputs(b) {
					bytes, err := raw.Of(o.tensor)
					require.NoError(t, err)
					have, isMade := got[[2]string{o.Name, o.Part}]
					if !isMade {
						have = c.array(n.Slot, o.Name, o.Part)
					}
					require.Equal(t, bytes, have, "%s.%s", o.Name, o.Part)
				}
			}
			for range 2*want.Report().Batches + 1 {
				check()
			}
			state := want.StateAt(1, 3)
			require.NoError(t, want.Resume(context.Background(), state))
			c.good("resume", fields{"state": state}, nil)
			check()
		}
		c := connected(t)
		assert.Equal(t, "RequestError", c.bad("camera", fields{"camera": "front"}).Class, "no target")
		assert.Equal(t, "OptionError", c.bad("loader", frameRequest(t, fields{"slots": 3, "unmade": true, "frame_level": "device"})).Class)
	})
}

// makes makes a camera's frames on a device.
type makes struct {
	*replayed
	camera string
	out    []*cudadrv.DeviceMem
	at     []uint64
}

func newMakes(c *drawing, drv *cudadrv.Driver, camera string) *makes {
	r, dev := onDevice(c, drv)
	m := &makes{replayed: r, camera: camera}
	ask := fields{"camera": camera, "target": r.target(dev)}
	a := c.client.good("camera", ask)
	text, err := json.Marshal(a.object["plan"])
	require.NoError(c.t, err)
	r.plan = &record.Plan{}
	require.NoError(c.t, json.Unmarshal(text, r.plan))
	r.plan.Payload = a.blob
	m.out, m.at = r.made()
	for i, p := range m.out {
		r.memory[i] = p
	}
	ask["camera"] = "none"
	assert.Equal(c.t, "RequestError", c.bad("camera", ask).Class)
	return m
}

// frames returns a camera's frames and masks from a slot.
func (m *makes) frames(slot int) (frames, valid []byte) {
	ctx := context.Background()
	for i, a := range m.plan.Arguments {
		if a.Name != "frames" {
			require.NoError(m.t, m.ctx.CopyToDevice(ctx, m.out[i].Ptr(), m.array(slot, m.camera, a.Name)))
		}
	}
	m.run(m.at)
	for i, a := range m.plan.Arguments {
		data := make([]byte, a.Bytes)
		switch a.Name {
		case "frames":
			frames = data
		case "valid":
			valid = data
		default:
			continue
		}
		require.NoError(m.t, m.ctx.CopyToHost(ctx, data, m.out[i].Ptr()))
	}
	return frames, valid
}

// The frames must fit the room, a room is released once, and a damaged frame is an error of a strict loader.
func TestFillingIsChecked(t *testing.T) {
	c := connected(t)
	assert.Equal(t, "RequestError", c.bad("fill", nil).Class)
	ask := frameRequest(t, nil)
	ask["frame_memory"] = 4*9*12*3 + 4*5*7*3 - 1
	small := c.bad("filling", ask)
	assert.Equal(t, "MemoryError", small.Class)
	assert.Contains(t, small.Message, fmt.Sprint(4*5*7*3))
	bare := asked(nil)
	delete(bare, "slots")
	assert.Equal(t, "OptionError", c.bad("filling", bare).Class, "no cameras")
	ask["frame_memory"] = 1 << 20
	ask["frames_on"] = "cuda:99"
	openFiller(c, ask)
	assert.Equal(t, "RequestError", c.bad("filling", ask).Class, "one loader a connection")
	assert.Equal(t, "RequestError", c.bad("fill", fields{"release": []int{0}}).Class)
	var now struct{ Report drawnReport }
	c.good("report", nil, &now)
	assert.Equal(t, "cpu", now.Report.Decoder.Device)
	assert.NotEmpty(t, now.Report.Decoder.Reason)

	d := connected(t)
	openFiller(d, frameRequest(t, fields{"strict": true}))
	for {
		a, err := d.try("fill", fields{"batches": 100}, nil)
		require.NoError(t, err)
		if class := a.error().Class; class != "" {
			assert.Equal(t, "FormatError", class, a.error().Message)
			break
		}
	}
}
