// Package ranks is how the processes of one machine that train together know each other: they join at a socket in the file system, tell each other
// what each has to say, and learn within moments that one of them has ended. Rank 0 is in the middle, the others talk to it alone.
//
// Nothing here knows of devices: what processes share on these is for package nn.
package ranks
