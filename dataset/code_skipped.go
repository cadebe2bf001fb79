package dataset

// Codes of ClassSkipped: an episode that was not used. Subject is the name of the episode.
const ()

var skippedCodes = []Code{}
