// Package records makes a [dataset.Cloud] from the scalar fields of point records in files.
//
// A file's reader lists the fields of one record in file order; x, y and z become the points, and the rest become the features, in
// order. Sizes are bytes. A reader checks that the data is long enough before it makes a [Set], because this package does not.
package records
