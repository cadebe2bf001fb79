package dataset

// Codes of ClassLeftOut: data of a recording that no stream has. Subject is its name in the file, Count the number of its elements or samples.
const ()

var leftOutCodes = []Code{}
