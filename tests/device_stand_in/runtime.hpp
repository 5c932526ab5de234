// What a compiled kernel and the stand-in for the driver share: where a thread is, and how it waits for its block.
#pragma once

namespace stand_in {

struct Position {
    unsigned x, y, z;
};

struct Runtime {
    Position thread, block, block_extent, grid_extent;
    void (*barrier)(int line);
};

}  // namespace stand_in
