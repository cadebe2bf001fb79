// Package webdataset writes samples as tar files that WebDataset and its kin read.
//
// A sample is the members of one key, which lie one behind the other: "0000-000000017.action.npy", "0000-000000017.front.jpg". The key is a member's name
// up to the first dot; what follows is the name that the sample has it by. Readers take its letters as small ones.
//
// The same samples give the same bytes: members have no owner, mode 0444 and the time 0. Names that ustar has no room for are in headers of pax.
package webdataset
