// Package webdataset writes samples as tar files for WebDataset and compatible loaders.
//
//	w := webdataset.NewWriter(file)
//	err := w.Add("0000-000000017", webdataset.Member{Ext: "action.npy", Data: npy}, webdataset.Member{Ext: "front.jpg", Data: jpeg})
//	err = w.Close()
//
// A sample is a run of members with the same key: "0000-000000017.action.npy", "0000-000000017.front.jpg". The key is the member's
// name up to the first dot; the rest is the name of the field in the sample. Loaders convert it to lower case.
//
// Equal samples give equal bytes, because members have no owner, mode 0444 and time 0. Names that are too long for ustar use pax
// headers.
package webdataset
