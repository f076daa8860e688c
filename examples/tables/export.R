# Rscript export.R FOLDER: the public tables of kernlab and mlbench (r-cran-kernlab, r-cran-mlbench) as CSV files.
folder <- commandArgs(trailingOnly = TRUE)[1]
library(kernlab)
library(mlbench)
data(spam)
write.csv(spam, file.path(folder, "spam.csv"), row.names = FALSE)
for (name in c("PimaIndiansDiabetes", "Ionosphere", "Sonar", "Satellite", "LetterRecognition")) {
    data(list = name)
    write.csv(get(name), file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}
