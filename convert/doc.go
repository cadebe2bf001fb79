// Package convert converts recordings to datasets. It reads inputs in any format, puts each episode on one clock if there is a
// plan, and writes it in the format of a Target. Most programs need three calls:
//
//	c, err := convert.New(ctx, []string{"logs"}, "out", convert.NPZ(), convert.Options{})
//	defer c.Close()
//	report, err := c.Shard(ctx, 0) // writes out/*.npz and out/convert.json
//
// [LeRobot], [MCAP], [WebDataset], [RLDS], [Safetensors] and [NPZ] return the targets.
//
// An output consists of pieces: a file for each episode, or one file or folder for all episodes in a shard. A piece appears
// complete or not at all, and a complete piece is not made again. So a conversion that was killed continues where it stopped, and
// the result has the same bytes as an undisturbed one. Every sample that was read is accounted for, and the account must balance
// before a piece appears.
package convert
