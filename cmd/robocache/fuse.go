package main

import "github.com/spf13/cobra"

const fuseHelp = `Fuse puts up to 16 streams on one clock, side by side in one array, in one launch.

IN is a recording, or a dataset with --episode: a file or folder of any format
that robocache inspect reads, a numpy archive (.npz), or a pipe of one file; - is standard input.

An archive (.npz, .safetensors) holds NAME.values [S,D], [S] or records
[S], and NAME.times [S] of each stream: int64 nanoseconds, datetime64, or float64 or float32
seconds, the same in all. Records NAME [S] with one field that is called timestamp, timestamps,
time, times, t or stamp are a stream by themselves, on that clock. The clock of the output is the
array targets [T] of the archive, or that of --hz over the time that the streams share.

--stream names the streams, in the order of their columns; without it all are taken in file
order, if they are no more than 16. NAME:method gives one a method of its own, NAME:method:max-gap or
NAME::max-gap a limit too, NAME[x,y] some of its columns.
Integers keep their previous value, unless a stream of nothing else is given a method of its own.
Quaternions go by slerp, as in resample.

OUT.npz holds values [T,D of all streams], valid [T,M] and age [T,M] of the M streams, times [T],
streams [M], and columns, which are named STREAM.column; OUT.safetensors the same, the two lists of
names as JSON in its metadata; OUT.mcap topics fused and fused.valid, with a message for each
timestamp. The value that --edge fill and --fill-gaps write
is 0 unless --fill is set: valid marks a recorded 0. A stream without samples is
filled and not valid. Values that --dtype cannot hold are counted for each stream, in the output and
under --json: integers and doubles that are rounded, and finite numbers that become infinite.`

const fuseExample = `  robocache fuse flight.ulg -o state.npz --hz 50 --stream sensor_combined \
      --stream vehicle_attitude --stream airspeed::50ms
  robocache fuse episode.npz -o episode50.npz --hz 50 \
      --stream image:previous --stream joints --edge fill --plot episode.png`

func (a *app) fuseCommand() *cobra.Command {
	r := newRequest("Fuse")
	cmd := &cobra.Command{
		Use:     "fuse IN -o OUT.npz",
		Short:   "Put streams on one clock, side by side, with a mask for each",
		Long:    fuseHelp,
		Example: fuseExample,
	}
	cmd.Flags().StringArrayVar(&r.streams, "stream", nil, streamFlag+", in the order of the columns")
	cmd.Flags().Var(&r.fill, "fill", "value written by --edge fill, --edge hold before the first sample, --fill-gaps, and for a stream without samples (default 0)")
	choiceFlag(cmd, &r.dtype, "dtype", "dtype of the values written: f32, f64, f16 or bf16 (default f64 if any stream is, else f32; bf16 is stored as uint16)")
	r.finish(cmd, func() error { return a.put(r, loadStreams) })
	return cmd
}
