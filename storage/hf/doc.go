// Package hf adds hf:// URLs to package storage, for datasets on the Hugging Face Hub. Importing it is enough:
//
//	import _ "github.com/robocache/robocache/storage/hf"
//
//	d, err := dataset.Open(ctx, "hf://datasets/lerobot/pusht", dataset.Options{})
//
// hf://datasets/ORG/NAME@REVISION/PATH is a file or folder of a dataset. REVISION is a branch, a tag, a commit or refs/pr/NUMBER, and main
// if it is left out. The first use of a revision finds its commit, and the process reads that commit until it ends, so a push in
// between changes nothing.
//
// A file up to 16 MiB is fetched as a whole and kept in the Hub's own cache, where Python's huggingface_hub finds it; a file in that cache
// is opened there, also if it was downloaded by Python. A larger file is read by ranges, as by package s3, and not kept. If the cache
// cannot be written, files are still read. A fetched file is compared with the hash that the Hub lists for it.
//
// The environment is read at each call, and means the same as for the Hub's own programs: HF_ENDPOINT is the address of another Hub, HF_TOKEN or the
// file HF_TOKEN_PATH has the token, HF_HUB_CACHE and HF_HOME are folders, and HF_HUB_OFFLINE=1 reads only the cache. The token is sent
// to no other host, for example not to the host with the content of a large file.
//
// Interrupted requests, and answers that the Hub is busy, are repeated a few times.
package hf
