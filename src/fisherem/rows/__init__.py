"""Where rows live (in memory, on disk, under Dask) and the one verb that visits them: `fold`."""
