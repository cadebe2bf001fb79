// Package convert converts recordings to datasets: it reads inputs of any format, puts each episode on one clock if there is a plan, and
// writes it in the format of a Target.
//
// An output is made in pieces: a file for each episode, or one file or folder for the episodes of a shard. A piece is there whole or not at
// all, and one that is whole is not made again: a conversion that was killed goes on where it was, and ends with the bytes of one that
// nobody disturbed. Every sample that was read is accounted for, and the account is balanced before a piece is given its name.
package convert
