#!/usr/bin/env python3
"""Write pushes of PushT's T as Chipmunk computes them, and the initial states that numpy draws, into a folder.

    apt-get install python3-numpy libchipmunk7
    /usr/bin/python3 scripts/gen_pusht_golden.py examples/pusht/testdata [path of libchipmunk.so.7]

The scene is pusht_env.py of diffusion_policy, without pymunk. The pushes end near the T.
The first eight are sensitive to the order in which contacts are solved.
"""
import ctypes
import pathlib
import sys

import numpy as np

out = pathlib.Path(sys.argv[1])
lib = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libchipmunk.so.7")
REAL, POINTER = ctypes.c_double, ctypes.c_void_p


class Vect(ctypes.Structure):
    _fields_ = [("x", REAL), ("y", REAL)]


class Transform(ctypes.Structure):
    _fields_ = [(name, REAL) for name in ("a", "b", "c", "d", "tx", "ty")]


def call(name, result, *types):
    f = getattr(lib, name)
    f.restype, f.argtypes = result, types
    return f


new_space, ground = call("cpSpaceNew", POINTER), call("cpSpaceGetStaticBody", POINTER, POINTER)
add_shape, add_body = call("cpSpaceAddShape", POINTER, POINTER, POINTER), call("cpSpaceAddBody", POINTER, POINTER, POINTER)
damping, advance = call("cpSpaceSetDamping", None, POINTER, REAL), call("cpSpaceStep", None, POINTER, REAL)
segment, circle = call("cpSegmentShapeNew", POINTER, POINTER, Vect, Vect, REAL), call("cpCircleShapeNew", POINTER, POINTER, REAL, Vect)
poly = call("cpPolyShapeNew", POINTER, POINTER, ctypes.c_int, POINTER, Transform, REAL)
moment = call("cpMomentForPoly", REAL, REAL, ctypes.c_int, POINTER, Vect, REAL)
new_kinematic, new_body = call("cpBodyNewKinematic", POINTER), call("cpBodyNew", POINTER, REAL, REAL)
set_center, set_position = call("cpBodySetCenterOfGravity", None, POINTER, Vect), call("cpBodySetPosition", None, POINTER, Vect)
set_angle, set_velocity = call("cpBodySetAngle", None, POINTER, REAL), call("cpBodySetVelocity", None, POINTER, Vect)
position, velocity = call("cpBodyGetPosition", Vect, POINTER), call("cpBodyGetVelocity", Vect, POINTER)
angle = call("cpBodyGetAngle", REAL, POINTER)


def replay(start, actions):
    space = new_space()
    damping(space, 0)
    for ends in ((5, 506, 5, 5), (5, 5, 506, 5), (506, 5, 506, 506), (5, 506, 506, 506)):
        add_shape(space, segment(ground(space), Vect(*ends[:2]), Vect(*ends[2:]), 2))
    boxes = [(Vect * 4)((-60, 30), (60, 30), (60, 0), (-60, 0)), (Vect * 4)((-15, 30), (-15, 120), (15, 120), (15, 30))]
    agent, block = new_kinematic(), new_body(1, 2 * moment(1, 4, boxes[0], Vect(), 0))
    set_center(block, Vect(0, 45))
    set_position(agent, Vect(256, 400))
    set_position(block, Vect(256, 300))
    add_body(space, agent)
    add_shape(space, circle(agent, 15, Vect()))
    add_body(space, block)
    for box in boxes:
        add_shape(space, poly(block, 4, box, Transform(1, 0, 0, 1, 0, 0), 0))
    set_position(agent, Vect(*start[:2]))
    set_angle(block, start[4])
    set_position(block, Vect(*start[2:4]))
    advance(space, 0.01)
    for x, y in actions:
        for _ in range(10):
            p, v = position(agent), velocity(agent)
            set_velocity(agent, Vect(v.x + (100 * (x - p.x) - 20 * v.x) * 0.01, v.y + (100 * (y - p.y) - 20 * v.y) * 0.01))
            advance(space, 0.01)
        p, q = position(agent), position(block)
        yield p.x, p.y, q.x, q.y, angle(block)


rng = np.random.default_rng(1)
n, k = 10000, 10
low, high = np.array([50, 50, 100, 100, -np.pi]), np.array([450, 450, 400, 400, np.pi])
start = np.stack([rng.uniform(*ends, n) for ends in zip(low, high)], 1)
target = start[:, 2:4] + rng.normal(0, 60, (n, 2))
chosen = [191, 4837, 5128, 5474, 6044, 6550, 8490, 9317, *range(0, n, 300)]
start, actions = start[chosen], np.repeat(target[chosen, None], k, 1)
states = np.array([list(replay(*one)) for one in zip(start, actions)])
drawn = []
for seed in range(100000, 100500):
    r = np.random.RandomState(seed)
    drawn.append([r.randint(50, 450), r.randint(50, 450), r.randint(100, 400), r.randint(100, 400), r.randn() * 2 * np.pi - np.pi])
np.savez_compressed(out / "pushes.npz", start=start, actions=actions, states=states, drawn=np.array(drawn))
