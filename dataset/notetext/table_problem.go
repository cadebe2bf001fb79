package notetext

import "github.com/robocache/robocache/dataset"

var problemTexts = map[dataset.Code]string{}
