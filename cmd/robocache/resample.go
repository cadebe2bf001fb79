package main

import "github.com/spf13/cobra"

const resampleHelp = `Resample puts the streams of a recording on one clock.

IN is a recording, or a dataset with --episode: a file or folder of any format
that robocache inspect reads, a numpy archive (.npz), or a pipe of one file; - is standard input.

From a recording it takes every stream with at least two distinct timestamps, or those
named with --stream, and --hz makes the clock over the time that they have in common. Floats
are interpolated linearly, quaternions by slerp: those in a log (q[0] to q[3], q_d, q_offset and
delta_q_reset, in PX4's order wxyz), in a TUM trajectory, and in tables with columns
called so (qx to qw); --method and --stream NAME:method change that. Whole numbers keep their
previous value, unless NAME:method is for a stream with nothing else. In a stream named with
:slerp, :rotvec or :rot6d, arrays of four, three or six floats are rotations and other floats
are linear; with :hermite, the first half of its columns are values, the second their
velocities. Images and videos are not taken. OUT.npz holds NAME.values [T,D], NAME.valid [T],
NAME.age [T] and NAME.columns of each stream, and the one times [T]; OUT.safetensors the same,
the columns as JSON in its metadata. OUT.mcap holds a topic NAME and a topic NAME.valid of each
stream, with a message for each timestamp, encoded as --encoding.

An archive of streams has NAME.values [S,D], [S] or records [S], and NAME.times [S], of each, or
one array times or timestamp for all; or records NAME [S] with a field that is their clock. An
archive with an array values is taken as one recording or a batch: values [B,S,D], [S,D], or
[B,S] or [S] of one feature, times [B,S] or [S], targets [B,T] or [T]
unless --hz makes a clock over the time that all rows share, and lengths [B] if there are any;
whole numbers keep their previous value unless --method is given. OUT.npz holds values, valid, age
and times then. Times are int64 nanoseconds, datetime64, or float64 or float32 seconds.

A broken file gives its whole parts, and losses are printed; --strict refuses it. A stream with
timestamps that step back is left out, with a note; --unordered sort takes its samples in order.

The methods window-mean, -min, -max and -last reduce the samples of the last --window before
a timestamp of the clock, its own time included, so that none between two timestamps is lost.

A timestamp within --snap of a sample, a microsecond unless given, counts as on it: so recorded
times that were rounded are still those of a clock of their rate, and frame i of a camera is
row i. The clock of --hz ends with the last tick that is no more than that after the range.

valid is 1 where a timestamp lies in the recorded range, in no gap longer than --max-gap,
within --tolerance of the sample used, and has no empty window; with --edge hold after the
range, too. age is the timestamp less that of the sample at or before it, or that it is on.

Values that --dtype cannot hold are counted for each stream, in the output and under --json: integers
and doubles that are rounded, and finite numbers that become infinite.`

const resampleExample = `  robocache resample flight.ulg -o flight.npz --hz 50 --plot flight.png
  robocache resample flight.ulg -o out.npz --hz 100 \
      --stream vehicle_attitude --stream sensor_combined:pchip --max-gap 50ms
  robocache resample episode.npz -o aligned.npz --method nearest \
      --tolerance 20ms
  robocache resample flight.ulg -o out.npz --hz 20 --method window-mean \
      --window 50ms
  robocache resample batch.npz -o batch50.npz --hz 50 --edge fill \
      --fill -7.5 --dtype bf16`

func (a *app) resampleCommand() *cobra.Command {
	r := newRequest("Resample")
	cmd := &cobra.Command{
		Use:     "resample IN -o OUT.npz",
		Short:   "Put the streams of a recording on one clock",
		Long:    resampleHelp,
		Example: resampleExample,
	}
	cmd.Flags().StringArrayVar(&r.streams, "stream", nil, streamFlag)
	cmd.Flags().Var(&r.fill, "fill", "value written by --edge fill, --edge hold before the first sample, and --fill-gaps (default nan)")
	choiceFlag(cmd, &r.dtype, "dtype", "dtype of the values written: f32, f64, f16 or bf16 (default the input's; bf16 is stored as uint16)")
	r.finish(cmd, func() error { return a.put(r, loadNPZ) })
	return cmd
}
