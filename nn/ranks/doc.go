// Package ranks connects the processes on one machine that train together. A rank is one process, numbered from 0.
//
//	g, err := ranks.Join(ctx, "/tmp/train.sock", rank, count) // blocks until all have joined
//	defer g.Leave(nil)
//	all, err := g.Exchange(ctx, "hello", []byte("data"))      // one element from each rank
//
// The processes join at a socket in the file system and exchange bytes. If one of them ends, the others notice within moments.
// Rank 0 is the centre: each other rank has one connection, to rank 0.
//
// This package does not use devices. Package nn shares device memory between the processes.
package ranks
