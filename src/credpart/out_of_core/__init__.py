"""Data that are larger than memory: partitions in, partitions out."""

from credpart.out_of_core.resumable_run import cluster_dataset as cluster_dataset
