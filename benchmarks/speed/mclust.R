# Times mclust on request, single-threaded: a line "select DATA" or "bootstrap DATA C MODEL" on
# the standard input is answered by the seconds it took; the first line is mclust's version.
# Usage: Rscript mclust.R FOLDER, which holds DATA.csv, numbers only.
suppressMessages(library(mclust))
folder <- commandArgs(TRUE)[1]
read <- function(name) as.matrix(read.csv(file.path(folder, paste0(name, ".csv"))))
answer <- function(value) {
  cat(value, "\n")
  flush(stdout())
}
tasks <- list(
  select = function(data) mclustBIC(data, verbose = FALSE),
  bootstrap = function(fit) MclustBootstrap(fit, nboot = 1000, type = "bs", verbose = FALSE)
)
set.seed(1)
answer(as.character(packageVersion("mclust")))
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  words <- strsplit(line, " ")[[1]]
  given <- read(words[2])
  if (words[1] == "bootstrap") {
    given <- Mclust(given, as.integer(words[3]), words[4], verbose = FALSE)
  }
  answer(system.time(tasks[[words[1]]](given))[["elapsed"]])
}
