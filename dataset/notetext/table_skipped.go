package notetext

import "github.com/robocache/robocache/dataset"

var skippedTexts = map[dataset.Code]string{
	dataset.CodeEpisodeUnread: "{cause}",
}
