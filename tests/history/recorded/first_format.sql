-- A history as polytune wrote it in November 2026, in the first format of the file: two kernels, each of one call.
-- The kernels are `stencil` and `total` of tests/test_older_layouts.py; `tiled_abreast` is a version that is gone.
pragma user_version = 1;
CREATE TABLE measurements (
    kernel text not null,
    shape text not null,
    machine text not null,
    configuration text not null,
    count integer not null,
    best_seconds real,
    median_seconds real,
    status text not null,
    reason text not null,
    updated real not null,
    primary key (kernel, shape, machine, configuration)
) without rowid;
INSERT INTO "measurements" VALUES('stencil a232988bd4c1ecae','n=40, steps=3','Intel Xeon Processor, 2 cores','{"threads": 2, "tile_0": 32, "tile_1": 32, "tile_2": 512, "version": "tiled_abreast"}',1,1.38333999984752153977e-04,1.38333999984752153977e-04,'ok','',1.79553338067003154755e+09);
INSERT INTO "measurements" VALUES('total 5b2358f59b7654d5','A_0=90, A_1=80','Intel Xeon Processor, 2 cores','{"threads": 2, "tile_0": 512, "tile_1": 512, "version": "tiled_registers"}',1,1.06769900000927009386e-02,1.06769900000927009386e-02,'ok','',1.79553338650947785382e+09);
CREATE TABLE searches (
    kernel text not null,
    shape text not null,
    machine text not null,
    state text not null,
    updated real not null,
    primary key (kernel, shape, machine)
) without rowid;
INSERT INTO "searches" VALUES('stencil a232988bd4c1ecae','n=40, steps=3','Intel Xeon Processor, 2 cores','{"version": 4, "space": "695165988931050f", "search": {"space": "695165988931050f", "walk": {"root": {"chosen": {}, "arms": [{"version": "tiled_abreast"}, {"version": "tiled"}, {"version": "coincident"}, {"version": "coincident_jammed"}, {"version": "parallel"}, {"version": "source"}], "search": {"arms": 6, "epsilon": 0.05, "costs": [], "closed": [], "searchable": [], "asked": null, "best": null}, "seen": [], "failures": 0, "children": []}, "left": 0, "last": null, "used": []}, "starts": [{"version": "tiled", "threads": 2, "tile_0": 32, "tile_1": 32, "tile_2": 512}, {"version": "coincident", "threads": 2, "tile_0": 32, "tile_1": 512}, {"version": "coincident_jammed", "threads": 2, "tile_0": 32, "tile_1": 512}, {"version": "parallel", "threads": 2, "tile_0": 32}, {"version": "source"}], "postponed": [], "standings": {"samples": [[{"version": "tiled_abreast", "threads": 2, "tile_0": 32, "tile_1": 32, "tile_2": 512}, [0.00013833399998475215]]], "best": {"version": "tiled_abreast", "threads": 2, "tile_0": 32, "tile_1": 32, "tile_2": 512}, "is_in_doubt": false, "race": null, "is_confirmed": false}, "infeasible": [], "refused": [], "second_looks": null, "pending": [{"version": "tiled_abreast", "threads": 2, "tile_0": 32, "tile_1": 32, "tile_2": 512}, null, null, false], "rng": {"bit_generator": "PCG64", "state": {"state": 35399562948360463058890781895381311971, "inc": 87136372517582989555478159403783844777}, "has_uint32": 0, "uinteger": 0}}, "ledger": {"calls": 1, "trials": 1, "total_seconds": 0.00013833399998475215, "other_calls": 0, "other_seconds": 0.0, "compile_seconds": 0.0, "default_compile_seconds": 17.255328858999974, "lost_seconds": 0.0, "reopened": 0, "losses": [0.0], "best_seconds": 0.00013833399998475215, "default_seconds": 0.00013833399998475215, "ahead_seconds": 0.0, "amortisation": {"trials": 1, "lost": 0.0, "best": null, "resume": 0}}, "converged": false}',1.79553338067030501369e+09);
INSERT INTO "searches" VALUES('total 5b2358f59b7654d5','A_0=90, A_1=80','Intel Xeon Processor, 2 cores','{"version": 4, "space": "10d80faff8f26ed5", "search": {"space": "10d80faff8f26ed5", "walk": {"root": {"chosen": {}, "arms": [{"version": "tiled_registers"}, {"version": "tiled"}, {"version": "tiled_jammed"}, {"version": "parallel"}, {"version": "interleaved"}, {"version": "source"}], "search": {"arms": 6, "epsilon": 0.05, "costs": [], "closed": [], "searchable": [], "asked": null, "best": null}, "seen": [], "failures": 0, "children": []}, "left": 0, "last": null, "used": []}, "starts": [{"version": "tiled", "threads": 2, "tile_0": 32, "tile_1": 512}, {"version": "tiled_jammed", "threads": 2, "tile_0": 32, "tile_1": 512}, {"version": "parallel", "threads": 2, "tile_0": 32}, {"version": "interleaved", "threads": 2, "tile_0": 512}, {"version": "source"}], "postponed": [], "standings": {"samples": [[{"version": "tiled_registers", "threads": 2, "tile_0": 512, "tile_1": 512}, [0.010676990000092701]]], "best": {"version": "tiled_registers", "threads": 2, "tile_0": 512, "tile_1": 512}, "is_in_doubt": false, "race": null, "is_confirmed": false}, "infeasible": [], "refused": [], "second_looks": null, "pending": [{"version": "tiled_registers", "threads": 2, "tile_0": 512, "tile_1": 512}, null, null, false], "rng": {"bit_generator": "PCG64", "state": {"state": 35399562948360463058890781895381311971, "inc": 87136372517582989555478159403783844777}, "has_uint32": 0, "uinteger": 0}}, "ledger": {"calls": 1, "trials": 1, "total_seconds": 0.010676990000092701, "other_calls": 0, "other_seconds": 0.0, "compile_seconds": 0.0, "default_compile_seconds": 4.73400357200012, "lost_seconds": 0.0, "reopened": 0, "losses": [0.0], "best_seconds": 0.010676990000092701, "default_seconds": 0.010676990000092701, "ahead_seconds": 0.0, "amortisation": {"trials": 1, "lost": 0.0, "best": null, "resume": 0}}, "converged": false}',1.7955333865096831322e+09);
