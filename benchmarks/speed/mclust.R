# Times mclust on the same data, single-threaded; prints one line "case seconds" each.
# Usage: Rscript mclust.R FOLDER, which holds iris.csv, diabetes.csv, gvhd.csv, gvhd-sample.csv
# and mixture1.csv, numbers only.
suppressMessages(library(mclust))
folder <- commandArgs(TRUE)[1]
read <- function(name) as.matrix(read.csv(file.path(folder, paste0(name, ".csv"))))
seconds <- function(repeats, expression) {
  code <- substitute(expression); frame <- parent.frame()
  median(replicate(repeats, system.time(eval(code, frame))[["elapsed"]]))
}
tell <- function(case, value) cat(case, value, "\n")
tell("version", as.character(packageVersion("mclust")))
boot <- function(name, c, model, repeats) {
  fit <- Mclust(read(name), c, model, verbose = FALSE)
  tell(paste("bootstrap", name, sep = ":"),
       seconds(repeats, MclustBootstrap(fit, nboot = 1000, type = "bs", verbose = FALSE)))
}
set.seed(1)
boot("gvhd-sample", 7, "VVV", 1)
boot("iris", 3, "VEV", 3)
boot("mixture1", 3, "EII", 3)
for (name in c("iris", "diabetes", "gvhd-sample")) {
  data <- read(name)
  tell(paste("select", name, sep = ":"), seconds(5, mclustBIC(data, verbose = FALSE)))
}
data <- read("gvhd")
tell("select:gvhd", seconds(1, mclustBIC(data, verbose = FALSE)))
