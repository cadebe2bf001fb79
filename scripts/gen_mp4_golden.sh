#!/usr/bin/env bash
# Writes small videos of many kinds, and what ffprobe says of their frames:
#
#     scripts/gen_mp4_golden.sh dataset/mp4/testdata
#
# It needs ffmpeg 5 or later with libx264, libx265, libsvtav1 and libvpx, and python3. golden.txt has a line for each frame that is shown, in the order
# of its time: the file, the time in ticks, ticks a second, the byte where it lies, its size, and K for a key frame.
set -euo pipefail
cd "$1"
run() { ffmpeg -nostdin -hide_banner -loglevel error -y "$@"; }
exact=(-bitexact -map_metadata -1)
source=(-f lavfi -i "testsrc2=size=64x64:rate=30:duration=0.8")

# B-frames, an edit list that takes off what they delay, moov behind the media.
run "${source[@]}" "${exact[@]}" -c:v libx264 -pix_fmt yuv420p -crf 45 -x264-params "bframes=3:b-adapt=0:keyint=8:scenecut=0:threads=1" h264_back.mp4
run -i h264_back.mp4 "${exact[@]}" -c copy -movflags +faststart h264_front.mp4
# Key frames from which the pictures before them in time, or the next ones, do not decode.
for gop in open-gop=1:b-pyramid=normal intra-refresh=1; do
	run "${source[@]}" "${exact[@]}" -c:v libx264 -pix_fmt yuv420p -crf 45 -x264-params "bframes=3:b-adapt=0:keyint=8:scenecut=0:threads=1:$gop" "h264_${gop%%=*}.mp4"
done
run "${source[@]}" "${exact[@]}" -c:v libx265 -pix_fmt yuv420p -crf 48 -tag:v hvc1 -x265-params "bframes=3:keyint=8:open-gop=1:log-level=none:info=0" hevc_open.mp4
SVT_LOG=1 run "${source[@]}" "${exact[@]}" -c:v libsvtav1 -pix_fmt yuv420p -g 2 -crf 50 av1.mp4
run "${source[@]}" "${exact[@]}" -c:v libvpx-vp9 -pix_fmt yuv420p -crf 55 -b:v 0 -g 8 vp9.mp4
run "${source[@]}" "${exact[@]}" -c:v mpeg4 -bf 2 -g 8 -q:v 28 mpeg4.mp4
# Sound before the picture, 29.97 frames a second.
run -f lavfi -i "sine=duration=0.4" -f lavfi -i "testsrc2=size=64x64:rate=30000/1001:duration=0.4" "${exact[@]}" -map 0 -map 1 -c:a aac -b:a 16k -c:v libx264 \
	-pix_fmt yuv420p -crf 45 sound.mov
# Joined, as LeRobot joins episodes.
printf 'file h264_back.mp4\nfile h264_back.mp4\nfile h264_back.mp4\n' >list.txt
run -f concat -i list.txt "${exact[@]}" -c copy joined.mp4
rm list.txt
# Begins after a key frame, so that frames before it are hidden; begins late; has no edit list; offsets below 0; fragments.
run -ss 0.3 -i h264_back.mp4 "${exact[@]}" -c copy cut.mp4
run -itsoffset 0.5 -i h264_back.mp4 "${exact[@]}" -c copy late.mp4
run -i h264_back.mp4 "${exact[@]}" -c copy -use_editlist 0 no_edit.mp4
run -ss 0.1 -i h264_back.mp4 -t 0.3 "${exact[@]}" -c copy -movflags +negative_cts_offsets negative.mp4
run -i h264_back.mp4 "${exact[@]}" -c copy -movflags +frag_keyframe+empty_moov fragmented.mp4
# More than 8 bits.
deep=(-f lavfi -i "testsrc2=size=64x64:rate=30:duration=0.1" "${exact[@]}")
run "${deep[@]}" -c:v libx264 -pix_fmt yuv420p10le -crf 45 -x264-params threads=1 deep_h264.mp4
run "${deep[@]}" -c:v libx265 -pix_fmt yuv420p12le -crf 48 -tag:v hvc1 -x265-params "log-level=none:info=0" deep_hevc.mp4
SVT_LOG=1 run "${deep[@]}" -c:v libsvtav1 -pix_fmt yuv420p10le -crf 50 deep_av1.mp4
run "${deep[@]}" -c:v libvpx-vp9 -pix_fmt yuv420p12le -crf 55 -b:v 0 deep_vp9.mp4
# The edit begins and ends inside a frame.
python3 - <<'PY'
import struct
data = bytearray(open("h264_back.mp4", "rb").read())
at = data.index(b"elst") + 12
duration, start = struct.unpack_from(">Ii", data, at)
struct.pack_into(">Ii", data, at, duration // 2 - 3, start + 700)
open("inside.mp4", "wb").write(data)
PY

for f in *.mp4 *.mov; do
	[ "$f" = fragmented.mp4 ] && continue
	base=$(ffprobe -v error -select_streams v:0 -show_entries stream=time_base -of csv=p=0 "$f" | tr -d ',')
	ffprobe -v error -select_streams v:0 -show_entries packet=pts,size,pos,flags -of default=nk=1:nw=1 "$f" | paste - - - - |
		awk -v f="$f" -v base="${base#1/}" '$4 !~ /D/ { print $1, f, base, $3, $2, ($4 ~ /K/ ? "K" : "-") }' | sort -n | awk '{ print $2, $1, $3, $4, $5, $6 }'
done >golden.txt
