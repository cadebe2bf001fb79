package dataset

// Codes of ClassRemark: choices and changes of values. Subject is the stream that is concerned.
const ()

var remarkCodes = []Code{}
