// Package records turns the scalar fields of point records, as files of points have them, into a [dataset.Cloud].
//
// A file's reader lists the fields of one record in file order; x, y and z become the points and the rest the features, in
// order. Sizes are bytes. Nothing here checks that the data is long enough: the reader does, before it makes a [Set].
package records
