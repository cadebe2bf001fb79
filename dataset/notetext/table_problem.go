package notetext

import "github.com/robocache/robocache/dataset"

var problemTexts = map[dataset.Code]string{
	dataset.CodeFileMissing:      "is not there",
	dataset.CodeFilesMissing:     "{count} of {of} files are not there, the first is {names}",
	dataset.CodeUnreadable:       "cannot be read: {cause}",
	dataset.CodeFileUnlisted:     "is not listed[ in {want}], and not read",
	dataset.CodeFileDoubtful:     "{cause}",
	dataset.CodeFolderUnread:     "a folder of no format that has folders, with recordings in it that are not read: {names}",
	dataset.CodeRecordCount:      "got {count} records, want {of} as dataset_info.json says",
	dataset.CodeLabelCount:       "got {count} names, want {of} as features.json says",
	dataset.CodeSplitMissing:     "none of its files is there",
	dataset.CodeSplitNameMissing: "names \"{got}\", which is not there",
	dataset.CodeStepTotal:        "total says {want} steps, and its demonstrations have {got}",
	dataset.CodeNoLineEnd:        "the last line has no line's end: if the file was cut there, digits of its last number may be missing",
	dataset.CodeRecorderDropouts: "the recorder noted that it lost data {count time}",
}
