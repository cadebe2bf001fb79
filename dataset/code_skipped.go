package dataset

// Codes of ClassSkipped: an episode that was not used. Subject is the name of the episode.
const (
	// CodeEpisodeUnread: an episode that cannot be read. Subject is its number, Cause the error. Example: a file that is cut.
	CodeEpisodeUnread = skipped + "episode-unread"
)
