package main

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

const batchesHelp = `Batches draws training batches from a dataset: windows of its streams around an anchor, put on one
clock on the device, in an order that depends on the seed, the epoch and the number of windows
alone. The dataset is read once and kept on the device, or read meanwhile; a store that robocache
pack has made from it is read more quickly, and --check-fresh DATASET refuses one that was made from
other files than the dataset has now.

A plan file lists streams, windows and methods; without one --hz is the clock rate, that
of the dataset if it declares one, all streams are taken, and --window NAME=FROM:TO gives a stream a
window, such as action=0s:1s; others have the anchor alone. Streams called action or actions have a
second from the anchor on.

Where --backend names several devices, as cuda:all does, each draws batches of its own: one program
on a machine of 8 does as 8 with --world=8 do. --world counts the programs, each with as many devices.

--out DIR writes each batch as DIR/batch-0000000.safetensors, numbered by its step: of each stream
NAME.values [B,T,D], NAME.valid and NAME.pad [B,T], which are 1 where a value counts and where it
lies beyond the episode, and NAME.columns in the metadata; of a plan's points [B,T,K,3], and
with a grid NAME.grid [B,T,100,100,100]; episodes, ticks and anchors [B], the episode's number in
the dataset, the anchor's in the episode, and its time in nanoseconds, -1, -1 and 0 in a row without
a window; and of several datasets their numbers from 0, datasets [B], -1 in such a row. With several
ranks or devices each has a folder, DIR/rank-00001-of-00004. A folder with batches of another run is
refused.
--digest prints a line for each step: its number and a hash of each window, in the order of the
windows' positions, those of all devices of the program in one line.
A file statistics.json next to the batches has their normalisation: x = y / scale + shift.

--state FILE is read if it is there and written after each step: whoever starts the command again
goes on where it ended, with another --world or --batch too. With several ranks each writes a file
of its own, FILE-00001-of-00004, and all go on from the one that is furthest behind; a rank that
sees no other's file goes on from its own. A batch is done once its state is saved, which comes
after its line and its file: a program that is killed in between makes it again, under the same
number, and leaves none out. So of lines with the same number the later counts, and one of another
--world or --batch replaces all that have its number or more; a last line without an end is none.

` + streamingHelp + `

` + samplesHelp + `

` + mixingHelp + `

` + camerasHelp + `

A signal ends the command after a whole batch, and a second one at once. The exit code is 0 if
--state has the place to go on from, and 1 if not; --signal-code gives another, for a scheduler that
takes a program that ends with 0 as done.`

