// Package rlds reads datasets of robot episodes as TensorFlow Datasets writes them: RLDS, in files of TFRecord.
//
// A dataset is the folder of one version: dataset_info.json, features.json and the shards of each split. One record is one episode, and what it has
// below "steps" becomes streams: numbers [T,D] with the rest of the key as the name, "observation/state", and columns that are called by their
// indices; images as they were encoded, jpeg or png, read from the file when they are asked for. A float32 image is a PNG of four channels whose
// bytes are the number: its encoding is "png-f32". A sequence within the steps has a row for each of its values, at the time of its step. A text that
// all steps share is an attribute, and language_instruction the task; of one that changes the attribute has a line for each change, "7: lift the cup"
// from step 7 on. What the record says beside the steps are attributes too, by their whole keys.
//
// The flags of the steps are streams like others. RLDS gives no meaning to the action, the reward and the discount of the last step, which is_last
// marks; where is_terminal is false there, the episode was cut off and did not end. They are given as the file has them. Many datasets fill that action
// in all the same, so that it is the user's to keep it or leave it out.
//
// A folder of versions opens its newest, and Info.Attributes names the others; of several builder configs the folder of one is wanted. The names of
// class labels are attributes of the dataset, a line each, by the names of their files. language_table spells its instructions in numbers, one a byte:
// that is the task too, and a stream as all numbers are. Left out by name are sequences of several levels within the steps, texts in sequences,
// sequences beside the steps, values of several texts, shapes with several open dimensions, and images that are neither jpeg nor png.
//
// Values are f32 where that holds the dtype, else f64. TFRecord stores float64 as float32, unless the feature is encoded. Inexact counts int64 beyond
// 2^53.
//
// Files have no times. The rate comes from Options, or is that of a well-known dataset; else the step is the clock, one a second, and Episode.Steps
// says so.
//
// What is broken costs itself. Of a file that ends early the whole records are kept, and where a length is broken, reading goes on at the next record
// that another one follows; [Set.Notes] has what was lost. A record has a checksum: one that does not match is an error of that episode. A feature
// whose length does not go with the steps is left out, and in Episode.Notes. Info has files and splits that are not there, and counts that are not
// those of dataset_info.json. Files that are compressed as a whole, by gzip or zlib, are read too, in order at best; array_record and riegeli are
// refused.
//
// Opening takes a small read for each record, as nothing says where they lie. An episode takes memory in proportion to its record, and one of a
// compressed file keeps its record as long as its images are in use. Only numbers of compressed tensors can be more than the file has, up to 2^27 a
// feature.
package rlds
