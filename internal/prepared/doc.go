// Package prepared has the streams that a plan takes from a recording, before anything is computed. Package align prepares them, for
// loaders and statistics.
package prepared