func (a *app) batchesCommand() *cobra.Command {
	b := asking{format: cli.ChoiceOf("FORMAT", batchesFormat, samplesFormat), tarBytes: 3e9}
	last := cli.SettingOf(&b.Last, "RULE", ops.LastDrop, ops.LastShort)
	values := dtypeFlag(&b.DType)
	cmd := &cobra.Command{
		Use:   "batches DATASET...",
		Short: "Draw training batches of windows from datasets",
		Long:  batchesHelp,
		Example: "  robocache batches demos/ --batch 32 --seed 7 --out batches/\n  robocache batches demos/ --plan plan.yaml --state run.json --metrics :9100\n" +
			"  robocache batches demos.hdf5 --rate 20 --hz 20 \\\n      --window obs/state=-1s:0s --window actions=0s:1s --digest\n" +
			"  robocache batches a.safetensors b.safetensors --weight 2 --weight 1 \\\n      --epoch-windows 100000",
		Args: takes(1, 0, "batches takes a dataset or several"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Paths, b.Spell, b.lastSet = args, spelling(cmd.Flags()), last.Given
			if err := a.ranked(&b.number, &b.world, cmd.Flags()); err != nil {
				return err
			}
			return a.batches(&b)
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.PlanFile, "plan", "", "the plan `FILE`; instead of --hz, --stream and --window")
	f.Var(cli.Hertz(&b.Hz), "hz", "rate of the windows' clock (default the dataset's)")
	f.StringArrayVar(&b.asked, "stream", nil, "a stream to take, or columns of it, all unless given: `NAME[COLUMN,...]`; repeatable")
	f.StringArrayVar(&b.spans, "window", nil, "`NAME=FROM:TO`, a stream's window around the anchor: action=0s:1s; or single times, state=at:-400ms,0s; repeatable")
	gapsFlag(f, &b.maxGap)
	f.Var((*cameras)(&b.Cameras), "camera", "a camera, the size of its frames, and changes to them: front=224x224,stored=320x240,crop=random; repeatable")
	nameFlag(cmd, (*string)(&b.FrameLevel), "frame-level", "", "where frames are kept: device, pinned or streaming; the first with room for all unless given", levels()...)
	f.Int64Var(&b.FrameMemory, "frame-memory", 0, "`BYTES` of memory for frames; 0 for half the free memory")
	nameFlag(cmd, &b.VideoBackend, "video-backend", "", "take the video frames that LeRobot's `BACKEND` takes: pyav or torchcodec", dataset.VideoBackends...)
	f.Var(&cli.PositiveFlag{To: &b.Tolerance, Max: 1e9, Unit: "SECONDS"}, "tolerance-s", "how far a frame may be from its row, with --video-backend; 1e-4 unless given")
	f.IntVar(&b.Batch, "batch", 32, "windows per batch on each device")
	f.Uint64Var(&b.Seed, "seed", 0, "seed for the window order")
	f.IntVar(&b.epochs, "epochs", 1, "how many epochs there are in all, those before --state too")
	f.IntVar(&b.steps, "steps", 0, "end after so many batches; 0 for all epochs")
	f.IntVar(&b.number, "rank", 0, "this program's number among --world (default from torchrun, srun, Open MPI or Kubernetes)")
	f.IntVar(&b.world, "world", 1, "how many programs share each epoch, each with as many devices (default from the rank's launcher, except Kubernetes)")
	choiceFlag(cmd, &last, "last", "the end of an epoch that fills no batch: drop, or short, with rows that hold no window (default short with --format webdataset)")
	choiceFlag(cmd, &values, "dtype", "dtype of the values, if the plan has none")
	f.StringVar(&b.state, "state", "", "read the place in the order from this `FILE` if it is there, and write it after each step")
	f.IntVar(&b.signalCode, "signal-code", 0, "the exit `CODE` after a signal, 0 to 125, for a scheduler that takes 0 as done (default 0 with --state, else 1)")
	f.BoolVar(&b.digest, "digest", false, "print a line for each step: its number, and a hash of each window")
	f.StringVarP(&b.out, "out", "o", "", "write each batch as a .safetensors file into this `DIR`")
	choiceFlag(cmd, &b.format, "format", "format for --out: safetensors, a file a batch, or webdataset, tar files with samples; safetensors unless given")
	f.IntVar(&b.tarSamples, "tar-samples", 10_000, "most samples in a tar file")
	f.Var(&cli.PositiveFlag{To: &b.tarBytes, Max: 1e15, Unit: "BYTES"}, "tar-bytes", "most bytes in a tar file's samples, with the pixels of their frames")
	f.BoolVar(&b.episodes, "list", false, "list the windows of each episode; --json always does")
	f.StringVar(&b.metrics, "metrics", "", "serve Prometheus metrics at this `ADDRESS`: :9100 for this machine alone, 0.0.0.0:9100 for others")
	f.StringVar(&b.Fresh, "check-fresh", "", "refuse a store that was packed from other files than this `DATASET` has now")
	nameFlag(cmd, &b.Shuffle, "shuffle", "", "the `ORDER` of an epoch: windows, all of them shuffled; shards, some at a time; or none; windows unless given", align.Shuffles...)
	unorderedFlag(cmd, &b.Unordered, "a stream if its timestamps step back or are no times: drop (default; the episode lacks it), sort, or error")
	f.Var((*weightsFlag)(&b.Weights), "weight", "how often windows of a dataset are drawn relative to the others; one for each, in their order")
	f.IntVar(&b.EpochWindows, "epoch-windows", 0, "windows per epoch, with --weight or --episode-weights; 0 for as many as there are")
	f.IntVar(&b.DropFirst, "drop-first", 0, "ticks at the begin of each episode that are no anchors, LeRobot's drop_n_first_frames")
	f.IntVar(&b.DropLast, "drop-last", 0, "ticks at the end of each episode that are no anchors, LeRobot's drop_n_last_frames")
	f.Var((*episodeWeights)(&b.EpisodeWeights), "episode-weights", "how often windows of episodes are drawn relative to those of others, which have 1: 3=2,7-9=0.5; repeatable")
	f.BoolVar(&b.Streaming, "streaming", false, "read the dataset while batches are drawn: for one that does not fit the device")
	f.IntVar(&b.Workers, "workers", 0, "goroutines that read; 0 for as many as there are processors")
	f.IntVar(&b.ShardWindows, "shard-windows", 0, "windows in a shard, for --order shards; 0 for 4096")
	f.IntVar(&b.MixShards, "mix-shards", 0, "shards that windows are taken from at a time, for --order shards; 0 for 16")
	datasetFlags(cmd, &b.Packing.Options)
	f.BoolVar(&b.Strict, "strict", false, "refuse broken data, and episodes that the plan cannot take")
	backendFlag(cmd, &b.backend, "auto", "where to compute: auto, cpu, cuda, cuda:N, sim, several with commas, or cuda:all")
	files(cmd, map[string]string{"plan": "yaml", "state": "json"})
	folders(cmd, "out", "check-fresh")
	completeFrom(cmd, (*dataset.Episode).Names, "", "stream")
	completeFrom(cmd, namesOfAll, "=", "window")
	completeFrom(cmd, (*dataset.Episode).MediaNames, "=", "camera")
	takesRecordings(cmd, 0)
	return cmd
}

func (a *app) batches(b *asking) error {
	if err := b.check(); err != nil {
		return err
	}
	if b.digest && (a.JSON || b.episodes) {
		return usagef("--digest: got it with --json or --list, want one of them")
	}
	devices, err := ops.OpenAll(b.backend)
	if err != nil {
		return err
	}
	err = a.batchesOn(b, devices)
	for _, d := range devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

// batchesOn draws the batches on devices that are open.
func (a *app) batchesOn(b *asking, devices []*ops.Device) (err error) {
	b.devices = len(devices)
	if err := b.outputs(); err != nil {
		return err
	}
	if err := a.locals(b.Paths); err != nil {
		return err
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	d := &drawing{app: a, asking: b, out: &batched{Input: b.Paths[0], Inputs: b.Paths, Output: b.out, noteList: newNotes()}}
	for _, dev := range devices {
		d.out.Devices = append(d.out.Devices, deviceOf(dev.Info()))
	}
	if b.metrics != "" {
		m, err := newMeter(b.metrics)
		if err != nil {
			return err
		}
		defer m.close()
		d.meter = m
		d.remark("metrics", "metrics at http://%s/metrics", m.at)
	}
	defer d.close()
	if err := d.begin(devices); err != nil {
		return err
	}
	if err := d.draw(); err != nil {
		return err
	}
	if err := d.drew(); err != nil {
		return err
	}
	if !d.out.Ended {
		return nil
	}
	cut := &cutError{When: fmt.Sprintf("after %d batches", d.step), Kept: b.state, Code: b.signalCode}
	if b.state != "" && b.signalCode == 0 {
		a.Remark("%v", cut)
		return nil
	}
	return cut
}

const mixingHelp = `Several datasets are drawn from as one; all must have the streams that are taken, with the same
columns. With a --weight for each an epoch draws windows from each in proportion to its weight, and of
one dataset none again before all of its windows have been drawn, over epochs. --episode-weights 3=2
draws the windows of episode 3 twice as often as the others.`

const camerasHelp = `--camera NAME=WIDTHxHEIGHT adds frames of a camera, or of a video, decoded and resized: NAME.frames
[B,T,HEIGHT,WIDTH,3] uint8, red, green and blue. A target has the frame at or before it, unless a
plan asks for method: nearest, and --window NAME=-100ms:0s gives a camera a window as a stream. Frames
are decoded in advance, with the decoders that robocache info lists, and each is kept once where there
is room (--frame-level): on the device, or in host memory. Settings after the size change them, as in
front=224x224,stored=320x240,crop=random,dtype=bf16; others are flip=0.5, brightness=0.2,
contrast=0.2, saturation=0.2, per-frame, layout=CHW, normalise=imagenet, and frames=yuv420: it keeps
a video's frames as 4:2:0, in half of the memory and with other colours, and the difference is
printed. --video-backend pyav or torchcodec takes the frames that LeRobotDataset takes with it. If a
row has no frame within --tolerance-s, its target is not valid, and counted.`

const streamingHelp = `--streaming reads the dataset while batches are drawn, and keeps but a small part of it on the device:
for datasets that are larger than the device's memory, or the machine's. It takes windows from
--mix-shards shards at a time, each --shard-windows windows that follow each other, in a shuffled
order; --workers goroutines read the shards that come next. A store that robocache pack has made is
read as fast as the disk gives it; recordings are decoded anew in each epoch, and without --plan and
--stream the streams are those of the first one. With the same two numbers the batches are the same
without --streaming. Each rank reads all shards.`

const samplesHelp = `--format webdataset writes the windows as samples instead, in tar files DIR/shard-000000.tar that
WebDataset reads, each of so many whole batches as --tar-samples and --tar-bytes allow. A sample is
KEY.STREAM.npy [T,D] of each stream, KEY.CAMERA.jpg of each camera, KEY.CAMERA.000.jpg and on if its
window has several targets, and KEY.json: dataset and episode, tick and anchor as above, epoch and
position, and pad and valid [T] by the members' names. Slashes in names become _. DIR/samples.json
describes the members. --state is written with each shard, and a signal with --state leaves out
the one that was begun, so that who goes on writes it again.`
