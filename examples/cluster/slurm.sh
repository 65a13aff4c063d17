#!/bin/sh -u
#SBATCH --job-name=word2vec
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --hint=nomultithread
#SBATCH --requeue
#SBATCH --signal=USR1@300
#SBATCH --open-mode=append
# sbatch slurm.sh WORD2VEC OPTIONS...: a process on each node with a thread for each of its cores. 300 s
# before the time limit Slurm sends USR1 to the processes; they write a checkpoint and stop, and the job
# queues again and resumes. So it does after preemption and after the failure of a node. By hand:
# `scancel --signal=USR1 JOB` stops it with a checkpoint and queues it again; `scancel JOB` ends it, with a
# checkpoint if KillWait, 30 s by default, is long enough to write one.
# The checkpoint, on a file system that all nodes share, has the name of the job and the first number that
# Slurm gave it, which a job keeps when it is queued again.
state=$SLURM_JOB_NAME-$SLURM_JOB_ID.state
resume=
if [ -s "$state" ]; then resume=--resume; fi
status=0
# shellcheck disable=SC2086
srun --mpi="${WORDLOOM_SRUN_MPI:-pmix}" --cpu-bind="${WORDLOOM_CPU_BIND:-none}" --kill-on-bad-exit=1 \
  --cpus-per-task="$SLURM_CPUS_PER_TASK" "$@" --sync mpi --threads "$SLURM_CPUS_PER_TASK" \
  --checkpoint "$state" --checkpoint-every 10min $resume || status=$?
case $status in
  0) rm -f -- "$state" ;;
  # A signal stopped the processes: 128 + SIGINT, USR1, USR2, TERM or XCPU.
  130 | 138 | 140 | 143 | 152)
    if [ -s "$state" ]; then
      scontrol requeue "$SLURM_JOB_ID" && sleep 60  # Slurm ends this script
    fi ;;
esac
exit $status
