package dataset

// Codes of ClassProblem: a dataset declares something that is missing or different. Subject is the file, episode or stream that is wrong.
const ()

var problemCodes = []Code{}
