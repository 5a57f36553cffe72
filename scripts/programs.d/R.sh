# SPDX-License-Identifier: MIT
# kind: language runtime: forked workers and a cluster of processes
# packages: r-base-core
# users: root nobody
prepare() {
    cat >run.R <<'END'
library(parallel)
work <- function(n) { s <- n; for (i in 1:600000) s <- (s * 33 + i) %% 65521; s }
print(unlist(mclapply(1:4, work, mc.cores = 4)))
cl <- makeCluster(2, outfile = "")
print(unlist(clusterApply(cl, 5:6, work)))
stopCluster(cl)
print(system("echo from the shell; exit 3"))
print(system2("sh", c("-c", shQuote("echo caught")), stdout = TRUE))
m <- matrix(as.numeric(1:90000) %% 7, 300); print(sum(m %*% m))
END
}
# same: /^starting worker pid=.*\n//
program() {
    Rscript --vanilla run.R
}
