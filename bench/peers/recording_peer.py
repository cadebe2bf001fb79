"""Times reading whole recordings into NumPy arrays from Python: by robocache.Recording, and by the library that users have for it.

    ROBOCACHE_BINARY=build/robocache PYTHONPATH=python python3 bench/peers/recording_peer.py demo.hdf5 a.npz flight.ulg ...

Each file is read with its pages cached, and all arrays are summed once, so that each is in memory. Of each reader the least wall time of
the rounds is printed, and the least time of all processors, which other work on the machine hardly changes. h5py reads what a robomimic
file has in data/; numpy.load all of an archive. A reader whose library is not installed is left out.
"""

import argparse
import os
import time

import numpy as np


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(size_of(os.path.join(path, name)) for name in os.listdir(path))


def robocache(path, rate):
    import robocache as rc

    with rc.Recording(path, rate=rate) as recording:
        for episode in recording:
            for stream in episode.streams.values():
                yield stream.values
                yield stream.times


def by_numpy(path, _):
    with np.load(path) as archive:
        for name in archive.files:
            yield archive[name]


def by_h5py(path, _):
    import h5py

    found = []
    with h5py.File(path) as file:
        for demo in file["data"].values():
            demo.visititems(lambda _, x: found.append(x[()]) if isinstance(x, h5py.Dataset) else None)
            yield from found
            found.clear()


def child_seconds():
    """The time of processors that the helper process has taken so far."""
    try:
        from robocache import _child

        with open("/proc/{}/stat".format(_child.shared().process_id)) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except ImportError:
        return 0.0


def measure(read, path, rate, rounds):
    wall, used, n = [], [], 0
    for _ in range(rounds):
        begin, cpu = time.perf_counter(), time.process_time() + child_seconds()
        n = 0
        for array in read(path, rate):
            n += array.nbytes
            array.sum()
        wall.append(time.perf_counter() - begin)
        used.append(time.process_time() + child_seconds() - cpu)
    return min(wall), min(used), n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rate", type=float, help="steps a second of recordings that do not say")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for path in args.paths:
        peers = {".npz": by_numpy, ".hdf5": by_h5py}
        readers = [robocache] + [peers[e] for e in [os.path.splitext(path)[1]] if e in peers]
        for read in readers:
            try:
                wall, used, n = measure(read, path, args.rate, args.rounds)
            except ImportError as e:
                print("{} {}: {}".format(path, read.__name__, e))
                continue
            mb = size_of(path) / 1e6
            print(
                "file={} reader={} file_mb={:.1f} arrays_mb={:.1f} wall_ms={:.1f} processors_ms={:.0f} file_mb_per_s={:.0f}".format(
                    os.path.basename(path), read.__name__, mb, n / 1e6, wall * 1e3, used * 1e3, mb / wall
                )
            )


if __name__ == "__main__":
    main()
