// Package ranged reads remote objects by ranges, for the stores of package storage.
package ranged
