// Package rlds reads robot episodes in RLDS, the layout of TensorFlow Datasets with TFRecord files.
//
//	d, err := rlds.Open(ctx, "fractal20220817_data/0.1.0", rlds.Options{Rate: 3})
//	e, err := d.Episode(ctx, 0) // e.Stream("action"), e.MediaStream("observation/image")
//
// A dataset is the folder for one version: dataset_info.json, features.json and the shards of each split. One record is one
// episode. Its keys below "steps" become streams and media. Numbers [T,D] get the rest of the key as their name,
// "observation/state", and columns named by their indices. Images stay encoded, jpeg or png, and are read from the file when
// needed. A float32 image is a PNG with four channels, which hold the four bytes of each number; its encoding is "png-f32". A
// sequence inside the steps has a row for each of its values, at its step's time.
//
// A text that is equal in all steps is an attribute, and language_instruction is the task. A text that changes has a line for each
// change, for example "7: lift the cup" from step 7 on. Values in the record outside the steps are attributes too, by their full
// keys.
//
// The step flags are ordinary streams. RLDS gives no meaning to the action, reward and discount in the last step, which is_last
// marks. If is_terminal is false there, the episode was cut off instead of finished. The reader returns these values as they are.
// Many datasets fill in that last action anyway, so the user decides whether to keep it.
//
// A folder with several versions opens the newest, and Info.Attributes names the others. For a dataset with several builder
// configs, open the folder of one. Class label names are attributes of the dataset, one line each, by the names of their files.
// language_table stores instructions as numbers, one per byte: that text is the task, and the numbers are also a stream. Left out
// with a note: nested sequences inside the steps, texts in sequences, sequences outside the steps, several texts per step, shapes
// with several open dimensions, and images other than jpeg and png.
//
// Values are f32 if it holds the dtype, else f64. TFRecord stores float64 as float32, unless the feature is encoded. Inexact counts
// int64 values beyond 2^53.
//
// The files have no times. The rate comes from Options.Rate or from a table of well-known datasets. Without one, the clock counts
// steps of one second, and Episode.Steps is true.
//
// Broken data loses only itself. If a file ends early, its whole records are kept. If a length is broken, reading continues at the
// next record that is followed by another one; [Set.Damage] lists the losses. A record with a wrong checksum is an error for its
// episode. A feature that disagrees with the number of steps is left out with a note. Info lists missing files and splits, and
// counts that differ from dataset_info.json. Files that are compressed as a whole, by gzip or zlib, are read too, fastest in order;
// array_record and riegeli are not supported.
//
// Opening takes a small read per record, because no index has their positions. An episode takes memory in proportion to its record.
// In a compressed file it keeps the record while its images are in use. Only compressed tensors can expand beyond the file size, up
// to 2^27 numbers per feature.
package rlds
