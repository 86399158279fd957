"""What stands in a folder of results."""

FILES = ("masses.csv", "intervals.npz", "model.npz", "summary.json", "report.html")
