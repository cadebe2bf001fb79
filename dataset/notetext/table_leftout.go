package notetext

import "github.com/robocache/robocache/dataset"

var leftOutTexts = map[dataset.Code]string{}
