"""Data that are larger than memory: partitions in, partitions out."""

from credpart.out_of_core.clustering import cluster_dataset as cluster_dataset
