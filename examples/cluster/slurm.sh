#!/bin/sh -eu
#SBATCH --job-name=word2vec
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --requeue
#SBATCH --signal=TERM@120
#SBATCH --open-mode=append
# sbatch slurm.sh WORD2VEC OPTIONS...: a process on each node with a thread for each of its cores. A job
# that Slurm starts again (--requeue) resumes from its checkpoint.
resume=
if [ -s word2vec.state ]; then resume=--resume; fi
srun --mpi=pmix --cpu-bind=none "$@" --sync mpi --threads "$SLURM_CPUS_PER_TASK" \
  --checkpoint word2vec.state --checkpoint-every 10min $resume
rm -f word2vec.state
